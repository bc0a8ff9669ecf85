"""Fails in a function, behind records that were printed."""

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment


def ratio(number):
    if number == 3:
        raise ValueError(f"no ratio of {number}\nits divisor is 0")
    return 6 // (3 - number)


if __name__ == "__main__":
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2, 3], Types.INT()).map(ratio, Types.INT()).print()
    env.execute()
