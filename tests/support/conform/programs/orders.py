"""Totals of orders per minute: printed by two subtasks, written to files, and collected; the exit status is 3."""

import sys

from pyflink.common import Encoder, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSink
from pyflink.datastream.window import TumblingEventTimeWindows

ORDERS = [("tea", 2, 1_000), ("rye", 3, 2_000), ("tea", 4, 61_000), ("milk", 1, 62_000), ("tea", 5, 3_000)]


class TimeOfOrder(TimestampAssigner):
    def extract_timestamp(self, order, record_timestamp):
        return order[2]


class Total(ProcessWindowFunction):
    def process(self, product, context, orders):
        print("total of", product)
        yield product, context.window().start, sum(order[1] for order in orders)


def main():
    env = StreamExecutionEnvironment.get_execution_environment()
    orders = env.from_collection(ORDERS, Types.TUPLE([Types.STRING(), Types.INT(), Types.LONG()]))
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeOfOrder())
    windows = (
        orders.assign_timestamps_and_watermarks(strategy)
        .key_by(lambda order: order[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Time.minutes(1)))
    )
    totals = windows.process(Total(), Types.TUPLE([Types.STRING(), Types.LONG(), Types.INT()])).set_parallelism(2)
    totals.print("totals")
    texts = totals.map(lambda total: f"{total[0]} {total[2]}", Types.STRING())
    texts.sink_to(FileSink.for_row_format("/totals/of/orders", Encoder.simple_string_encoder()).build())
    env.execute("orders")
    numbers = env.from_collection([1, 2, 3], Types.INT()).map(lambda number: (number, number / 2))
    with numbers.execute_and_collect() as results:
        print("collected", len(list(results)))


if __name__ == "__main__":
    main()
    sys.exit(3)
