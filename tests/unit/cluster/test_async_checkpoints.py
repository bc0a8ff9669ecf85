"""Checkpoints of asynchronous operators: when their state is copied, and what it contains."""

from __future__ import annotations

from pathlib import Path

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import TriggerSavepoint
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.async_calls import Reply, ScriptedCalls
from flowsim.units import NS_PER_MS
from tests.support.checkpoints.stored_queues import Copied, copies, stored_queue

MS = NS_PER_MS


def run(directory: Path, capacity: int, *, chained: bool) -> MemoryRecorder:
    """source -> ask (100 ms each), ordered -> sink; a savepoint at 50 ms."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(buffer_timeout_ms=0, cost_ns=0)
    script = [record(1, 1), record(2, 2), watermark(2), record(3, 3), sleep(300)]
    stream = env.add_source(ScriptedSource(script), "source")
    calls = ScriptedCalls(lambda value, _: Reply(100, (value,)))
    asked = AsyncDataStream.ordered_wait(
        stream if chained else stream.rebalance(), calls, Duration.of_millis(0), capacity
    )
    asked.name("ask").sink_to(CollectSink()).name("out")
    recorder = MemoryRecorder(Level.FULL)
    actions = (TriggerSavepoint(50 * MS, str(directory)),)
    result = MiniCluster(env.stream_graph(), RunOptions(actions=actions, recorder=recorder)).run()
    assert result.status is JobStatus.FINISHED, result.report
    assert [one for one in check_all(recorder, "complete") if one.verdict is Verdict.VIOLATED] == []
    return recorder


def test_checkpoint_has_queued_elements(tmp_path: Path) -> None:
    """Rule 11.20."""
    copied = copies(run(tmp_path, capacity=5, chained=False))
    assert copied["ask"] == Copied(50 * MS, 50 * MS, 3, 4, False)
    assert copied["out"].elements == 0
    assert stored_queue(tmp_path / "savepoint-1", "ask") == [(1, 1), (2, 2), (2,), (3, 3)]


def test_state_is_copied_after_element_in_progress(tmp_path: Path) -> None:
    """Rules 3.21, 3.25, 11.21: the mail has the lowest priority, so no yield runs it."""
    copied = copies(run(tmp_path, capacity=2, chained=True))
    assert (copied["ask"].requested_ns, copied["ask"].taken_ns) == (50 * MS, 100 * MS)
    assert not any(one.inside for one in copied.values())
    assert stored_queue(tmp_path / "savepoint-1", "ask") == [(2, 2), (2,)]
