"""A KafkaSource commits offsets of its group as Flink's does, and starts and stops at committed ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobExecutionResult
from flowsim.connectors.kafka.offsets import KafkaOffsetResetStrategy, KafkaOffsetsInitializer, KafkaTopicPartition
from flowsim.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from flowsim.connectors.kafka.topics import Topics, simulated_topics
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.schemas import SimpleStringSchema
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput, JobFailed
from flowsim.graph.checkpoint_settings import FixedDelayRestart
from flowsim.units import NS_PER_MS
from tests.unit.connectors.conftest import MakeContext

Offsets, Strategy = KafkaOffsetsInitializer, KafkaOffsetResetStrategy
SECOND = 1_000 * NS_PER_MS


@pytest.fixture
def topics(tmp_path: Path) -> Iterator[Topics]:
    (tmp_path / "slow.txt").write_text("a\nb\nc\nd\n")
    with simulated_topics({"slow": f"{tmp_path}/slow.txt@1/s"}) as found:
        yield found


def builder(starting: Offsets | None = None, group: str | None = "g") -> KafkaSourceBuilder:
    made = KafkaSource.builder().set_bootstrap_servers("broker:9092").set_topics("slow")
    made.set_starting_offsets(Offsets.committed_offsets(Strategy.EARLIEST) if starting is None else starting)
    if group is not None:
        made.set_group_id(group)
    return made.set_value_only_deserializer(SimpleStringSchema())


def environment(source: KafkaSource, interval_ms: int | None = 400) -> tuple[StreamExecutionEnvironment, CollectSink]:
    env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
    if interval_ms is not None:
        env.enable_checkpointing(interval_ms)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "topic").sink_to(sink)
    return env, sink


def run(
    source: KafkaSource, interval_ms: int | None = 400, **settings: object
) -> tuple[list[object], JobExecutionResult]:
    env, sink = environment(source, interval_ms)
    result = env.flowsim_settings(**settings).execute()
    return list(sink.values()), result


def committed(topics: Topics, group: str = "g") -> int | None:
    return topics.committed_offsets.get((group, KafkaTopicPartition("slow", 0)))


def test_second_job_starts_at_the_offsets_of_the_last_checkpoint(topics: Topics) -> None:
    assert run(builder().build(), until_ns=2_500 * NS_PER_MS)[0] == ["a", "b"]
    assert committed(topics) == 2
    assert run(builder().build())[0] == ["c", "d"]
    assert committed(topics) == 4
    values, result = run(builder().build())
    assert (values, result.is_idle) == ([], True)
    assert run(builder(group="other").build())[0] == ["a", "b", "c", "d"]


def test_same_source_can_be_in_two_jobs(topics: Topics) -> None:
    source = builder().build()
    assert run(source, until_ns=2_500 * NS_PER_MS)[0] == ["a", "b"]
    assert run(source)[0] == ["c", "d"]


def test_run_of_the_same_job_again_takes_its_commits_back(topics: Topics) -> None:
    env, sink = environment(builder().build())
    graph = env.stream_graph()
    for _ in range(2):
        graph.check_run("virtual")
        assert committed(topics) is None
        topics.commit_offsets({("g", KafkaTopicPartition("slow", 0)): 3})
    assert sink.values() == []


@pytest.mark.parametrize(
    ("properties", "expected"),
    [({}, 4), ({"commit.offsets.on.checkpoint": "false"}, None), ({"enable.auto.commit": "true"}, 4)],
)
@pytest.mark.parametrize("interval_ms", [None, 400])
def test_offsets_are_committed_on_checkpoints_or_by_the_consumer(
    topics: Topics, properties: dict[str, str], expected: int | None, interval_ms: int | None
) -> None:
    run(builder().set_properties(properties).build(), interval_ms)
    is_committed = interval_ms is not None or "enable.auto.commit" in properties
    assert committed(topics) == (expected if is_committed else None)


def test_without_a_group_nothing_is_committed(topics: Topics) -> None:
    run(builder(Offsets.earliest(), group=None).build())
    assert topics.committed_offsets == {}


def test_only_completed_checkpoints_commit_in_their_order(topics: Topics, context: MakeContext) -> None:
    source = builder().build()
    reader = source.create_reader()
    reader.open(context())
    reader.add_splits([(0, 1, 0, "slow-0", 0)])
    for checkpoint_id in (1, 2):
        reader.snapshot_state(checkpoint_id)
    assert committed(topics) is None
    reader.notify_checkpoint_complete(2)
    assert committed(topics) == 1
    topics.restore_offsets({})
    for subsumed_or_unknown in (1, 2, 3):
        reader.notify_checkpoint_complete(subsumed_or_unknown)
    assert committed(topics) is None


def test_partition_that_has_ended_is_committed_with_the_next_checkpoint(topics: Topics) -> None:
    values, _ = run(builder().set_bounded(Offsets.offsets({KafkaTopicPartition("slow", 0): 2})).build(), 60_000)
    assert (values, committed(topics)) == (["a", "b"], 2)


def test_bounded_source_stops_at_the_committed_offset(topics: Topics) -> None:
    topics.commit_offsets({("g", KafkaTopicPartition("slow", 0)): 3})
    source = builder(Offsets.earliest()).set_bounded(Offsets.committed_offsets()).build()
    assert run(source, None)[0] == ["a", "b", "c"]


def test_specified_offsets_fall_back_to_those_of_the_group(topics: Topics) -> None:
    topics.commit_offsets({("g", KafkaTopicPartition("slow", 0)): 3})
    assert run(builder(Offsets.offsets({})).build())[0] == ["d"]
    assert run(builder(Offsets.offsets({KafkaTopicPartition("slow", 0): 2})).build())[0] == ["c", "d"]


@pytest.mark.parametrize(
    ("strategy", "offset", "expected"),
    [
        (Strategy.EARLIEST, None, ["a", "b", "c", "d"]),
        (Strategy.EARLIEST, 9, ["a", "b", "c", "d"]),
        (Strategy.LATEST, None, ["a", "b", "c", "d"]),
        (Strategy.NONE, 1, ["b", "c", "d"]),
    ],
)
def test_strategy_decides_without_a_usable_offset(
    topics: Topics, strategy: Strategy, offset: int | None, expected: list[str]
) -> None:
    if offset is not None:
        topics.commit_offsets({("g", KafkaTopicPartition("slow", 0)): offset})
    assert run(builder(Offsets.committed_offsets(strategy)).build())[0] == expected


@pytest.mark.parametrize(
    ("starting", "stopping", "message"),
    [
        (
            Offsets.committed_offsets(),
            None,
            "no offset to start slow-0 from: its group has committed no offset, and the",
        ),
        (Offsets.offsets({}, Strategy.NONE), None, "no offset to start slow-0 from: none is given, and its group has"),
        (
            Offsets.offsets({KafkaTopicPartition("slow", 0): 9}, Strategy.NONE),
            None,
            "no offset to start slow-0 from: it has no offset 9, and the KafkaOffsetResetStrategy is NONE",
        ),
        (
            Offsets.earliest(),
            Offsets.committed_offsets(),
            "partition slow-0 stops at the committed offset, but the group 'g' has committed none",
        ),
    ],
)
def test_job_fails_without_an_offset(topics: Topics, starting: Offsets, stopping: Offsets | None, message: str) -> None:
    made = builder(starting)
    if stopping is not None:
        made.set_bounded(stopping)
    with pytest.raises(JobFailed) as failed:
        run(made.build(), None)
    assert isinstance(failed.value.cause, BadInput)
    assert message in str(failed.value.cause)


def test_latest_of_a_later_attempt_is_the_end_at_that_time(topics: Topics) -> None:
    env, sink = environment(builder(Offsets.committed_offsets(Strategy.LATEST)).build(), 60_000)
    env.settings.restart_strategy = FixedDelayRestart(attempts=1, delay_ms=0)
    env.flowsim_settings(failures=(FailTask("Source: topic", at_ns=2_500 * NS_PER_MS),)).execute()
    assert list(sink.values())[-2:] == ["c", "d"]
    assert committed(topics) == 4


def test_files_of_a_topic_can_have_committed_offsets(tmp_path: Path) -> None:
    (tmp_path / "orders.txt").write_text("a\nb\nc\n")
    (tmp_path / "offsets.jsonl").write_text('{"group": "g", "partition": 0, "offset": 2}\n')
    with simulated_topics({"slow": [tmp_path / "orders.txt", tmp_path / "offsets.jsonl"]}) as topics:
        assert run(builder().build())[0] == ["c"]
    written = topics.write_offsets_to(tmp_path / "written")
    path, offsets = written["slow"]
    assert [(one.group, one.offset) for one in offsets] == [("g", 3)]
    assert path.read_text() == '{"group":"g","partition":0,"offset":3}\n'
