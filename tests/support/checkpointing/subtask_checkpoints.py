"""A SubtaskCheckpointCoordinator over three operators under the commands of the golden file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.state.redistribution.operator_state import NO_STATE, OperatorSubtaskState, TaskStateSnapshot
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier, Event
from flowsim.tasks.checkpointing.channel_state_writer import ChannelStateWriter, ChannelStateWriteResult
from flowsim.tasks.checkpointing.operator_chain_checkpoints import OperatorChainCheckpoints
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import AsyncOperation, SubtaskCheckpointCoordinator

TIMEOUT_MS = 1_000_000_000
CHECKPOINT = SnapshotType.CHECKPOINT
OPTIONS = {
    "aligned": CheckpointOptions(CHECKPOINT, AlignmentType.ALIGNED),
    "timeoutable": CheckpointOptions(CHECKPOINT, AlignmentType.ALIGNED, TIMEOUT_MS),
    "unaligned": CheckpointOptions(CHECKPOINT, AlignmentType.UNALIGNED),
    "at_least_once": CheckpointOptions(CHECKPOINT, AlignmentType.AT_LEAST_ONCE),
}
OPTIONS |= {f"forced_{kind}": OPTIONS[kind].with_unaligned_unsupported() for kind in ("unaligned", "timeoutable")}


class Snapshot:
    size_bytes = 0

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails

    def finalize(self) -> OperatorSubtaskState:
        if self.fails:
            raise OSError("scripted")
        return NO_STATE

    def cancel(self) -> None:
        """Nothing was copied."""


class Operator:
    def __init__(self, name: str, play: CoordinatorPlay) -> None:
        self.is_closed = False
        self.operator_id = name
        self.play = play

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        self.play.log.append(f"prepare {self.operator_id} {checkpoint_id}")

    def snapshot_state(self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions) -> Snapshot:
        self.play.log.append(f"snapshot {self.operator_id} {checkpoint_id}")
        if checkpoint_id == self.play.fails_snapshot and self.operator_id == "op1":
            raise CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED, "scripted")
        return Snapshot(fails=checkpoint_id in self.play.failing_writes and self.operator_id == "op1")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._notified("complete", checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._notified("aborted", checkpoint_id)

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        """The operators of the oracle do not record it."""

    def _notified(self, event: str, checkpoint_id: int) -> None:
        self.play.log.append(f"{event} {self.operator_id} {checkpoint_id}")
        if checkpoint_id == self.play.fails_notification and self.operator_id != "op1":
            raise IllegalState(self.operator_id)


class Surroundings:
    """Everything around the coordinator; it records the calls under the names of the golden file."""

    now_ns = 1_000_000_000

    def __init__(self, play: CoordinatorPlay) -> None:
        self.play = play
        self.log = play.log
        self.acknowledged: list[TaskStateSnapshot] = []

    # The outputs.

    def broadcast_event(self, event: Event, *, is_priority: bool) -> None:
        match event:
            case CheckpointBarrier(checkpoint_id, _, options):
                priority = " priority" if is_priority else ""
                self.log.append(f"barrier {checkpoint_id} {options.alignment.name}{priority}")
            case CancelCheckpointMarker(checkpoint_id):
                self.log.append(f"cancel_marker {checkpoint_id}")

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        self.log.append(f"outputs_to_unaligned {checkpoint_id}")

    def abort_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        self.log.append(f"abort_outputs {checkpoint_id}")

    def send_acknowledge_checkpoint_event(self, checkpoint_id: int) -> None:
        """The operators of the oracle have no coordinators."""

    # The channel state.

    def start(self, checkpoint_id: int, options: CheckpointOptions) -> None:
        self.log.append(f"channel start {checkpoint_id}")

    def finish_input(self, checkpoint_id: int) -> None:
        self.log.append(f"channel finishInput {checkpoint_id}")

    def finish_output(self, checkpoint_id: int) -> None:
        self.log.append(f"channel finishOutput {checkpoint_id}")

    def abort(self, checkpoint_id: int, cause: Exception, *, cleanup: bool) -> None:
        self.log.append(f"channel abort {checkpoint_id} {str(cleanup).lower()}")

    def get_and_remove_write_result(self, checkpoint_id: int) -> ChannelStateWriteResult:
        self.log.append(f"channel take {checkpoint_id}")
        result = ChannelStateWriteResult(Completion(), Completion())
        match self.play.failing_channels.get(checkpoint_id):
            case ("inputs", error):
                result.input_channels.complete_exceptionally(error)
            case ("outputs", error):
                result.result_subpartitions.complete_exceptionally(error)
        result.input_channels.complete(None)
        result.result_subpartitions.complete(None)
        return result

    def prepare_snapshot(self, writer: ChannelStateWriter, checkpoint_id: int) -> Completion[None]:
        self.log.append(f"prepare_inputs {checkpoint_id}")
        return self.play.inputs.setdefault(checkpoint_id, Completion())

    # The coordinator of the job.

    def report_task_state_snapshots(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> None:
        self.acknowledged.append(snapshot)
        self.log.append(f"ack {meta_data.checkpoint_id}")

    def report_incomplete_task_state_snapshots(self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics) -> None:
        self.log.append(f"incomplete {meta_data.checkpoint_id}")

    def decline_checkpoint(self, checkpoint_id: int, cause: CheckpointException) -> None:
        self.log.append(f"decline {checkpoint_id} {cause.reason.name}")

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.log.append(f"local_complete {checkpoint_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.log.append(f"local_aborted {checkpoint_id}")

    # The task, its pool and its timers.

    @property
    def is_running(self) -> bool:
        return self.play.is_running

    def execute(self, operation: AsyncOperation) -> None:
        self.play.operations.append(operation)

    def register_task(self, callback: Callable[[], None], delay_ms: int) -> Surroundings:
        self.log.append("timer")
        self.play.timer = callback
        return self

    def cancel(self) -> None:
        if self.play.timer is not None:
            self.play.timer = None
            self.log.append("timer_cancel")


class CoordinatorPlay:
    def __init__(self, max_aborted: int) -> None:
        self.log: list[str] = []
        self.inputs: dict[int, Completion[None]] = {}
        self.operations: deque[AsyncOperation] = deque()
        self.is_running = True
        self.fails_snapshot = -1
        self.fails_notification = -1
        self.failing_writes: set[int] = set()
        self.failing_channels: dict[int, tuple[str, Exception]] = {}
        self.timer: Callable[[], None] | None = None
        around = self.around = Surroundings(self)
        chain = OperatorChainCheckpoints([Operator(f"op{i}", self) for i in range(3)], around, around)
        self.coordinator = SubtaskCheckpointCoordinator(
            chain, around, around, around, around, around, around, around, max_aborted
        )

    def play(self, command: Sequence[Any]) -> None:
        coordinator = self.coordinator
        match list(command):
            case ["init_inputs", checkpoint, kind]:
                coordinator.init_inputs_checkpoint(checkpoint, OPTIONS[kind])
            case ["snapshot_will_fail", checkpoint]:
                self.fails_snapshot = checkpoint
            case ["checkpoint", checkpoint, kind]:
                meta_data = CheckpointMetaData(checkpoint, 1000, 1000)
                metrics = CheckpointMetrics(Alignment(0, 0), 0)
                coordinator.checkpoint_state(meta_data, OPTIONS[kind], metrics, is_task_finished=False)
            case ["run_async"]:
                if self.operations:
                    self.operations.popleft().run()
            case ["channels_will_fail", checkpoint, side, cause]:
                subsumed = CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED_SUBSUMED)
                self.failing_channels[checkpoint] = (side, subsumed if cause == "reason" else IllegalState("scripted"))
            case ["complete", checkpoint]:
                coordinator.notify_checkpoint_complete(checkpoint)
            case ["aborted", checkpoint]:
                coordinator.notify_checkpoint_aborted(checkpoint)
            case ["abort_on_barrier", checkpoint]:
                reason = CheckpointFailureReason.CHECKPOINT_DECLINED_ON_CANCELLATION_BARRIER
                coordinator.abort_checkpoint_on_barrier(checkpoint, CheckpointException(reason))
            case ["inputs_done", checkpoint]:
                if checkpoint in self.inputs:
                    self.inputs[checkpoint].complete(None)
            case ["fire_timer"]:
                timer, self.timer = self.timer, None
                if timer is not None:
                    timer()
            case ["write_will_fail", checkpoint]:
                self.failing_writes.add(checkpoint)
            case ["notification_will_fail", checkpoint]:
                self.fails_notification = checkpoint
            case ["subsumed", checkpoint]:
                coordinator.notify_checkpoint_subsumed(checkpoint)
            case ["inputs_fail", checkpoint]:
                if checkpoint in self.inputs:
                    self.inputs[checkpoint].complete_exceptionally(IllegalState("scripted"))
            case ["close"]:
                coordinator.close()
            case ["running", is_running]:
                self.is_running = is_running
            case _:
                raise AssertionError(f"unknown command {command}")
