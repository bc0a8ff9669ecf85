"""A KafkaSource discovers partitions and topics while the job runs, as KafkaSourceEnumerator does."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.connectors.kafka.offsets import KafkaOffsetsInitializer, KafkaTopicPartition
from flowsim.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from flowsim.connectors.kafka.topics import simulated_topics
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.schemas import SimpleStringSchema
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput, JobFailed
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.units import NS_PER_MS

Offsets = KafkaOffsetsInitializer
SECOND = 1_000 * NS_PER_MS
GROWS = """
{"partitions": 1}
{"value": "a0"}
{"value": "a1", "append_ms": 2500}
{"partitions": 2, "at_ms": 1500}
{"value": "b1", "append_ms": 1500, "partition": 1}
{"value": "b3", "append_ms": 3200, "partition": 1}
"""
CREATED = """
{"partitions": 1, "at_ms": 700}
{"value": "c", "append_ms": 700}
"""
DELETED = """
{"partitions": 1}
{"value": "d0"}
{"value": "d1", "append_ms": 1000}
{"partitions": 0, "at_ms": 1200}
"""


@pytest.fixture(autouse=True)
def topics(tmp_path: Path) -> object:
    files = {"grows": GROWS, "created": CREATED, "deleted": DELETED}
    for name, text in files.items():
        (tmp_path / f"{name}.jsonl").write_text(text)
    with simulated_topics({name: tmp_path / f"{name}.jsonl" for name in files}) as found:
        yield found


def builder(interval_ms: int | None = 1_000) -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers("broker:9092")
    if interval_ms is not None:
        made.set_property("partition.discovery.interval.ms", str(interval_ms))
    return made.set_value_only_deserializer(SimpleStringSchema())


def run(
    source: KafkaSource, restarts: int | None = None, **settings: object
) -> tuple[list[object], JobExecutionResult]:
    env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
    if restarts is not None:
        env.settings.restart_strategy = FixedDelayRestart(attempts=restarts, delay_ms=500)
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env.from_source(source, strategy, "topic").map(lambda text: text).sink_to(sink)
    result = env.flowsim_settings(**settings).execute()
    return list(sink.values()), result


@pytest.mark.parametrize(
    ("interval_ms", "expected", "elapsed_ms"),
    [
        (1_000, ["a0", "b1", "a1", "b3"], 3_200),
        (2_600, ["a0", "a1", "b1", "b3"], 3_200),
        (None, ["a0", "a1", "b1", "b3"], 300_200),
        (0, ["a0", "a1"], 2_600),
        (-5, ["a0", "a1"], 2_600),
    ],
)
def test_new_partition_is_read_from_its_discovery_on(
    interval_ms: int | None, expected: list[str], elapsed_ms: int
) -> None:
    values, result = run(builder(interval_ms).set_topics("grows").build())
    assert (values, result.elapsed_ns // NS_PER_MS) == (expected, elapsed_ms)
    assert (result.status, result.is_idle) == (JobStatus.STOPPED, True)


def test_new_partition_starts_at_its_first_record_whatever_the_starting_offsets() -> None:
    source = builder().set_topics("grows").set_starting_offsets(Offsets.latest()).build()
    assert run(source)[0] == ["b1", "a1", "b3"]


def test_bounded_source_reads_only_the_partitions_of_the_start() -> None:
    values, result = run(builder().set_topics("grows").set_bounded(Offsets.latest()).build())
    assert (values, result.status) == (["a0", "a1"], JobStatus.FINISHED)


def test_pattern_discovers_topics_that_are_created_later() -> None:
    values, _ = run(builder().set_topic_pattern("created|grows").build())
    assert values == ["a0", "c", "b1", "a1", "b3"]


def test_partitions_of_the_first_discovery_that_finds_some_have_the_starting_offsets() -> None:
    source = builder().set_topic_pattern("created").set_starting_offsets(Offsets.timestamp(10**6)).build
    with pytest.raises(BadInput, match="it starts after all 1 records of created-0"):
        source()


def test_deleted_topic_of_a_pattern_keeps_its_partition_and_the_watermark() -> None:
    values, result = run(builder().set_topic_pattern("deleted|grows").build())
    assert sorted(map(str, values)) == ["a0", "a1", "b1", "b3", "d0", "d1"]
    # The last timestamp of the deleted partition holds the watermark back: the append of d1, minus 1 ms.
    assert result.tasks[0].last_sample.output_watermark == 1_000 + 1_000 - 1


def test_deleted_topic_of_a_list_fails_the_next_discovery() -> None:
    with pytest.raises(JobFailed) as failed:
        run(builder().set_topics("deleted", "grows").build())
    assert "Failed to list subscribed topic partitions: the topic 'deleted' does not exist at 2 s" in str(failed.value)
    values, result = run(builder(0).set_topics("deleted", "grows").build())
    assert (sorted(map(str, values)), result.is_idle) == (["a0", "a1", "d0", "d1"], True)


def test_unread_records_of_a_deleted_topic_are_gone(tmp_path: Path) -> None:
    (tmp_path / "slow.jsonl").write_text('{"value":"x"}\n' * 3 + '{"partitions":1}\n{"partitions":0,"at_ms":25}\n')
    with simulated_topics({"slow": tmp_path / "slow.jsonl"}):
        env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
        source = builder().set_topic_pattern("s.*").build()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "topic").cost(15 * NS_PER_MS).sink_to(sink)
        assert (env.execute().is_idle, list(sink.values())) == (True, ["x", "x"])


@pytest.mark.parametrize(("restarts", "status"), [(1, None), (2, JobStatus.STOPPED)])
def test_topic_of_a_list_must_exist_and_restarts_wait_for_it(restarts: int, status: JobStatus | None) -> None:
    source = builder().set_topics("created").build()
    if status is None:
        with pytest.raises(JobFailed) as failed:
            run(source, restarts)
        assert "the topic 'created' does not exist at 500 ms" in str(failed.value)
    else:
        values, result = run(source, restarts)
        assert (values, result.status, result.restarts) == (["c"], status, 2)


def test_wanted_partition_must_exist_at_the_discovery() -> None:
    source = builder().set_partitions({KafkaTopicPartition("grows", 1)}).build()
    with pytest.raises(JobFailed) as failed:
        run(source)
    assert "Failed to list subscribed topic partitions: the partition grows-1 does not exist at 0" in str(failed.value)
    with pytest.raises(BadInput, match="the topic 'grows' never has partition 2 here"):
        builder().set_partitions({KafkaTopicPartition("grows", 2)}).build()


def test_until_ends_a_run_before_the_discovery() -> None:
    values, result = run(builder(None).set_topics("grows").build(), until_ns=3 * SECOND)
    assert (values, result.status, result.is_idle) == (["a0", "a1"], JobStatus.STOPPED, False)


@pytest.mark.parametrize("text", ["x", "1.5", ""])
def test_interval_is_a_number(text: str) -> None:
    made = builder(None).set_topics("grows").set_property("partition.discovery.interval.ms", text)
    with pytest.raises(BadInput, match=r"partition\.discovery\.interval\.ms: expected an integer, got"):
        made.build()


def test_partition_of_a_savepoint_is_found_by_its_name() -> None:
    source = builder().set_topic_pattern("created|grows").build()
    assert source.split_ids == ["created-0", "grows-0", "grows-1"]
    assert source.split_of((0, 7, None, "grows-1", 5)) == (2, 7, None, "grows-1", 5)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '{"value": 1, "partition": 1}\n{"partitions": 1}',
            "a record of partition 1 is appended at 0 ms, when the topic has 1 partitions",
        ),
        (
            '{"value": 1}\n{"partitions": 1, "at_ms": 5}',
            "partition 0 is appended at 0 ms, when the topic has 0 partitions",
        ),
        (
            '{"partitions": 2}\n{"partitions": 1, "at_ms": 5}',
            "expected more partitions at each time, .* got 1 at 5 ms after 2",
        ),
        ('{"partitions": 1}\n{"partitions": 2}', "got 2 at 0 ms after 1"),
        ('{"partitions": 0}', "got 0 at 0 ms after 0"),
        (
            '{"partitions": 1}\n{"partitions": 0, "at_ms": 5}\n{"partitions": 1, "at_ms": 9}',
            "got 0 at 5 ms after 1",
        ),
        (
            '{"partitions": 1}\n{"partitions": 0, "at_ms": 5}\n{"value": 1, "append_ms": 5}',
            "the topic has 0 partitions",
        ),
        ('{"partitions": 10001}', "partitions: expected at most 10000, got 10001"),
        ('{"partitions": 1, "at": 5}', "unknown name 'at'"),
    ],
)
def test_impossible_partitions_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with simulated_topics({"a": tmp_path / "a.jsonl"}) as topics, pytest.raises(BadInput, match=message):
        topics.topic("a")
