"""Keyed state, a reduce, keys that are lists, a union and files in BATCH mode: for flowsim and for PyFlink."""

from __future__ import annotations

from collections.abc import Iterator

from pyflink.common import Encoder, Types
from pyflink.datastream import KeyedProcessFunction, RuntimeContext, RuntimeExecutionMode, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.state import ValueStateDescriptor

Pair = tuple[str, int]
Listed = tuple[list[int], str]


class Numbered(KeyedProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.number = runtime_context.get_state(ValueStateDescriptor("number", Types.LONG()))

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterator[str]:
        self.number.update((self.number.value() or 0) + 1)
        yield f"{value[0]}{self.number.value()} {value[1]} {ctx.timer_service().current_watermark()}"


def add(one: Pair, other: Pair) -> Pair:
    return one[0], one[1] + other[1]


def join(one: Listed, other: Listed) -> Listed:
    return one[0], one[1] + other[1]


def main() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    env.set_parallelism(2)
    pairs = [("b", 7), ("a", 25), ("b", 3), ("d", 1), ("c", 12), ("a", 2), ("e", 11)]
    stream = env.from_collection(pairs, Types.TUPLE([Types.STRING(), Types.INT()]))
    keyed = stream.union(stream).key_by(lambda pair: pair[0], Types.STRING())
    keyed.process(Numbered(), Types.STRING()).print("numbered")
    keyed.reduce(add).print("sums")
    keyed.map(lambda pair: f"{pair[0]}={pair[1]}", Types.STRING()).sink_to(
        FileSink.for_row_format("batch/out", Encoder.simple_string_encoder()).build()
    )
    env.execute("batch")

    listed = [([1, 2], "x"), ([3], "y"), ([1, 2], "z"), ([2, 1], "w")]
    lists = env.from_collection(listed, Types.TUPLE([Types.LIST(Types.INT()), Types.STRING()]))
    lists.key_by(lambda pair: pair[0]).reduce(join).print("pickled")
    lists.key_by(lambda pair: pair[0], Types.LIST(Types.INT())).reduce(join).print("declared")
    env.execute("lists")
    for arrays in (Types.OBJECT_ARRAY, Types.BASIC_ARRAY, Types.PRIMITIVE_ARRAY):
        try:
            lists.key_by(lambda pair: pair[0], arrays(Types.INT()))
        except Exception as error:
            print("cannot be used as key" in str(error))


if __name__ == "__main__":
    main()
