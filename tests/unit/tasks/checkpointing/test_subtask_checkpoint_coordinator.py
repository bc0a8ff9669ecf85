"""The asynchronous part, finished tasks, closed operators and the end of a task (rules 12.7, 12.8, 12.65-12.69)."""

from __future__ import annotations

import pytest

from flowsim.network.channel_state_writer import NO_OP, ChannelStateWriteResult
from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.operator_state import (
    FINISHED_ON_RESTORE,
    NO_STATE,
    OperatorSubtaskState,
    TaskStateSnapshot,
)
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.tasks.checkpointing.async_checkpoint_runnable import AsyncCheckpointRunnable, reason_of
from flowsim.tasks.checkpointing.stream_operator_state_handler import OperatorSnapshotFutures
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import AbortedCheckpoints
from flowsim.units import NS_PER_MS
from tests.support.barriers import ALIGNED
from tests.support.checkpointing.subtask_checkpoints import CoordinatorPlay

META_DATA = CheckpointMetaData(7, 1000, 1000)


class Snapshot(OperatorSnapshotFutures):
    def __init__(self, *, fails: bool) -> None:
        self.fails = fails

    def finalize(self) -> OperatorSubtaskState:
        if self.fails:
            raise OSError("scripted")
        return NO_STATE

    def cancel(self) -> None:
        """Nothing was copied."""


class Fixture:
    """A coordinator whose surroundings record what they get."""

    def __init__(self) -> None:
        self.play = CoordinatorPlay(1)
        self.around = self.play.around
        self.metrics = CheckpointMetrics(Alignment(0, 0), 0)

    def runnable(
        self,
        channel_state: ChannelStateWriteResult | None = None,
        *,
        fails: bool = False,
        is_deployed_as_finished: bool = False,
        is_task_finished: bool = False,
    ) -> AsyncCheckpointRunnable:
        return AsyncCheckpointRunnable(
            META_DATA,
            self.metrics,
            {"op": Snapshot(fails=fails)},
            channel_state or ChannelStateWriteResult.empty(),
            self.around,
            self.around,
            lambda runnable: self.play.log.append("finished"),
            is_deployed_as_finished=is_deployed_as_finished,
            is_task_finished=is_task_finished,
        )


def test_runnable_reports_state_and_the_time_since_its_creation() -> None:
    fixture = Fixture()
    runnable = fixture.runnable(is_task_finished=True)
    fixture.around.now_ns += 5 * NS_PER_MS
    runnable.run()
    assert fixture.play.log == ["ack 7", "finished"]
    assert fixture.around.acknowledged == [TaskStateSnapshot({"op": NO_STATE}, is_task_finished=True)]
    assert fixture.metrics.async_duration_ms == 5


def test_task_restored_as_finished_reports_no_state() -> None:
    fixture = Fixture()
    fixture.runnable(is_deployed_as_finished=True).run()
    assert fixture.around.acknowledged == [FINISHED_ON_RESTORE]


def test_runnable_is_ready_when_channel_state_is_stored() -> None:
    inputs: Completion[None] = Completion()
    outputs: Completion[None] = Completion()
    runnable = Fixture().runnable(ChannelStateWriteResult(inputs, outputs))
    inputs.complete(None)
    assert not runnable.is_ready
    outputs.complete(None)
    assert runnable.is_ready


def test_failed_channel_state_declines_with_its_reason() -> None:
    fixture = Fixture()
    inputs: Completion[None] = Completion()
    inputs.complete_exceptionally(CheckpointException(CheckpointFailureReason.CHECKPOINT_SUBSUMED))
    fixture.runnable(ChannelStateWriteResult(inputs, Completion.completed())).run()
    assert fixture.play.log == ["decline 7 CHECKPOINT_SUBSUMED", "finished"]


def test_failed_write_of_a_task_that_has_ended_is_not_declined() -> None:
    fixture = Fixture()
    fixture.play.is_running = False
    fixture.runnable(fails=True).run()
    assert fixture.play.log == ["finished"]


def test_closed_runnable_reports_incomplete_statistics_once() -> None:
    fixture = Fixture()
    runnable = fixture.runnable(fails=True)
    runnable.close()
    runnable.close()
    runnable.run()
    assert fixture.play.log == ["incomplete 7", "finished"]


def test_reason_is_that_of_the_first_checkpoint_exception_among_the_causes() -> None:
    error = OSError("disk")
    assert reason_of(error) is CheckpointFailureReason.CHECKPOINT_ASYNC_EXCEPTION
    error.__cause__ = CheckpointException(CheckpointFailureReason.CHECKPOINT_EXPIRED)
    assert reason_of(error) is CheckpointFailureReason.CHECKPOINT_EXPIRED


def test_coordinator_has_pending_checkpoints_until_they_ran() -> None:
    play = CoordinatorPlay(1)
    play.play(["checkpoint", 1, "aligned"])
    assert play.coordinator.has_pending_checkpoints
    play.play(["run_async"])
    assert not play.coordinator.has_pending_checkpoints


def test_checkpoint_after_the_end_is_discarded() -> None:
    play = CoordinatorPlay(1)
    play.play(["close"])
    play.play(["checkpoint", 1, "aligned"])
    play.log.clear()
    play.play(["run_async"])
    assert play.log == []
    assert not play.coordinator.has_pending_checkpoints


def test_closed_operators_are_skipped_except_by_aborts() -> None:
    play = CoordinatorPlay(1)
    chain = play.chain
    chain.wrappers[1].is_open = False
    snapshots: dict[str, OperatorSnapshotFutures] = {}
    chain.prepare_snapshot_pre_barrier(7)
    chain.snapshot_state(META_DATA, snapshots)
    chain.notify_checkpoint_complete(7)
    chain.notify_checkpoint_aborted(7)
    assert list(snapshots) == ["op2", "op0"]
    assert play.log == [
        *["prepare op0 7", "prepare op2 7", "snapshot op2 7", "snapshot op0 7"],
        *["complete op2 7", "complete op0 7", "aborted op2 7", "aborted op1 7", "aborted op0 7"],
    ]


def test_first_error_of_a_notification_is_raised_after_all_operators() -> None:
    play = CoordinatorPlay(1)
    play.fails_notification = 3
    with pytest.raises(IllegalState, match="op2"):
        play.play(["complete", 3])
    assert play.log == ["complete op2 3", "complete op1 3", "complete op0 3", "local_complete 3"]


def test_writer_of_a_job_without_unaligned_checkpoints_stores_nothing() -> None:
    writer = NO_OP
    writer.start(1, ALIGNED)
    writer.finish_input(1)
    writer.finish_output(1)
    writer.abort(1, IllegalState("aborted"), cleanup=True)
    result = writer.get_and_remove_write_result(1)
    assert result.input_channels.is_done
    assert result.result_subpartitions.is_done


def test_memory_of_aborted_checkpoints_drops_the_oldest_and_knows_old_ones() -> None:
    aborted = AbortedCheckpoints(2)
    for checkpoint in (5, 6, 7, 6):
        aborted.add(checkpoint)
    assert [checkpoint for checkpoint in range(3, 9) if aborted.check_and_clear(checkpoint)] == [3, 4, 6, 7]
    assert not aborted.check_and_clear(6)


def test_memory_forgets_in_order_of_insertion_up_to_the_first_that_is_not_smaller() -> None:
    aborted = AbortedCheckpoints(10)
    for checkpoint in (4, 9, 5):
        aborted.add(checkpoint)
    aborted.forget_below(8)
    assert [checkpoint for checkpoint in (4, 5, 9) if aborted.check_and_clear(checkpoint)] == [5, 9]
