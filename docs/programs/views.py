"""Counts the views of each page in every minute, from Kafka, or from a file with lines SECOND,PAGE."""

import argparse

from pyflink.common import Duration, SimpleStringSchema, Time, Types, WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner
from pyflink.datastream import ProcessWindowFunction, StreamExecutionEnvironment
from pyflink.datastream.connectors.file_system import FileSource, StreamFormat
from pyflink.datastream.connectors.kafka import KafkaSource
from pyflink.datastream.window import TumblingEventTimeWindows


class SecondOfView(TimestampAssigner):
    def extract_timestamp(self, view, record_timestamp):
        return int(view.split(",")[0]) * 1000


class Count(ProcessWindowFunction):
    def process(self, page, context, views):
        yield f"{context.window().start // 60_000} {page} {len(list(views))}"


def source(files):
    if files:
        return FileSource.for_record_stream_format(StreamFormat.text_line_format(), *files).build()
    kafka = KafkaSource.builder().set_bootstrap_servers("kafka:9092").set_topics("views")
    return kafka.set_value_only_deserializer(SimpleStringSchema()).build()


def main(files, patience):
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(patience))
    views = env.from_source(source(files), WatermarkStrategy.no_watermarks(), "views")
    timed = views.assign_timestamps_and_watermarks(strategy.with_timestamp_assigner(SecondOfView()))
    pages = timed.key_by(lambda view: view.split(",")[1], Types.STRING())
    pages.window(TumblingEventTimeWindows.of(Time.minutes(1))).process(Count(), Types.STRING()).print()
    env.execute("views")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--patience", type=int, default=0, help="how many seconds a view may be late")
    parser.add_argument("files", nargs="*")
    arguments = parser.parse_args()
    main(arguments.files, arguments.patience)
