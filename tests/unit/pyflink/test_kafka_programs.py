"""Programs that read and write Kafka run as they are, on the topics that their user gives."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.api import validate_recording
from flowsim.connectors.kafka.topics import Topics
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.pyflink import ProgramExecutor, run_program

TWO_JOBS = """
import json
from pyflink.common import SimpleStringSchema, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.base import DeliveryGuarantee
from pyflink.datastream.connectors.kafka import (
    KafkaOffsetsInitializer, KafkaRecordSerializationSchema, KafkaSink, KafkaSource
)

def source(topic):
    return (KafkaSource.builder().set_bootstrap_servers("kafka:9092").set_topics(topic).set_group_id("group")
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_value_only_deserializer(SimpleStringSchema()).build())

def sink(topic):
    serializer = (KafkaRecordSerializationSchema.builder().set_topic(topic)
        .set_value_serialization_schema(SimpleStringSchema()).build())
    return (KafkaSink.builder().set_bootstrap_servers("kafka:9092").set_record_serializer(serializer)
        .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).set_transactional_id_prefix("job").build())

env = StreamExecutionEnvironment.get_execution_environment()
env.add_jars("file:///flink-sql-connector-kafka.jar")
env.enable_checkpointing(1000)
orders = env.from_source(source("orders"), WatermarkStrategy.no_watermarks(), "orders")
orders.map(lambda text: str(json.loads(text)["price"] * 2), output_type=Types.STRING()).sink_to(sink("doubled"))
env.execute("double")
env.from_source(source("doubled"), WatermarkStrategy.no_watermarks(), "doubled").print()
env.execute("print")
"""


@pytest.mark.filterwarnings("ignore::flowsim.datastream.without_effect.WithoutEffect")
def test_second_job_reads_what_the_first_one_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, orders = tmp_path / "program.py", tmp_path / "orders.jsonl"
    program.write_text(TWO_JOBS)
    orders.write_text('{"value": {"price": 3}}\n{"value": {"price": 4}, "append_ms": 1500}\n')
    executor, topics = ProgramExecutor(level=Level.FULL, out=tmp_path / "out"), Topics({"orders": orders})
    run_program(program, [], executor, topics)
    assert capsys.readouterr().out == "6\n8\n"
    assert [run.result.is_idle for run in executor.runs] == [True, True]
    assert [record.value for record in topics.records("doubled")] == [b"6", b"8"]
    for run in executor.runs:
        assert run.recording is not None
        assert validate_recording(run.recording).passed


@pytest.mark.filterwarnings("ignore::flowsim.datastream.without_effect.WithoutEffect")
def test_topic_without_records_is_refused_with_the_line_of_the_program(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TWO_JOBS)
    with pytest.raises(BadInput, match=rf"^{program}:\d+: topic 'orders' has no records here: give its records by"):
        run_program(program, [], ProgramExecutor())


JSON_ROWS = """
from pyflink.common import Row, Types, WatermarkStrategy
from pyflink.datastream import StreamExecutionEnvironment
from pyflink.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaRecordSerializationSchema, KafkaSink, KafkaSource
from pyflink.datastream.formats.csv import CsvRowSerializationSchema
from pyflink.datastream.formats.json import JsonRowDeserializationSchema

TYPE = Types.ROW_NAMED(["id", "price"], [Types.STRING(), Types.DOUBLE()])
env = StreamExecutionEnvironment.get_execution_environment()
source = (KafkaSource.builder().set_bootstrap_servers("kafka:9092").set_topics("orders")
    .set_bounded(KafkaOffsetsInitializer.latest())
    .set_value_only_deserializer(JsonRowDeserializationSchema.builder().type_info(TYPE).build()).build())
serializer = (KafkaRecordSerializationSchema.builder().set_topic_selector(lambda row: "cheap" if row[1] < 5 else "dear")
    .set_value_serialization_schema(CsvRowSerializationSchema.Builder(TYPE).build()).build())
(env.from_source(source, WatermarkStrategy.no_watermarks(), "orders")
    .map(lambda row: Row(row.id.upper(), row["price"] * 2), output_type=TYPE)
    .sink_to(KafkaSink.builder().set_bootstrap_servers("kafka:9092").set_record_serializer(serializer).build()))
env.execute("rows")
"""


def test_rows_are_read_from_json_and_written_as_csv(tmp_path: Path) -> None:
    program, orders = tmp_path / "program.py", tmp_path / "orders.txt"
    program.write_text(JSON_ROWS)
    orders.write_text('{"id": "a", "price": 2}\n{"id": "b c", "price": "3.5"}\n')
    topics = Topics({"orders": orders})
    run_program(program, [], ProgramExecutor(), topics)
    assert [record.value for record in topics.records("cheap")] == [b"A,4.0\n"]
    assert [record.value for record in topics.records("dear")] == [b'"B C",7.0\n']
