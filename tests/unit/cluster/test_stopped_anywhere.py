"""A run stopped at any moment: its counters are recorded once, and its facts violate no law."""

from __future__ import annotations

from collections import Counter

import pytest

from flowsim.cluster.mini_cluster import JobStatus, MiniCluster, RunOptions
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.facts.kinds import Level
from flowsim.graph.job_settings import Link
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder

STEP_NS = 500


def job(**settings: object) -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(None, buffer_timeout_ms=0, **settings)
    words = env.from_collection(["a b", "c", "a a c"]).flat_map(str.split).map(lambda word: (word, 1))
    words.key_by(lambda pair: pair[0]).map(lambda pair: pair).set_parallelism(2).sink_to(CollectSink())
    return env.stream_graph()


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_run_stopped_at_any_moment_keeps_laws_and_records_counts_once(policy: str) -> None:
    whole = MiniCluster(job(), RunOptions(policy=policy, seed=3)).run()
    stops = range(STEP_NS, whole.elapsed_ns, STEP_NS)
    assert len(stops) > 20
    for until_ns in stops:
        recorder = MemoryRecorder(Level.FULL)
        result = MiniCluster(job(), RunOptions(policy=policy, seed=3, until_ns=until_ns, recorder=recorder)).run()
        assert result.status is JobStatus.STOPPED
        broken = [o for o in check_all(recorder, "stopped") if o.verdict is Verdict.VIOLATED]
        assert (until_ns, broken) == (until_ns, [])
        task, operator = (recorder.columns("operator_counts").index(name) for name in ("task", "operator"))
        counted = Counter((row[task], row[operator]) for row in recorder.rows("operator_counts"))
        assert (until_ns, [place for place, times in counted.items() if times > 1]) == (until_ns, [])


LINKED = {"links": (Link(latency_ns=3_000, bytes_per_second=20_000_000),)}
PLACED = {"task_managers": "one"}
BLOCKED = {"exchange": "blocking"}


@pytest.mark.parametrize("settings", [LINKED, PLACED, BLOCKED], ids=["linked", "placed", "blocked"])
def test_run_stopped_with_buffers_anywhere_keeps_laws(settings: dict[str, object]) -> None:
    """Under way, in one memory, or in files."""
    graph = job(**settings)
    whole = MiniCluster(graph, RunOptions(seed=3)).run()
    stops = range(STEP_NS, whole.elapsed_ns, 3 * STEP_NS)
    assert len(stops) > 8
    for until_ns in stops:
        recorder = MemoryRecorder(Level.FULL)
        result = MiniCluster(graph, RunOptions(seed=3, until_ns=until_ns, recorder=recorder)).run()
        assert result.status is JobStatus.STOPPED
        broken = [o for o in check_all(recorder, "stopped") if o.verdict is Verdict.VIOLATED]
        assert (until_ns, broken) == (until_ns, [])
