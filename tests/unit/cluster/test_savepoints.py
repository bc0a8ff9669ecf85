"""Savepoints of running jobs: triggered, with a stop, and restored by another job (rules 12.51, 12.101, 12.138-12.141)."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import RunAction, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.graph.checkpoint_settings import CheckpointSettings, SavepointRestoreSettings
from flowsim.units import NS_PER_MS

RECORDS = 60


def numbers(
    *actions: RunAction,
    parallelism: int = 2,
    interval_ms: int | None = None,
    savepoint: str | None = None,
    sink_uid: str = "out",
    max_parallelism: int | None = None,
    allow: bool = False,
    keyed: bool = True,
) -> tuple[JobExecutionResult, list[object]]:
    """Numbers 0 to 59, one per ms, with the count of their key so far; returns the committed pairs."""
    env = StreamExecutionEnvironment.get_execution_environment()
    if interval_ms is not None:
        env.settings.checkpointing = CheckpointSettings(interval_ms)
    source = GeneratorSource(RECORDS, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    if keyed:
        counted = stream.key_by(lambda row: row[0] % 7, key_type=None).reduce(lambda a, b: (a[0] + b[0],)).uid("sums")
        counted.set_parallelism(parallelism)
        if max_parallelism is not None:
            counted.set_max_parallelism(max_parallelism)
        stream = counted
    sink = CollectSink()
    stream.sink_to(sink).uid(sink_uid)
    restore = None if savepoint is None else SavepointRestoreSettings(savepoint, allow_non_restored_state=allow)
    result = MiniCluster(env.stream_graph(), RunOptions(actions=actions, savepoint=restore)).run()
    return result, sorted(sink.values())


def sums() -> list[object]:
    totals: dict[int, int] = {}
    rows = []
    for n in range(RECORDS):
        totals[n % 7] = totals.get(n % 7, 0) + n
        rows.append((totals[n % 7],))
    return sorted(rows)


def test_savepoint_of_a_job_without_checkpointing_leaves_the_job_running(tmp_path: Path) -> None:
    result, rows = numbers(TriggerSavepoint(20 * NS_PER_MS, str(tmp_path)))
    assert result.status is JobStatus.FINISHED, result.error
    assert rows == sums()
    [savepoint] = result.requested_snapshots
    assert (savepoint.checkpoint_id, savepoint.path, savepoint.error) == (1, str(tmp_path / "savepoint-1"), None)
    assert result.checkpoints is not None
    assert result.checkpoints.completed == 1, "no final checkpoint (rule 12.146)"


@pytest.mark.parametrize("drain", [False, True])
@pytest.mark.parametrize("parallelism", [1, 2, 3])
def test_job_stopped_with_a_savepoint_continues_with_any_parallelism(
    drain: bool, parallelism: int, tmp_path: Path
) -> None:
    """Rule 12.140: all output before the stop is visible; the restored job writes exactly the rest."""
    stopped, before = numbers(StopWithSavepoint(25 * NS_PER_MS, drain, str(tmp_path)), interval_ms=10)
    assert stopped.status is JobStatus.FINISHED, stopped.error
    [savepoint] = stopped.requested_snapshots
    assert savepoint.error is None
    assert 0 < len(before) < RECORDS
    restored, after = numbers(parallelism=parallelism, savepoint=savepoint.path)
    assert restored.status is JobStatus.FINISHED, restored.error
    assert sorted([*before, *after]) == sums()


def test_requests_after_the_end_of_the_job_report_an_error() -> None:
    result, _ = numbers(TriggerCheckpoint(0), TriggerCheckpoint(10**12))
    first, last = result.requested_snapshots
    assert first.error == "Not all required tasks are currently running."
    assert last.error == "the job ended before the snapshot was complete"


def test_state_without_an_operator_is_refused_unless_allowed(tmp_path: Path) -> None:
    """Rule 12.26."""
    result, before = numbers(StopWithSavepoint(25 * NS_PER_MS, False, str(tmp_path)))
    path = result.requested_snapshots[0].path
    with pytest.raises(BadInput, match=r"state for operator \w{32} \('Keyed Reduce', uid 'sums'\) to the new program"):
        numbers(savepoint=path, keyed=False)
    restored, after = numbers(savepoint=path, keyed=False, allow=True)
    assert restored.status is JobStatus.FINISHED
    assert after == [(n,) for n in range(len(before), RECORDS)]


def test_max_parallelism_is_adopted_unless_it_was_set(tmp_path: Path) -> None:
    """Rule 12.23."""
    result, before = numbers(StopWithSavepoint(25 * NS_PER_MS, False, str(tmp_path)), max_parallelism=16)
    path = result.requested_snapshots[0].path
    _, after = numbers(savepoint=path, parallelism=3)
    assert sorted([*before, *after]) == sums()
    with pytest.raises(BadInput, match=r"uid 'sums'\) with max parallelism 16 to new program with max parallelism 32"):
        numbers(savepoint=path, max_parallelism=32)
    with pytest.raises(BadInput, match=r"maximum parallelism \(16\) of the restored state is lower"):
        numbers(savepoint=path, parallelism=17)
