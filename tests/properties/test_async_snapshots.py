"""A snapshot at any time: each element was emitted or is in the snapshot, exactly once (I11.g), in both designs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import SnapshotTask
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.legacy.source_function import LegacySource
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import StreamRecord
from flowsim.testing.async_calls import Reply, ScriptedCalls
from flowsim.units import NS_PER_MS

pytestmark = pytest.mark.property

moments = st.lists(st.integers(0, 120), min_size=1, max_size=6, unique=True)
latencies = st.lists(st.sampled_from([0, 1, 7, 20, 45]), min_size=1, max_size=12)
settings_of_jobs = st.fixed_dictionaries(
    {
        "capacity": st.integers(1, 4),
        "mode": st.sampled_from(["ordered", "unordered"]),
        "legacy_source": st.booleans(),
        "cost_ns": st.sampled_from([0, 300_000]),
        "seed": st.integers(0, 1000),
        "policy": st.sampled_from(["fifo", "random"]),
    }
)


def script_of(latencies: list[int]) -> list[Entry]:
    """A record per latency, now and then a watermark and a pause."""
    script: list[Entry] = []
    for number in range(len(latencies)):
        script.append(record(number, number))
        script += [watermark(number)] if number % 3 == 1 else []
        script += [sleep(5)] if number % 4 == 3 else []
    return script


def run(
    design: str, latencies: list[int], moments: list[int], job: dict[str, object]
) -> tuple[JobExecutionResult, list[object]]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(buffer_timeout_ms=0, cost_ns=job["cost_ns"])  # type: ignore[arg-type]
    source, sink = ScriptedSource(script_of(latencies)), CollectSink()
    stream = env.add_source(LegacySource(source) if job["legacy_source"] else source, "source").map(lambda value: value)
    calls = ScriptedCalls(lambda value, _: Reply(latencies[int(str(value))], (value,)))
    wait = AsyncDataStream.ordered_wait if job["mode"] == "ordered" else AsyncDataStream.unordered_wait
    asked = wait(stream, calls, Duration.of_millis(0), job["capacity"], design=design).name("ask")  # type: ignore[arg-type]
    asked.sink_to(sink)
    recorder = MemoryRecorder(Level.FULL)
    actions = tuple(SnapshotTask(moment * NS_PER_MS, "ask") for moment in moments)
    options = RunOptions(job["seed"], policy=job["policy"], recorder=recorder, actions=actions)  # type: ignore[arg-type]
    result = MiniCluster(env.stream_graph(), options).run()
    assert result.status is JobStatus.FINISHED, result.report
    assert [o for o in check_all(recorder, "complete") if o.verdict is Verdict.VIOLATED] == []
    return result, sink.values()


@pytest.mark.parametrize("design", ["mailbox", "legacy"])
@settings(max_examples=25, deadline=None)
@given(latencies, moments, settings_of_jobs)
def test_every_element_is_emitted_or_in_snapshot(
    design: str, latencies: list[int], moments: list[int], job: dict[str, object]
) -> None:
    result, values = run(design, latencies, moments, job)
    assert sorted(values) == list(range(len(latencies)))  # type: ignore[type-var]
    for snapshot in result.snapshots:
        if snapshot.taken_ns is None:
            assert snapshot.missed
            continue
        asking, sink = snapshot.operators[-2:]
        kept = [element.value for element in asking.elements if isinstance(element, StreamRecord)]
        assert len(kept) + sink.records_in == asking.records_in
        assert not set(kept) & set(values[: sink.records_in]), "neither lost nor twice"
        assert design == "legacy" or not any(one.inside for one in snapshot.operators), "rule 11.21"
