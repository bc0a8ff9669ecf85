"""Records the checkpoints of a task: its steps, its measurements, and what it stored and restored (table checkpoint_steps)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import Protocol

from flowsim.facts.kinds import CheckpointReason, CheckpointStep, StoredAction
from flowsim.facts.tracer import TaskTrace
from flowsim.network.checkpointing.checkpoint_barrier_handler import CheckpointBarrierHandler
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.checkpointing.checkpointable import CheckpointableTask
from flowsim.network.checkpointing.input_gates import BarrierEventHandler
from flowsim.network.gates.input_channel import InputChannel
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, StoredContent, TaskStateSnapshot
from flowsim.state.snapshots.stored_streams import CheckpointStreams
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.streamrecord.events import CheckpointBarrier, Event
from flowsim.task_clock import TaskClock
from flowsim.tasks.checkpointing.job_master_gateway import TaskRestore
from flowsim.tasks.checkpointing.operator_chain_checkpoints import OperatorChainCheckpoints, OperatorSnapshotFutures
from flowsim.tasks.checkpointing.state_facts import (
    record_contents,
    record_state,
    waiting_committables,
)
from flowsim.tasks.checkpointing.state_size import size_of_states
from flowsim.tasks.operator_chain import OperatorChain, OperatorWrapper


class RecordedTask(Protocol):
    """What the recorded checkpoints need of their task."""

    clock: TaskClock
    chain: OperatorChain

    @property
    def operators_inside_element(self) -> Set[int]: ...


class RecordedAlignment:
    """Records the first and the last barrier of a checkpoint; is the task of the barrier handler."""

    __slots__ = ("_task", "_trace", "_latest", "channel_id", "handler")

    def __init__(self, task: CheckpointableTask, trace: TaskTrace) -> None:
        self._task = task
        self._trace = trace
        self._latest = -1
        self.channel_id = -1
        """The channel whose event is handled; -1: a call of the coordinator."""
        self.handler: CheckpointBarrierHandler | None = None
        """The barrier handler of the task, set when it is created."""

    def on_barrier(self, checkpoint_id: int) -> None:
        """Called before the handler gets a barrier."""
        if checkpoint_id > self._latest:
            self._latest = checkpoint_id
            self._trace.checkpoints.step(checkpoint_id, CheckpointStep.ALIGNMENT_START, self.channel_id)

    def _on_last_barrier(self, checkpoint_id: int, result: None, error: Exception | None) -> None:
        if error is None:
            self._trace.checkpoints.step(checkpoint_id, CheckpointStep.ALIGNMENT_END, self.channel_id)

    def trigger_checkpoint_on_barrier(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, metrics: CheckpointMetrics
    ) -> None:
        if options.is_unaligned_checkpoint and self.handler is not None:
            # The barriers of the other channels arrive later.
            received = self.handler.all_barriers_received(meta_data.checkpoint_id)
            received.when_complete(partial(self._on_last_barrier, meta_data.checkpoint_id))
        else:
            self._on_last_barrier(meta_data.checkpoint_id, None, None)
        self._task.trigger_checkpoint_on_barrier(meta_data, options, metrics)

    def abort_checkpoint_on_barrier(self, checkpoint_id: int, cause: CheckpointException) -> None:
        self._task.abort_checkpoint_on_barrier(checkpoint_id, cause)


class RecordedBarriers:
    """Passes the events of one input to the barrier handler, and knows the channel meanwhile."""

    __slots__ = ("_handler", "_alignment")

    def __init__(self, handler: BarrierEventHandler, alignment: RecordedAlignment) -> None:
        self._handler = handler
        self._alignment = alignment

    def process_event(self, channel: InputChannel, event: Event) -> None:
        alignment = self._alignment
        alignment.channel_id = channel.channel_id
        if isinstance(event, CheckpointBarrier):
            alignment.on_barrier(event.checkpoint_id)
        self._handler.process_event(channel, event)
        alignment.channel_id = -1

    def add_processed_bytes(self, size_bytes: int) -> None:
        self._handler.add_processed_bytes(size_bytes)


class RecordedChainCheckpoints(OperatorChainCheckpoints):
    """Records the synchronous part, what the operators then held, and the notifications."""

    __slots__ = ("task", "trace", "requested_ns")

    task: RecordedTask
    trace: TaskTrace
    requested_ns: dict[int, int]
    """When the task was asked for a checkpoint; only a source is asked before its synchronous part."""

    def snapshot_state(
        self, meta_data: CheckpointMetaData, options: CheckpointOptions, snapshots: dict[str, OperatorSnapshotFutures]
    ) -> None:
        self.trace.checkpoints.step(meta_data.checkpoint_id, CheckpointStep.SYNC_START)
        self._record_operators(meta_data.checkpoint_id)
        super().snapshot_state(meta_data, options, snapshots)
        self.trace.checkpoints.step(meta_data.checkpoint_id, CheckpointStep.SYNC_END)

    def _record_operators(self, checkpoint_id: int) -> None:
        requested_ns = self.requested_ns.pop(checkpoint_id, self.task.clock.now_ns)
        inside = self.task.operators_inside_element
        for wrapper in self.task.chain.wrappers:
            operator, place = wrapper.operator, wrapper.index
            if wrapper.is_open:
                elements = len(operator.held_elements())
                self.trace.checkpoints.snapshot(
                    place, requested_ns, checkpoint_id, operator.records_in, elements, place in inside
                )

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self.trace.checkpoints.step(checkpoint_id, CheckpointStep.NOTIFY_COMPLETE)
        super().notify_checkpoint_complete(checkpoint_id)

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        self.trace.checkpoints.step(checkpoint_id, CheckpointStep.NOTIFY_ABORTED)
        super().notify_checkpoint_aborted(checkpoint_id)

    def notify_checkpoint_subsumed(self, checkpoint_id: int) -> None:
        self.trace.checkpoints.step(checkpoint_id, CheckpointStep.NOTIFY_SUBSUMED)
        super().notify_checkpoint_subsumed(checkpoint_id)


class RecordedReports:
    """Records what a task reports to the job, and the states in it."""

    __slots__ = ("_trace", "_wrappers", "_streams")

    def __init__(self, trace: TaskTrace, wrappers: Sequence[OperatorWrapper], streams: CheckpointStreams) -> None:
        self._trace = trace
        self._wrappers = wrappers
        self._streams = streams

    def on_restore(self, restore: TaskRestore | None) -> None:
        """Called once per attempt, before the operators get their state; None: nothing is restored."""
        if restore is None:
            self._trace.checkpoints.step(-1, CheckpointStep.RESTORE)
            return
        checkpoint_id = restore.checkpoint_id
        self._trace.checkpoints.step(checkpoint_id, CheckpointStep.RESTORE)
        for action, contents in (
            (StoredAction.IN_SNAPSHOT, restore.contents),
            (StoredAction.IN_RESCALED_SNAPSHOT, restore.rescaled_contents),
        ):
            for wrapper in self._wrappers:
                of_operator = contents.get(wrapper.operator.ctx.operator_id, ())
                record_contents(self._trace, wrapper.index, checkpoint_id, action, of_operator)
        self._record(checkpoint_id, StoredAction.RESTORED, restore.states)

    def on_acknowledge(
        self, meta_data: CheckpointMetaData, metrics: CheckpointMetrics, snapshot: TaskStateSnapshot
    ) -> TaskStateSnapshot:
        """Returns the snapshot with what its states contain."""
        facts, checkpoint_id = self._trace.checkpoints, meta_data.checkpoint_id
        # Rule 12.3: what a task writes for a checkpoint that has been aborted meanwhile is not kept.
        states = snapshot.subtask_states if self._streams.keeps(checkpoint_id) else {}
        contents = self._record(checkpoint_id, StoredAction.STORED, states)
        facts.step(checkpoint_id, CheckpointStep.ASYNC_END)
        facts.metrics(
            checkpoint_id,
            metrics.start_delay_ns,
            metrics.alignment.duration_ns or 0,
            metrics.alignment.processed_bytes or 0,
            metrics.persisted_bytes,
            max(0, metrics.sync_duration_ms),
            max(0, metrics.async_duration_ms),
            size_of_states(list(states.values()), self._streams),
        )
        facts.step(checkpoint_id, CheckpointStep.ACKNOWLEDGE)
        described = {}
        for wrapper in self._wrappers:
            name = wrapper.operator.ctx.operator_id
            if name in contents:
                waiting = tuple(waiting_committables(wrapper.operator, states[name], self._streams))
                described[name] = replace(states[name], contents=(*contents[name], *waiting))
        return replace(snapshot, subtask_states={**snapshot.subtask_states, **described})

    def on_decline(self, checkpoint_id: int, cause: CheckpointException) -> None:
        reason = CheckpointReason[cause.reason.name]
        self._trace.checkpoints.step(checkpoint_id, CheckpointStep.DECLINE, reason=reason)

    def _record(
        self, checkpoint_id: int, action: StoredAction, states: Mapping[str, OperatorSubtaskState]
    ) -> dict[str, tuple[StoredContent, ...]]:
        """Returns the contents by operator id."""
        contents = {}
        for wrapper in self._wrappers:
            operator_id = wrapper.operator.ctx.operator_id
            state = states.get(operator_id)
            if state is not None:
                contents[operator_id] = record_state(
                    self._trace, wrapper.index, checkpoint_id, action, state, self._streams
                )
        return contents
