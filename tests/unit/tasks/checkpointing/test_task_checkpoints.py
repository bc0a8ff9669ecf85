"""A task triggers, declines and confirms checkpoints, and waits for the last one (rules 4.15, 4.16, 12.4, 12.70-12.72)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Set
from types import SimpleNamespace

import pytest

from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.mailbox.mail import MIN_PRIORITY
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.outbox import Outbox
from flowsim.operators.stream_operator import OperatorInput
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.task_clock import TaskClock
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing, TaskRestore
from flowsim.tasks.checkpointing.task_checkpoints import CheckpointFailed, StopWithSavepointFailed, TaskCheckpoints
from flowsim.tasks.inputs.network_input import (
    CanEmitBatchOfRecordsChecker,
    StreamTaskNetworkInput,
    StreamTaskNetworkOutput,
)
from flowsim.tasks.inputs.record_deserializer import RecordDeserializer
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve
from tests.support.barriers import ALIGNED, UNALIGNED
from tests.support.checkpointing.subtask_checkpoints import CoordinatorPlay, Surroundings
from tests.support.operators.receiving import gate_of, remote, sent_back

SNAPSHOT = ["snapshot op2", "snapshot op1", "snapshot op0"]
STOP = CheckpointOptions(SnapshotType.SUSPEND, AlignmentType.ALIGNED)


class Later:
    """The time of the job: what it schedules runs at a command."""

    now_ns = 0
    actor_id = 0

    def __init__(self, play: CoordinatorPlay) -> None:
        self.play = play

    def call_at_ns(self, when_ns: int, callback: Callable[[], None], origin: Hashable) -> Surroundings:
        self.play.operations.append(SimpleNamespace(run=callback))  # type: ignore[arg-type]
        return self.play.around


class Task:
    """A task with real mails, over the chain and the surroundings of the golden file."""

    name = "map (1/1)"
    trace = None
    is_inside = True
    operators_inside_element: Set[int] = frozenset()

    def __init__(self, *, restored: int = -1, after_finish: bool = True, channels: int = 0) -> None:
        self.play = CoordinatorPlay(1)
        self.log = self.play.log
        self.mailbox = TaskMailbox(is_mailbox_thread=lambda: True)
        around = self.play.around
        self.clock, self.outbox, self.chain, self.writers = TaskClock(around.now_ns), Outbox(), self.play.chain, ()
        self.scheduler = self.timers = Later(self.play)
        self.input = None
        self.gates = [gate_of(channels)] if channels else []
        if channels:
            output = StreamTaskNetworkOutput(OperatorInput(), "head", 0, None)  # no record arrives
            valve = StatusWatermarkValve(channels, output)
            emits = CanEmitBatchOfRecordsChecker(self.clock, emits_batches=True)
            self.input = StreamTaskNetworkInput(self.gates[0], output, valve, RecordDeserializer(), emits, None)
        settings = CheckpointSettings(interval_ms=10, after_tasks_finish=after_finish)
        restore = None if restored < 0 else TaskRestore(restored)
        self.checkpoints = TaskCheckpoints(
            self,  # type: ignore[arg-type]  # the parts of a task that checkpoints use
            TaskCheckpointing(settings, around, around, restore),
            [self.gates] if channels else [],
        )

    @property
    def is_running(self) -> bool:
        return self.play.is_running

    def mailbox_executor(self, priority: int) -> MailboxExecutor:
        return MailboxExecutor(self.mailbox, priority, lambda _priority, _block: False)

    def wake(self) -> None:
        """The test looks itself."""

    def trigger(self, checkpoint_id: int, options: CheckpointOptions = ALIGNED) -> None:
        self.checkpoints.trigger_checkpoint(CheckpointMetaData(checkpoint_id, 990, 990), options)

    def run_mails(self, priority: int = MIN_PRIORITY) -> list[str]:
        """Runs all mails of at least this priority; returns their descriptions."""
        descriptions = []
        while (mail := self.mailbox.try_take(priority)) is not None:
            descriptions.append(mail.description)
            mail.run()
        return descriptions

    def taken(self) -> list[str]:
        log = [entry.rpartition(" ")[0] if entry.startswith("snapshot") else entry for entry in self.log]
        self.log.clear()
        return log


def test_source_takes_a_triggered_checkpoint_without_alignment() -> None:
    task = Task()
    task.trigger(1)
    assert task.log == []
    assert task.run_mails() == ["checkpoint 1"]
    assert task.taken() == ["prepare op0 1", "prepare op1 1", "prepare op2 1", "barrier 1 ALIGNED", *SNAPSHOT]


def test_trigger_of_an_unaligned_checkpoint_is_urgent() -> None:
    task = Task()
    task.trigger(1)
    task.trigger(2, UNALIGNED)
    assert task.run_mails() == ["checkpoint 2", "checkpoint 1"]


def test_task_with_open_channels_treats_them_as_aligned() -> None:
    """Rule 12.14: the plan triggers a task whose predecessors have finished."""
    task = Task(channels=2)
    task.trigger(1)
    task.run_mails()
    assert task.taken()[3:] == ["barrier 1 ALIGNED", *SNAPSHOT]
    assert [sent_back(remote(task.gates[0], index)) for index in range(2)] == [[], []]


def test_task_that_is_not_running_declines_and_cancels() -> None:
    task = Task()
    task.play.is_running = False
    task.trigger(1)
    task.run_mails()
    assert task.taken() == ["cancel_marker 1", "decline 1 CHECKPOINT_DECLINED_TASK_NOT_READY"]
    task.checkpoints.trigger_checkpoint_on_barrier(
        CheckpointMetaData(2, 1, 1), ALIGNED, CheckpointMetrics(Alignment(0, 0))
    )
    assert task.taken() == ["cancel_marker 2"]


def test_error_of_an_operator_fails_the_task() -> None:
    task = Task()
    task.play.fails_snapshot = 1
    task.trigger(1)
    with pytest.raises(CheckpointFailed, match=r"checkpoint 1 for operator map \(1/1\)") as failed:
        task.run_mails()
    assert isinstance(failed.value.__cause__, CheckpointException)
    task.play.fails_snapshot = 2
    with pytest.raises(CheckpointFailed, match="checkpoint 2"):
        task.checkpoints.trigger_checkpoint_on_barrier(
            CheckpointMetaData(2, 1, 1), ALIGNED, CheckpointMetrics(Alignment(0, 0))
        )


def test_notifications_run_inside_a_yield_and_each_completion_is_reported_once() -> None:
    """Rule 12.4: ids up to the restored one and repeated ones are ignored; an abort makes up for a lost completion."""
    task = Task(restored=3)
    task.trigger(7)
    for checkpoint in (3, 5, 5, 4):
        task.checkpoints.notify_checkpoint_complete(checkpoint)
    task.checkpoints.notify_checkpoint_aborted(8, 6)
    task.checkpoints.notify_checkpoint_aborted(9, 6)
    task.checkpoints.notify_checkpoint_subsumed(2)
    assert len(task.run_mails(priority=5)) == 7
    assert [entry for entry in task.log if "op0" in entry] == [
        *["complete op0 5", "complete op0 6", "aborted op0 8", "aborted op0 9"]
    ]
    assert task.run_mails() == ["checkpoint 7"]


def test_task_waits_for_the_first_checkpoint_after_its_end_of_data() -> None:
    task = Task()
    task.trigger(1)
    task.run_mails()
    task.checkpoints.on_end_of_data(is_drained=True)
    assert task.checkpoints.waits_for_final_checkpoint
    task.trigger(2)
    task.trigger(3)
    task.run_mails()
    assert task.checkpoints.final_checkpoint_min_id == 2
    task.checkpoints.notify_checkpoint_complete(1)
    task.run_mails()
    assert task.checkpoints.waits_for_final_checkpoint
    task.checkpoints.notify_checkpoint_complete(3)
    task.run_mails()
    assert not task.checkpoints.waits_for_final_checkpoint


def test_acknowledgement_says_whether_the_operators_had_finished() -> None:
    task = Task()
    for checkpoint in (1, 2):
        task.trigger(checkpoint)
        task.run_mails()
        task.play.play(["run_async"])
        task.checkpoints.on_end_of_data(is_drained=True)
    assert [snapshot.is_task_finished for snapshot in task.play.around.acknowledged] == [False, True]


def test_task_without_checkpoints_after_the_end_does_not_wait() -> None:
    task = Task(after_finish=False)
    task.checkpoints.on_end_of_data(is_drained=True)
    task.trigger(1)
    task.run_mails()
    assert not task.checkpoints.waits_for_final_checkpoint
    assert task.checkpoints.final_checkpoint_min_id is None


def test_stopped_task_waits_for_its_very_savepoint() -> None:
    task = Task()
    task.trigger(4, STOP)
    task.run_mails()
    assert task.checkpoints.waits_for_final_checkpoint
    task.checkpoints.notify_checkpoint_complete(3)
    task.run_mails()
    assert task.checkpoints.waits_for_final_checkpoint
    task.checkpoints.notify_checkpoint_complete(4)
    task.run_mails()
    assert not task.checkpoints.waits_for_final_checkpoint


def test_aborted_savepoint_of_a_stop_fails_the_task() -> None:
    task = Task()
    task.trigger(4, STOP)
    task.run_mails()
    cause = CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER)
    with pytest.raises(StopWithSavepointFailed):
        task.checkpoints.abort_checkpoint_on_barrier(4, cause)
    task.checkpoints.notify_checkpoint_aborted(4, 0)
    with pytest.raises(StopWithSavepointFailed):
        task.run_mails()
    task.taken()
    task.checkpoints.abort_checkpoint_on_barrier(5, cause)
    assert "decline 5 CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER" in task.taken()
