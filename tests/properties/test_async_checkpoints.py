"""A checkpoint at any time: each element was emitted or is in it, exactly once (I11.g), in both designs."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import TriggerSavepoint
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import SavepointRestoreSettings
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.legacy.source_function import LegacySource
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.async_calls import Reply, ScriptedCalls
from flowsim.units import NS_PER_MS
from tests.support.checkpoints.stored_queues import copies, stored_queue
from tests.support.examples import examples
from tests.support.jobs.requested_checkpoints import ON_REQUEST

pytestmark = pytest.mark.property

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
    design: str, latencies: list[int], job: dict[str, object], **options: object
) -> tuple[list[object], MemoryRecorder, str | None]:
    """Runs the job to its end; also returns the path of the savepoint that it took."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(buffer_timeout_ms=0, cost_ns=job["cost_ns"], checkpointing=ON_REQUEST)  # type: ignore[arg-type]
    source, sink = ScriptedSource(script_of(latencies)), CollectSink()
    stream = env.add_source(LegacySource(source) if job["legacy_source"] else source, "source").map(lambda value: value)
    calls = ScriptedCalls(lambda value, _: Reply(latencies[int(str(value))], (value,)))
    wait = AsyncDataStream.ordered_wait if job["mode"] == "ordered" else AsyncDataStream.unordered_wait
    asked = wait(stream, calls, Duration.of_millis(0), job["capacity"], design=design).name("ask")  # type: ignore[arg-type]
    asked.sink_to(sink).name("out")
    recorder = MemoryRecorder(Level.FULL)
    run_options = RunOptions(job["seed"], policy=job["policy"], recorder=recorder, **options)  # type: ignore[arg-type]
    result = MiniCluster(env.stream_graph(), run_options).run()
    assert result.status is JobStatus.FINISHED, result.report
    assert [o for o in check_all(recorder, "complete") if o.verdict is Verdict.VIOLATED] == []
    return sink.values(), recorder, next((one.path for one in result.requested_snapshots), None)


@pytest.mark.parametrize("design", ["mailbox", "legacy"])
@settings(max_examples=examples(15), deadline=None)
@given(latencies, st.integers(0, 120), settings_of_jobs)
def test_every_element_is_emitted_or_in_checkpoint(
    design: str, latencies: list[int], moment: int, job: dict[str, object]
) -> None:
    with TemporaryDirectory() as directory:
        actions = (TriggerSavepoint(moment * NS_PER_MS, directory),)
        values, recorder, path = run(design, latencies, job, actions=actions)
        assert sorted(values) == list(range(len(latencies)))  # type: ignore[type-var]
        if path is None:
            return
        copied, stored = copies(recorder), stored_queue(Path(path), "ask")
        kept = [element[1] for element in stored if len(element) == 2]
        emitted = values[: copied["out"].records_in]
        assert len(kept) + len(emitted) == copied["ask"].records_in
        assert not set(kept) & set(emitted), "neither lost nor twice"
        assert design == "legacy" or not any(one.inside for one in copied.values()), "rule 11.21"
        if design == "mailbox" or len(stored) <= int(str(job["capacity"])):  # rule 11.38
            again, _, _ = run(design, latencies, job, savepoint=SavepointRestoreSettings(path))
            assert sorted([*emitted, *again]) == list(range(len(latencies)))  # type: ignore[type-var]
