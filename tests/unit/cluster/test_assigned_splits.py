"""Jobs whose sources get their splits from an enumerator, without checkpoints."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.connectors.files.file_sources import JsonLinesSource
from flowsim.connectors.generator import SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.partitioned_generator import Partition, PartitionedGeneratorSource
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.connectors.source import Source
from flowsim.connectors.split_assignment import RequestedSplits, SplitsOnRequest
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput, JobFailed
from flowsim.legacy.source_function import LegacySource
from flowsim.operators.sources.split_enumerator import SplitEnumeratorContext


def job(source: Source, parallelism: int) -> tuple[StreamExecutionEnvironment, CollectSink]:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(parallelism)
    sink = CollectSink()
    env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "source").sink_to(sink)
    return env, sink


def test_subtask_that_is_faster_reads_more_scripts() -> None:
    env, sink = job(ScriptedSource([sleep(10), record(1)], [record(2)], [record(3)], assignment="dynamic"), 2)
    env.execute()
    assert [sink.values(subtask) for subtask in range(2)] == [[1], [2, 3]]


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_each_file_is_read_once_under_any_schedule(tmp_path: Path, policy: str) -> None:
    paths = [tmp_path / f"{i}.jsonl" for i in range(7)]
    for i, path in enumerate(paths):
        path.write_text("".join(f'{{"n": {i * 10 + k}}}\n' for k in range(i)))
    for seed in range(5):
        source = JsonLinesSource(paths, {"n": "long"}, assignment="dynamic")
        env, sink = job(source, 3)
        env.flowsim_settings(policy=policy, seed=seed).execute()
        assert sorted(value[0] for value in sink.values()) == [i * 10 + k for i in range(7) for k in range(i)]  # type: ignore[index]


def test_lag_shifts_no_event_time() -> None:
    partitions = [Partition(1_000, start_lag=50, records=60), Partition(1_000, records=10)]
    env, sink = job(PartitionedGeneratorSource(partitions, {"n": SequenceOf()}, timestamp_field="t"), 2)
    env.execute()
    assert [t for _, t in sink.records(0)] == list(range(60))
    assert [t for _, t in sink.records(1)] == list(range(50, 60))


class Broken(RequestedSplits):
    __slots__ = ()

    def handle_split_request(self, subtask: int) -> None:
        raise BadInput("no splits today")


class BrokenAssignment(SplitsOnRequest):
    def create_enumerator(self, context: SplitEnumeratorContext[object]) -> RequestedSplits:
        return Broken(context, ())


class BrokenSource(ScriptedSource):
    @property
    def enumerator_factory(self) -> SplitsOnRequest:
        return BrokenAssignment(())


def test_error_of_enumerator_fails_job() -> None:
    env, _ = job(BrokenSource([record(1)], assignment="dynamic"), 1)
    with pytest.raises(JobFailed, match="job failed in task Flink Streaming Job: BadInput: no splits today"):
        env.execute()


def test_legacy_source_has_fixed_shares() -> None:
    with pytest.raises(BadInput, match="a legacy source reads fixed shares"):
        LegacySource(ScriptedSource([record(1)], assignment="dynamic"))
