"""Records the checkpoints of a task: its steps, its measurements, and what it stored and restored.

Tables ``checkpoint_steps``, ``checkpoint_metrics``, ``stored_state``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from typing import Protocol, runtime_checkable

from flowsim.facts.kinds import CheckpointReason, CheckpointStep, StoredAction, StoredKind
from flowsim.facts.tracer import TaskTrace
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData, CheckpointMetrics
from flowsim.network.completion import Completion
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, StoredContent, TaskStateSnapshot
from flowsim.state.snapshots.stored_contents import content_of, size_of_states
from flowsim.state.snapshots.stored_streams import CheckpointStreams, OperatorStateStream
from flowsim.streamrecord.checkpoint_exception import CheckpointException
from flowsim.streamrecord.events import CheckpointBarrier, Event
from flowsim.tasks.checkpointing.job_master_gateway import TaskRestore
from flowsim.tasks.operator_chain import OperatorWrapper


@runtime_checkable
class CommittingOperator(Protocol):
    """An operator that commits what its state contains.

    A Protocol, because tasks do not import the connectors, which have these operators.
    """

    def committables_in(self, element: object) -> Iterator[int]:
        """Yields the numbers of the committables that an element of the operator's state still has to commit."""


class CheckpointObserver:
    """Records the checkpoints of one attempt of a task; a run that records nothing has no observer."""

    __slots__ = ("_trace", "_wrappers", "_streams", "_inside_element", "_requested_ns", "_latest", "_channel_id")

    def __init__(
        self,
        trace: TaskTrace,
        wrappers: Sequence[OperatorWrapper],
        streams: CheckpointStreams,
        inside_element: Callable[[], Set[int]],
    ) -> None:
        """``inside_element`` returns the operators that are inside an element, by index."""
        self._trace = trace
        self._wrappers = wrappers
        self._streams = streams
        self._inside_element = inside_element
        self._requested_ns: dict[int, int] = {}
        """When the task was asked for a checkpoint; only a source is asked before its synchronous part."""
        self._latest = -1
        self._channel_id = -1
        """The channel whose event is handled; -1: a call of the coordinator."""

    def step(self, checkpoint_id: int, step: CheckpointStep) -> None:
        """Records a step that has nothing but its time."""
        self._trace.checkpoints.step(checkpoint_id, step)

    def triggered(self, checkpoint_id: int, now_ns: int) -> None:
        """Called when the coordinator of the job triggers a checkpoint in the task."""
        self.step(checkpoint_id, CheckpointStep.TRIGGER)
        self._requested_ns[checkpoint_id] = now_ns

    # The alignment.

    def event_starts(self, channel_id: int, event: Event) -> None:
        """Called before the barrier handler gets an event of a channel; records the first barrier of a checkpoint."""
        self._channel_id = channel_id
        if isinstance(event, CheckpointBarrier) and event.checkpoint_id > self._latest:
            self._latest = event.checkpoint_id
            self._trace.checkpoints.step(event.checkpoint_id, CheckpointStep.ALIGNMENT_START, channel_id)

    def event_ends(self) -> None:
        """Called after the barrier handler has handled the event."""
        self._channel_id = -1

    def alignment_ends_with(self, checkpoint_id: int, last_barrier: Completion[None]) -> None:
        """Records the last barrier of a checkpoint when it arrives; a checkpoint that is aborted before has none."""

        def on_last_barrier(result: None, error: Exception | None) -> None:
            if error is None:
                self._trace.checkpoints.step(checkpoint_id, CheckpointStep.ALIGNMENT_END, self._channel_id)

        last_barrier.when_complete(on_last_barrier)

    # The synchronous part.

    def synchronous_part_starts(self, checkpoint_id: int, now_ns: int) -> None:
        """Records the start, and how many records and elements the operators have seen and hold then."""
        self.step(checkpoint_id, CheckpointStep.SYNC_START)
        requested_ns = self._requested_ns.pop(checkpoint_id, now_ns)
        inside = self._inside_element()
        for wrapper in self._wrappers:
            operator, place = wrapper.operator, wrapper.index
            if wrapper.is_open:
                elements = len(operator.held_elements())
                self._trace.checkpoints.snapshot(
                    place, requested_ns, checkpoint_id, operator.records_in, elements, place in inside
                )

    # Reports to the job, and the states in them.

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
                _record_contents(self._trace, wrapper.index, checkpoint_id, action, of_operator)
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
                waiting = tuple(_waiting_committables(wrapper.operator, states[name], self._streams))
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


def record_state(
    trace: TaskTrace,
    operator: int,
    checkpoint: int,
    action: StoredAction,
    state: OperatorSubtaskState,
    streams: CheckpointStreams,
) -> tuple[StoredContent, ...]:
    """Records the content of one operator subtask's state; returns it."""
    contents = tuple(
        StoredContent(part.kind, trace.fingerprint(None, part.state), part.key_group, *content)
        for part, content in content_of(state, streams.read).items()
    )
    _record_contents(trace, operator, checkpoint, action, contents)
    return contents


def _record_contents(
    trace: TaskTrace, operator: int, checkpoint: int, action: StoredAction, contents: tuple[StoredContent, ...]
) -> None:
    """Records contents that are known."""
    for each in contents:
        trace.checkpoints.state(operator, checkpoint, action, *each)


def _waiting_committables(
    operator: object, state: OperatorSubtaskState, streams: CheckpointStreams
) -> Iterator[StoredContent]:
    """Yields what a sink has stored in order to commit it later."""
    if not isinstance(operator, CommittingOperator):
        return
    for handle in state.managed_operator:
        stream = streams.read(handle.stream)
        if isinstance(stream, OperatorStateStream):
            for offset in (offset for described in handle.states.values() for offset in described.offsets):
                for number in operator.committables_in(stream.elements[offset]):
                    yield StoredContent(StoredKind.COMMITTABLE, number, -1, 1, 0)
