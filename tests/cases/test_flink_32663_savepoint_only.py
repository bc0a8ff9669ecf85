"""Without an interval checkpointing is disabled: requested snapshots only, and no task waits (rule 12.146, FLINK-32663)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import RunAction, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.checkpoint_config import CheckpointingMode
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.facts.kinds import AlignmentType, CheckpointAction, Level
from flowsim.graph.checkpoint_settings import CheckpointSettings, SavepointRestoreSettings
from flowsim.laws.judge import check_all
from flowsim.recording.memory import MemoryRecorder
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from flowsim.simulation import FailTask
from flowsim.units import NS_PER_MS

INPUT = Path(__file__).with_name("inputs") / "flink_32663_savepoint_only.yaml"
RECORDS = 60


def run(
    settings: CheckpointSettings | None,
    *actions: RunAction,
    savepoint: str | None = None,
    fail_at: int | None = None,
) -> tuple[JobExecutionResult, list[int], MemoryRecorder]:
    """A keyed job with a committing sink; returns its result and the committed numbers."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.checkpointing = settings
    source = GeneratorSource(RECORDS, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").uid("numbers")
    counted = numbers.key_by(lambda row: row[0], key_type=None).reduce(lambda a, b: a).uid("counted").name("counted")
    sink = CollectSink()
    counted.set_parallelism(2).sink_to(sink).uid("out").set_parallelism(1)
    recorder = MemoryRecorder(Level.FULL)
    restore = None if savepoint is None else SavepointRestoreSettings(savepoint)
    failures = () if fail_at is None else (FailTask("counted", at_record=fail_at),)
    options = RunOptions(recorder=recorder, actions=actions, savepoint=restore, failures=failures)
    result = MiniCluster(env.stream_graph(), options).run()
    assert [
        each.law for each in check_all(recorder, "complete" if result.error is None else "failed") if each.violations
    ] == []
    return result, sorted(row[0] for row in sink.values()), recorder


def triggered(recorder: MemoryRecorder) -> list[tuple[int, int]]:
    """The id and the alignment of each triggered snapshot."""
    rows = recorder.rows("checkpoints")
    return [(row[2], row[5]) for row in rows if row[3] == CheckpointAction.TRIGGERED]


def test_scenario_takes_only_its_savepoint_and_does_not_wait(tmp_path: Path) -> None:
    done = run_compiled(compile_scenario(load_scenario(INPUT), out_dir=tmp_path), record=Level.FULL)
    assert done.result.status is JobStatus.FINISHED
    assert done.result.checkpoints is not None
    assert (done.result.checkpoints.completed, done.result.checkpoints.failed) == (1, 0)
    assert [each.checkpoint_id for each in done.result.requested_snapshots] == [1]


@pytest.mark.parametrize(
    "settings", [None, CheckpointSettings(), CheckpointSettings(unaligned=True, aligned_timeout_ms=5)]
)
@pytest.mark.parametrize("action", [TriggerCheckpoint(20 * NS_PER_MS), TriggerSavepoint(20 * NS_PER_MS)])
def test_requested_snapshot_is_an_at_least_once_one_and_the_last(
    settings: CheckpointSettings | None, action: RunAction
) -> None:
    result, rows, recorder = run(settings, action)
    assert result.status is JobStatus.FINISHED, result.error
    assert triggered(recorder) == [(1, AlignmentType.AT_LEAST_ONCE)]
    assert rows == list(range(RECORDS)), "the end of the input commits"


def test_interval_brings_the_final_checkpoint() -> None:
    result, rows, recorder = run(
        CheckpointSettings(interval_ms=60_000, min_pause_ms=60_000), TriggerSavepoint(20 * NS_PER_MS)
    )
    assert result.status is JobStatus.FINISHED, result.error
    assert triggered(recorder) == [(1, AlignmentType.ALIGNED), (2, AlignmentType.ALIGNED)]
    assert rows == list(range(RECORDS))


@pytest.mark.parametrize("drain", [False, True])
def test_stop_with_savepoint_ends_with_it_and_the_restored_job_continues(drain: bool, tmp_path: Path) -> None:
    stopped, before, recorder = run(None, StopWithSavepoint(25 * NS_PER_MS, drain, str(tmp_path)))
    assert stopped.status is JobStatus.FINISHED, stopped.error
    assert [number for number, _ in triggered(recorder)] == [1]
    [savepoint] = stopped.requested_snapshots
    assert savepoint.error is None
    assert 0 < len(before) < RECORDS
    restored, after, recorder = run(None, savepoint=savepoint.path)
    assert restored.status is JobStatus.FINISHED, restored.error
    assert triggered(recorder) == []
    assert sorted(before + after) == list(range(RECORDS))


def test_failure_is_final_without_a_restart_strategy() -> None:
    result, _, _ = run(CheckpointSettings(), TriggerCheckpoint(10 * NS_PER_MS), fail_at=25)
    assert (result.status, result.restarts) == (JobStatus.FAILED, 0)


def test_python_api_reports_the_mode_in_effect() -> None:
    config = StreamExecutionEnvironment.get_execution_environment().get_checkpoint_config()
    config.set_min_pause_between_checkpoints(5).enable_unaligned_checkpoints()
    assert not config.is_checkpointing_enabled()
    assert config.get_checkpointing_mode() is CheckpointingMode.AT_LEAST_ONCE
    assert not config.is_unaligned_checkpoints_enabled()
    config.set_checkpoint_interval(100)
    assert config.get_checkpointing_mode() is CheckpointingMode.EXACTLY_ONCE
    assert config.is_unaligned_checkpoints_enabled()


def test_settings_in_effect_keep_what_does_not_depend_on_the_interval() -> None:
    settings = CheckpointSettings(timeout_ms=30, unaligned=True, retained=2)
    assert settings.in_effect() == replace(settings, exactly_once=False, unaligned=False)
    assert not settings.waits_for_final_checkpoint
    enabled = replace(settings, interval_ms=10)
    assert enabled.in_effect() is enabled
    assert enabled.waits_for_final_checkpoint
