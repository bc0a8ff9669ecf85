"""KafkaSource reads the partitions of a simulated topic as Flink's does, and goes on from the offsets of a checkpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus
from flowsim.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from flowsim.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.connectors.kafka.topics import Topics, simulated_topics
from flowsim.connectors.memory import CollectionSource, CollectSink
from flowsim.connectors.schemas import DeserializationSchema, SimpleStringSchema
from flowsim.connectors.source import BlockReader
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Time, Types, WatermarkStrategy
from flowsim.datastream.window import TumblingProcessingTimeWindows
from flowsim.errors import BadInput, Deadlock
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus
from flowsim.units import NS_PER_MS

SECOND = 1_000 * NS_PER_MS
Offsets = KafkaOffsetsInitializer


@pytest.fixture
def topics(tmp_path: Path) -> Iterator[Topics]:
    lines = [f'{{"value": "{"ab"[n % 2]}{n}", "partition": {n % 2}, "timestamp": {n}}}\n' for n in range(6)]
    (tmp_path / "orders.jsonl").write_text("".join(lines))
    (tmp_path / "slow.txt").write_text("x\ny\nz\n")
    with simulated_topics({"orders": tmp_path / "orders.jsonl", "slow": f"{tmp_path}/slow.txt@1/s"}) as found:
        yield found


def builder(topic: str = "orders") -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers("broker:9092").set_topics(topic)
    return made.set_value_only_deserializer(SimpleStringSchema())


def run(source: KafkaSource, parallelism: int = 1, **settings: object) -> tuple[list[object], JobExecutionResult]:
    env = StreamExecutionEnvironment.get_execution_environment().configure(parallelism=parallelism)
    sink = CollectSink()
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    env.from_source(source, strategy, "topic").sink_to(sink).set_parallelism(1)
    result = env.flowsim_settings(**settings).execute()
    return list(sink.values()), result


@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_bounded_source_reads_every_record_and_ends(topics: Topics, parallelism: int) -> None:
    values, result = run(builder().set_bounded(Offsets.latest()).build(), parallelism)
    assert sorted(map(str, values)) == ["a0", "a2", "a4", "b1", "b3", "b5"]
    assert [str(value) for value in values if str(value)[0] == "b"] == ["b1", "b3", "b5"]
    assert (result.status, result.is_idle) == (JobStatus.FINISHED, False)


def test_unbounded_source_is_stopped_when_nothing_is_left_to_do(topics: Topics) -> None:
    values, result = run(builder("slow").build())
    assert values == ["x", "y", "z"]
    assert (result.status, result.is_idle, result.elapsed_ns // SECOND) == (JobStatus.STOPPED, True, 3)


def test_until_ends_an_unbounded_source_before(topics: Topics) -> None:
    values, result = run(builder("slow").build(), until_ns=2 * SECOND + 1)
    assert (values, result.status, result.is_idle) == (["x", "y"], JobStatus.STOPPED, False)


def test_timers_fire_after_the_last_record_but_no_last_watermark_comes(topics: Topics) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(builder("slow").build(), WatermarkStrategy.no_watermarks(), "topic")
    window = TumblingProcessingTimeWindows.of(Time.seconds(10))
    counts = stream.map(lambda value: 1).key_by(lambda value: 0).window(window).reduce(lambda a, b: a + b)
    sink = CollectSink()
    counts.sink_to(sink)
    result = env.execute()
    assert (list(sink.values()), result.is_idle) == ([3], True)
    assert result.tasks[0].watermark == -(2**63)


class WaitingReader(BlockReader):
    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        return DataInputStatus.NOTHING_AVAILABLE


class WaitingSource(CollectionSource):
    def create_reader(self) -> WaitingReader:
        return WaitingReader(lambda ctx: iter(()))


def test_job_with_another_source_that_waits_is_deadlocked(topics: Topics) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.no_watermarks()
    waiting = env.from_source(WaitingSource([1]), strategy, "waiting")
    env.from_source(builder().build(), strategy, "topic").union(waiting).sink_to(CollectSink())
    with pytest.raises(Deadlock, match=r"Source: waiting .* waits for input"):
        env.execute()


def partition(number: int, values: Sequence[object]) -> list[str]:
    return [str(value) for value in values if str(value)[0] == "ab"[number]]


@pytest.mark.parametrize(
    ("starting", "expected"),
    [
        (Offsets.earliest(), ["a0", "a2", "a4"]),
        (Offsets.timestamp(2), ["a2", "a4"]),
        (Offsets.timestamp(3), ["a4"]),
        (Offsets.offsets({KafkaTopicPartition("orders", 0): 2}), ["a4"]),
        (Offsets.offsets({KafkaTopicPartition("orders", 0): 9}), ["a0", "a2", "a4"]),
        (Offsets.offsets({KafkaTopicPartition("orders", 0): 9}, KafkaOffsetResetStrategy.LATEST), []),
        (Offsets.offsets({}, KafkaOffsetResetStrategy.EARLIEST), ["a0", "a2", "a4"]),
    ],
)
def test_source_starts_at_its_offsets(topics: Topics, starting: Offsets, expected: list[str]) -> None:
    made = KafkaSource.builder().set_bootstrap_servers("b").set_value_only_deserializer(SimpleStringSchema())
    made.set_partitions({KafkaTopicPartition("orders", 0)}).set_starting_offsets(starting)
    if expected:
        assert run(made.set_bounded(Offsets.latest()).build())[0] == expected
    else:
        with pytest.raises(BadInput, match="it starts after all 3 records of orders-0"):
            made.build()


@pytest.mark.parametrize(
    ("stopping", "expected"),
    [(Offsets.timestamp(3), ["a0", "a2"]), (Offsets.offsets({KafkaTopicPartition("orders", 0): 1}), ["a0"])],
)
def test_source_stops_at_its_offsets(topics: Topics, stopping: Offsets, expected: list[str]) -> None:
    bounded, result = run(builder().set_bounded(stopping).build())
    unbounded, stopped = run(builder().set_unbounded(stopping).build())
    assert partition(0, bounded) == partition(0, unbounded) == expected
    assert (result.status, stopped.status, stopped.is_idle) == (JobStatus.FINISHED, JobStatus.STOPPED, True)


def test_latest_reads_what_is_appended_after_the_start(topics: Topics) -> None:
    source = builder("slow").set_starting_offsets(Offsets.latest()).build()
    assert run(source)[0] == ["x", "y", "z"]
    with pytest.raises(BadInput, match=r"starts after all 6 records .* append them while it runs, by --topic"):
        builder().set_starting_offsets(Offsets.latest()).build()


def test_partitions_belong_to_the_readers_of_flink(topics: Topics) -> None:
    """KafkaSourceEnumerator.getSplitOwner: "orders".hashCode() * 31 & 0x7FFFFFFF is 940374459 in Java."""
    owner_of = builder().build().owner_of
    assert [[owner_of(index, readers) for index in range(2)] for readers in (2, 3, 4)] == [[1, 0], [0, 1], [3, 0]]


def test_restored_job_reads_each_record_once(topics: Topics) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(400)
    env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=100)
    sink = CollectSink()
    env.from_source(builder("slow").build(), WatermarkStrategy.no_watermarks(), "topic").sink_to(sink)
    result = env.flowsim_settings(failures=(FailTask("Source: topic", at_ns=2_900 * NS_PER_MS),)).execute()
    assert (list(sink.values()), result.restarts, result.is_idle) == (["x", "y", "z"], 1, True)


def test_message_that_cannot_be_read_is_named(topics: Topics) -> None:
    class Numbers(DeserializationSchema):
        def deserialize(self, message: bytes | None) -> object:
            if message == b"y":
                raise BadInput("expected a number")
            return None if message == b"x" else 1

    source = builder("slow").set_value_only_deserializer(Numbers()).build()
    log = source.open_log(0, 0, (0, "slow-0"))
    assert log.next_record() is None
    with pytest.raises(BadInput, match="slow-0, offset 1: expected a number"):
        log.next_record()


def test_state_of_another_topic_is_refused(topics: Topics) -> None:
    split = (0, 0, None, "orders-0", 0)
    with pytest.raises(BadInput, match=r"the state of a source: expected an offset of slow-0, got .*'orders-0'"):
        builder("slow").build().split_of(split)


def test_records_of_the_source_have_the_type_of_their_schema(topics: Topics) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_source(builder().build(), WatermarkStrategy.no_watermarks(), "topic")
    assert stream.get_type() == Types.STRING()


def test_timestamp_of_a_record_is_that_of_its_append_by_default() -> None:
    assert TopicRecord(b"", append_ns=3 * SECOND).kafka_timestamp_ms == 4_000
    assert TopicRecord(b"", timestamp_ms=5).kafka_timestamp_ms == 5


def test_pattern_finds_topics_that_have_records(topics: Topics) -> None:
    made = KafkaSource.builder().set_bootstrap_servers("b").set_value_only_deserializer(SimpleStringSchema())
    assert made.set_topic_pattern("o.*").build().split_ids == ["orders-0", "orders-1"]


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: KafkaSource.builder().set_topics("orders").build(), "no deserializer is set"),
        (
            lambda: builder("ordres"),
            r"topic 'ordres' has no records here \(did you mean 'orders'\?\): give its records by",
        ),
        (
            lambda: builder().set_topic_pattern("a"),
            "cannot set topic pattern: topics, a topic pattern or partitions are",
        ),
        (
            lambda: builder().set_property("max.poll.records", "0"),
            "max.poll.records: expected an integer >= 1, got '0'",
        ),
        (
            lambda: builder().set_starting_offsets(Offsets.committed_offsets()),
            r"committed offsets need a consumer group: call set_group_id\(",
        ),
        (
            lambda: builder().set_bounded(Offsets.committed_offsets()),
            "committed offsets need a consumer group",
        ),
        (
            lambda: builder().set_property("commit.offsets.on.checkpoint", "True"),
            "to commit offsets it needs a consumer group",
        ),
        (lambda: builder().set_starting_offsets("earliest"), "expected a KafkaOffsetsInitializer, got 'earliest'"),
        (lambda: builder("a/b"), "expected the name of a topic"),
    ],
)
def test_wrong_settings_are_refused(topics: Topics, build: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build().build()  # type: ignore[operator]


def test_source_without_a_broker_names_how_to_simulate_one() -> None:
    with pytest.raises(BadInput, match="no broker runs here: give its records by `flowsim pyflink --topic NAME=FILE`"):
        builder().build()
