"""Jobs whose tasks, task managers or job manager fail: what restarts, and that results are those of an undisturbed run."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.cluster.failures import FailTask, LoseJobManager, LoseTaskManager, RunFailure
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.job_master.job_checkpoints import JobCheckpoints
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import StopWithSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment, WindowFunction
from flowsim.datastream.common import Time
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.datastream.window import TimeWindow, TumblingEventTimeWindows
from flowsim.errors import BadInput
from flowsim.facts.checkpoint_tables import RESTARTS
from flowsim.facts.kinds import Level, RestartAction
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    FixedDelayRestart,
    RestartStrategySettings,
)
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS

RECORDS = 40
SOURCE, SUMS, SINK = "Source: numbers", "Keyed Reduce", "Sink: Unnamed"
TASK_MANAGERS = {"left": [SOURCE], "right": [SUMS, SINK, "Sink: Unnamed: Committer"]}


def run(
    *failures: RunFailure,
    restart: RestartStrategySettings | None = FixedDelayRestart(10, 3),  # noqa: B008
    checkpoints: CheckpointSettings | None = CheckpointSettings(10),  # noqa: B008
    recorder: MemoryRecorder | None = None,
    actions: tuple[StopWithSavepoint, ...] = (),
    **options: object,
) -> tuple[JobExecutionResult, list[object]]:
    """source -> sums of keys (2) -> sink; returns the committed sums."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.checkpointing, env.settings.restart_strategy = checkpoints, restart
    source = GeneratorSource(RECORDS, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers")
    counted = (
        stream.key_by(lambda row: row[0] % 7, key_type=None).reduce(lambda a, b: (a[0] + b[0],)).set_parallelism(2)
    )
    sink = CollectSink()
    counted.sink_to(sink)
    chosen = RunOptions(failures=failures, recorder=recorder, actions=actions, **options)  # type: ignore[arg-type]
    result = MiniCluster(env.stream_graph(), chosen).run()
    return result, sorted(sink.values())


def sums() -> list[object]:
    totals: dict[int, int] = {}
    rows = []
    for n in range(RECORDS):
        totals[n % 7] = totals.get(n % 7, 0) + n
        rows.append((totals[n % 7],))
    return sorted(rows)


@pytest.mark.parametrize(
    "failure",
    [
        FailTask(SOURCE, at_record=17),
        FailTask(SUMS, 1, at_record=9),
        FailTask(SINK, at_record=0),
        FailTask(SOURCE, at_ns=17 * NS_PER_MS),
        FailTask(SUMS, at_ns=0),
        FailTask(SUMS, in_snapshot=2),
        FailTask(SOURCE, in_snapshot=1),
        FailTask(SINK, in_notification=2),
        FailTask(SOURCE, in_notification=1),
        LoseJobManager(25 * NS_PER_MS),
    ],
)
def test_job_restarts_once_and_commits_what_an_undisturbed_job_commits(failure: RunFailure) -> None:
    result, rows = run(failure)
    assert result.status is JobStatus.FINISHED, result.error
    assert rows == sums()
    assert len(result.failures) == 1
    assert [attempt.number for attempt in result.attempts] == [0, 1] * 4
    assert [attempt.state for attempt in result.attempts[1::2]] == ["FINISHED"] * 4


def test_time_of_a_failure_counts_from_the_start_of_the_job() -> None:
    result, _ = run(LoseJobManager(25 * NS_PER_MS))
    assert [failure.time_ns for failure in result.failures] == [25 * NS_PER_MS]


def test_failed_attempt_has_the_error_and_the_others_are_canceled() -> None:
    """Rules 12.28 and 12.123: one region restarts after the delay."""
    result, _ = run(FailTask(SUMS, 1, at_record=3))
    states = [(one.task, one.state, one.error) for one in result.attempts if one.number == 0]
    error = "RequestedFailure: Keyed Reduce (2/2) fails at record 3, as the run asks for"
    assert [(state, why) for task, state, why in states if task == "Keyed Reduce (2/2)"] == [("FAILED", error)]
    assert [state for task, state, _ in states if task != "Keyed Reduce (2/2)"] == ["CANCELED"] * 3
    [failure] = result.failures
    assert (failure.task, failure.error, failure.restart_delay_ms) == ("Keyed Reduce (2/2)", error, 3)
    assert len(failure.restarted) == 4
    assert result.restarts == 1


def test_job_that_exhausts_its_strategy_fails_with_all_attempts() -> None:
    """Rule 12.125: three restarts, the fourth failure is final."""
    failures = [FailTask(SOURCE, at_record=5, attempt=attempt) for attempt in range(4)]
    result, rows = run(*failures, restart=FixedDelayRestart(3, 1))
    assert result.status is JobStatus.FAILED
    assert [one.state for one in result.attempts if one.task.startswith(SOURCE)] == ["FAILED"] * 4
    assert [bool(one.restarted) for one in result.failures] == [True, True, True, False]
    assert result.restarts == 3
    assert set(rows) <= set(sums())


def test_job_without_checkpoints_does_not_restart_unless_a_strategy_says_so() -> None:
    """Rule 12.29: its records are read again from the start, so results occur twice."""
    result, _ = run(FailTask(SOURCE, at_record=5), restart=None, checkpoints=None)
    assert (result.status, result.restarts, len(result.failures)) == (JobStatus.FAILED, 0, 1)
    again, rows = run(FailTask(SOURCE, at_record=5), checkpoints=None)
    assert (again.status, again.restarts) == (JobStatus.FINISHED, 1)
    assert set(rows) == set(sums())


def test_failure_of_a_later_attempt_happens_in_that_attempt_only() -> None:
    result, rows = run(FailTask(SUMS, at_record=2), FailTask(SUMS, at_record=0, attempt=1))
    assert rows == sums()
    assert [one.state for one in result.attempts if one.task == "Keyed Reduce (1/2)"] == [
        "FAILED",
        "FAILED",
        "FINISHED",
    ]


@pytest.mark.parametrize(
    ("failure", "message"),
    [
        (FailTask("absent", at_record=1), "failures: no task or operator 'absent'; there are: Source: numbers"),
        (FailTask(SUMS, 2, at_record=1), "subtask: expected 0 to 1, got 2"),
        (LoseTaskManager("absent", 5), "failures: no task manager 'absent'; there are: "),
    ],
)
def test_failures_of_unknown_things_are_refused(failure: RunFailure, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        run(failure)


def test_same_failures_give_the_same_recording() -> None:
    rows = []
    for _ in range(2):
        recorder = MemoryRecorder(Level.FULL)
        run(FailTask(SUMS, in_snapshot=2), LoseJobManager(30 * NS_PER_MS), recorder=recorder, policy="random", seed=4)
        rows.append(
            {name: recorder.rows(name) for name in ("sent", "received", "lifecycle", "checkpoints", "restarts")}
        )
    assert rows[0] == rows[1]


def test_task_that_fails_behind_the_savepoint_of_a_stop_fails_the_job() -> None:
    """Rule 12.138: the savepoint is complete, so that the job does not restart."""
    result, rows = run(FailTask(SINK, in_notification=2), actions=(StopWithSavepoint(15 * NS_PER_MS),))
    assert result.status is JobStatus.FAILED
    assert "corresponding job failed during stopping" in str(result.error)
    [request] = result.requested_snapshots
    assert request.error is not None
    assert "A savepoint has been created at: memory:savepoint-2, but the corresponding job failed" in request.error
    assert len(rows) < RECORDS


def test_error_in_the_job_manager_fails_the_job(monkeypatch: pytest.MonkeyPatch) -> None:
    def acknowledge(*_: object) -> None:
        raise RuntimeError("an error of the job manager")

    monkeypatch.setattr(JobCheckpoints, "acknowledge", acknowledge)
    result, _ = run()
    assert result.status is JobStatus.FAILED
    assert "an error of the job manager" in str(result.error)


def test_restart_that_a_later_failure_took_over_does_not_delay_the_end() -> None:
    """The tasks wait 300 ms for their restart; a new job manager restarts them at once."""
    losses = FailTask(SUMS, at_ns=12 * NS_PER_MS), LoseJobManager(20 * NS_PER_MS)
    result, rows = run(*losses, restart=FixedDelayRestart(1, 300))
    assert (result.status, rows) == (JobStatus.FINISHED, sums())
    assert result.elapsed_ns < 100 * NS_PER_MS
    assert result.checkpoints is not None
    assert result.checkpoints.completed > 3


class Listed(WindowFunction[tuple[int], tuple[int, ...], int, TimeWindow]):
    def apply(self, key: int, window: TimeWindow, inputs: Iterable[tuple[int]]) -> list[tuple[int, ...]]:
        return [tuple(value[0] for value in inputs)]


def test_checkpoint_in_memory_is_restored_three_times_without_what_came_between() -> None:
    """The operator adds records to the lists of its restored windows; the checkpoint does not change (rule 12.66)."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.settings.checkpointing, env.settings.restart_strategy = (
        CheckpointSettings(10, min_pause_ms=10),
        FixedDelayRestart(3, 3),
    )
    source = GeneratorSource(20, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
    ascending = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda row, _: row[0])
    keyed = env.from_source(source, ascending, "numbers").key_by(lambda row: row[0] % 2, key_type=None)
    sink = CollectSink()
    keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(100))).apply(Listed()).name("lists").sink_to(sink)
    failures = [FailTask("lists", at_record=record, attempt=n) for n, record in enumerate([15, 3, 3])]
    result = MiniCluster(env.stream_graph(), RunOptions(failures=tuple(failures))).run()
    assert (result.status, result.restarts) == (JobStatus.FINISHED, 3)
    assert sorted(sink.values()) == [tuple(range(0, 20, 2)), tuple(range(1, 20, 2))]


def test_no_task_restarts_when_all_tasks_of_a_stopped_job_have_ended() -> None:
    """Rule 12.138: the job fails first, also if the delay of the restart has passed before."""
    recorder = MemoryRecorder(Level.FULL)
    stop, failure = StopWithSavepoint(15 * NS_PER_MS), FailTask(SINK, in_notification=2)
    result, _ = run(failure, actions=(stop,), restart=FixedDelayRestart(10, 0), recorder=recorder)
    assert result.status is JobStatus.FAILED
    actions = [row[RESTARTS.names.index("action")] for row in recorder.rows("restarts")]
    assert RestartAction.RESTART not in actions
