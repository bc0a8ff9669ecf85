"""A SubtaskCheckpointCoordinator over three operators under the commands of the golden file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from flowsim.network.channel_state_writer import ChannelStateWriter, ChannelStateWriteResult
from flowsim.network.checkpointing.checkpoint_metrics import Alignment, CheckpointMetaData, CheckpointMetrics
from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState
from flowsim.operators.stream_operator import StreamOperator
from flowsim.state.redistribution.operator_state import TaskStateSnapshot
from flowsim.state.snapshots.snapshot_contexts import StateSnapshotContext
from flowsim.state.snapshots.stored_streams import KeyedStateStream, StoredStream, TimerStream
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import AlignmentType, CheckpointOptions, SnapshotType
from flowsim.streamrecord.events import CancelCheckpointMarker, CheckpointBarrier, Event
from flowsim.tasks.checkpointing.async_checkpoint_runnable import AsyncOperation, AsyncOperations
from flowsim.tasks.checkpointing.stream_operator_state_handler import StreamOperatorStateHandler
from flowsim.tasks.checkpointing.subtask_checkpoint_coordinator import SubtaskCheckpointCoordinator
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper
from flowsim.tasks.task_state import TaskState
from flowsim.testing.harness import OneInputOperatorHarness

TIMEOUT_MS = 1_000_000_000
CHECKPOINT = SnapshotType.CHECKPOINT
OPTIONS = {
    "aligned": CheckpointOptions(CHECKPOINT, AlignmentType.ALIGNED),
    "timeoutable": CheckpointOptions(CHECKPOINT, AlignmentType.ALIGNED, TIMEOUT_MS),
    "unaligned": CheckpointOptions(CHECKPOINT, AlignmentType.UNALIGNED),
    "at_least_once": CheckpointOptions(CHECKPOINT, AlignmentType.AT_LEAST_ONCE),
}
OPTIONS |= {f"forced_{kind}": OPTIONS[kind].with_unaligned_unsupported() for kind in ("unaligned", "timeoutable")}


class Operator(StreamOperator):
    """Records its calls; a snapshot that fails to be written is a keyed state."""

    def __init__(self, name: str, play: CoordinatorPlay) -> None:
        self.name = name
        self.play = play

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        self.play.log.append(f"prepare {self.name} {checkpoint_id}")

    def snapshot_state(self, context: StateSnapshotContext) -> None:
        self.play.log.append(f"snapshot {self.name} {context.checkpoint_id}")
        if context.checkpoint_id == self.play.fails_snapshot and self.name == "op1":
            raise CheckpointException(CheckpointFailureReason.CHECKPOINT_DECLINED, "scripted")

    def snapshot_keyed_state(self) -> tuple[KeyedStateStream | None, TimerStream | None]:
        return KeyedStateStream({}) if self.play.failing_writes and self.name == "op1" else None, None

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._notified("complete", checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self._notified("aborted", checkpoint_id)

    def _notified(self, event: str, checkpoint_id: int) -> None:
        self.play.log.append(f"{event} {self.name} {checkpoint_id}")
        if checkpoint_id == self.play.fails_notification and self.name != "op1":
            raise IllegalState(self.name)


class ScriptedOperations(AsyncOperations):
    """Operations that run at a command."""

    def __init__(self, operations: deque[AsyncOperation]) -> None:
        self.operations = operations

    def execute(self, operation: AsyncOperation) -> None:
        self.operations.append(operation)


class Surroundings(ChannelStateWriter):
    """Everything around the coordinator; it records the calls under the names of the golden file."""

    now_ns = 1_000_000_000

    def __init__(self, play: CoordinatorPlay) -> None:
        self.play = play
        self.log = play.log
        self.acknowledged: list[TaskStateSnapshot] = []

    # The outputs.

    @property
    def partition(self) -> Surroundings:
        return self

    def broadcast_event(self, event: Event, is_priority: bool) -> None:
        match event:
            case CheckpointBarrier(checkpoint_id, _, options):
                priority = " priority" if is_priority else ""
                self.log.append(f"barrier {checkpoint_id} {options.alignment.name}{priority}")
            case CancelCheckpointMarker(checkpoint_id):
                self.log.append(f"cancel_marker {checkpoint_id}")

    def aligned_barrier_timeout(self, checkpoint_id: int) -> None:
        self.log.append(f"outputs_to_unaligned {checkpoint_id}")

    def abort_checkpoint(self, checkpoint_id: int) -> None:
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

    # The storage of streams.

    def write(self, checkpoint_id: int, operator_id: str, subtask: int, stream: StoredStream) -> str:
        if checkpoint_id in self.play.failing_writes:
            raise OSError("scripted")
        return ""

    def keeps(self, checkpoint_id: int) -> bool:
        return True

    def read(self, stream_id: str) -> StoredStream:
        raise NotImplementedError

    # The coordinator of the job.

    def notify_end_of_data(self) -> None:
        """The coordinator does not report it."""

    def update_task_execution_state(self, state: TaskState) -> None:
        """The coordinator does not report it."""

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

    # The task and its timers.

    @property
    def is_running(self) -> bool:
        return self.play.is_running

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
        self.chain = OperatorChain([self._wrapper(number) for number in range(3)], None)
        self.chain.writers = (around,)  # type: ignore[assignment]  # what a chain needs of an output
        pool = ScriptedOperations(self.operations)
        self.coordinator = SubtaskCheckpointCoordinator(
            self.chain, around.prepare_snapshot, around, pool, around, around, max_aborted
        )

    def _wrapper(self, number: int) -> OperatorWrapper:
        """An open operator, in the parts of a harness."""
        name = f"op{number}"
        each = OneInputOperatorHarness(Operator(name, self))
        each.context.operator_id = name
        wrapper = OperatorWrapper(each.operator, name, number, each.collected, each.mailbox, each.processing_time, 0)  # type: ignore[arg-type]  # the harness's own parts
        wrapper.is_open = True
        wrapper.state_handler = StreamOperatorStateHandler(each.operator, name, self.around)
        return wrapper

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
