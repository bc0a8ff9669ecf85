"""KafkaSink: what is visible in its topics, and when, under each delivery guarantee."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.connectors.kafka.sink import (
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSinkBuilder,
    KafkaTopicSelector,
)
from flowsim.connectors.kafka.source import KafkaSource
from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.connectors.kafka.topics import Topics, simulated_topics
from flowsim.connectors.schemas import RowFieldExtractorSchema, SimpleStringSchema
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Row, WatermarkStrategy
from flowsim.errors import BadInput, JobFailed
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.units import NS_PER_MS


@pytest.fixture
def topics(tmp_path: Path) -> Iterator[Topics]:
    (tmp_path / "in.txt").write_text("".join(f"{n}\n" for n in range(8)))
    with simulated_topics({"in": f"{tmp_path}/in.txt@10/s"}) as found:
        yield found


def builder(delivery: DeliveryGuarantee) -> KafkaSinkBuilder:
    schema = KafkaRecordSerializationSchema.builder().set_topic("out")
    schema.set_value_serialization_schema(SimpleStringSchema())
    made = KafkaSink.builder().set_bootstrap_servers("b").set_record_serializer(schema.build())
    return made.set_delivery_guarantee(delivery).set_transactional_id_prefix("job")


def run(sink: KafkaSink, checkpoint_ms: int | None = 200, **settings: object) -> JobExecutionResult:
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    if checkpoint_ms is not None:
        env.enable_checkpointing(checkpoint_ms)
        env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=10)
    source = KafkaSource.builder().set_bootstrap_servers("b").set_topics("in")
    made = source.set_value_only_deserializer(SimpleStringSchema()).build()
    env.from_source(made, WatermarkStrategy.no_watermarks(), "in").disable_chaining().sink_to(sink)
    return env.flowsim_settings(**settings).execute()


def values(topics: Topics) -> str:
    return "".join((record.value or b"").decode() for record in topics.records("out"))


FAILURE = (FailTask("Source: in", at_ns=590 * NS_PER_MS),)
"""Between two checkpoints: record 5 was read after the last one."""


def test_exactly_once_shows_each_record_once_after_a_failure(topics: Topics) -> None:
    result = run(builder(DeliveryGuarantee.EXACTLY_ONCE).build(), failures=FAILURE)
    assert (values(topics), result.restarts, result.is_idle) == ("01234567", 1, True)


@pytest.mark.parametrize("delivery", [DeliveryGuarantee.AT_LEAST_ONCE, DeliveryGuarantee.NONE])
def test_other_guarantees_show_records_again_after_a_failure(topics: Topics, delivery: DeliveryGuarantee) -> None:
    result = run(builder(delivery).build(), failures=FAILURE)
    shown = values(topics)
    assert result.restarts == 1
    assert sorted(set(shown)) == list("01234567")
    assert len(shown) > 8


def test_records_of_an_open_transaction_are_not_visible(topics: Topics) -> None:
    run(builder(DeliveryGuarantee.EXACTLY_ONCE).build(), checkpoint_ms=10_000, until_ns=700 * NS_PER_MS)
    with pytest.raises(BadInput, match="topic 'out' has no records here"):
        topics.records("out")
    run(builder(DeliveryGuarantee.AT_LEAST_ONCE).build(), checkpoint_ms=10_000, until_ns=550 * NS_PER_MS)
    assert values(topics) == "01234"


def test_idle_job_goes_on_until_a_checkpoint_commits_its_last_records(topics: Topics) -> None:
    result = run(builder(DeliveryGuarantee.EXACTLY_ONCE).build(), checkpoint_ms=10_000)
    assert (values(topics), result.is_idle) == ("01234567", True)
    assert result.checkpoints is not None
    assert result.checkpoints.completed == 1


def test_transaction_of_a_job_without_checkpoints_ends_with_the_job(topics: Topics) -> None:
    run(builder(DeliveryGuarantee.EXACTLY_ONCE).build(), checkpoint_ms=None)
    assert values(topics) == "01234567"


def test_next_run_of_a_sink_replaces_its_records(topics: Topics) -> None:
    sink = builder(DeliveryGuarantee.AT_LEAST_ONCE).build()
    run(sink)
    run(sink)
    assert values(topics) == "01234567"


def test_topic_and_key_may_depend_on_the_record(topics: Topics) -> None:
    class Halves(KafkaTopicSelector):
        def apply(self, data: object) -> str:
            assert isinstance(data, Row)
            return f"half-{data[0] < b'b'}"  # type: ignore[operator]

    for selector in (Halves(), lambda row: f"half-{row[0] < b'b'}"):
        schema = KafkaRecordSerializationSchema.builder().set_topic_selector(selector)
        schema.set_key_serialization_schema(RowFieldExtractorSchema(0))
        built = schema.set_value_serialization_schema(RowFieldExtractorSchema(1)).build()
        assert built.serialize(Row(b"a", b"1"), 5) == ("half-True", TopicRecord(b"1", b"a", timestamp_ms=5))
        assert built.serialize(Row(b"c", None), -(2**63)) == ("half-False", TopicRecord(None, b"c"))
    with pytest.raises(TypeError, match="topic_selector must be"):
        KafkaRecordSerializationSchema.builder().set_topic_selector("topic")  # type: ignore[arg-type]


def test_written_topics_are_files_that_a_source_reads(topics: Topics, tmp_path: Path) -> None:
    run(builder(DeliveryGuarantee.AT_LEAST_ONCE).build())
    written = topics.write_to(tmp_path / "topics")
    assert written == {"out": (tmp_path / "topics" / "out.jsonl", 8)}
    assert Topics({"out": written["out"][0]}).records("out") == topics.records("out")


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: KafkaSink.builder(), "KafkaSink: no brokers are set"),
        (lambda: KafkaSink.builder().set_bootstrap_servers("b"), "KafkaSink: no serializer is set"),
        (lambda: KafkaRecordSerializationSchema.builder(), "no topic is set"),
        (lambda: KafkaRecordSerializationSchema.builder().set_topic("a"), "call set_value_serialization_schema"),
        (lambda: KafkaSink.builder().set_delivery_guarantee("none"), "expected a DeliveryGuarantee, got 'none'"),
    ],
)
def test_wrong_settings_are_refused(topics: Topics, build: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build().build()  # type: ignore[operator]


def test_exactly_once_needs_a_prefix(topics: Topics) -> None:
    made = builder(DeliveryGuarantee.EXACTLY_ONCE)
    made._prefix = None
    with pytest.raises(BadInput, match="EXACTLY_ONCE needs a prefix"):
        made.build()


def test_sink_does_not_write_to_the_topic_of_a_file(topics: Topics) -> None:
    schema = KafkaRecordSerializationSchema("in", SimpleStringSchema())
    sink = KafkaSink.builder().set_bootstrap_servers("b").set_record_serializer(schema).build()
    with pytest.raises(JobFailed, match="topic 'in' has the records of a file"):
        run(sink, checkpoint_ms=None)
