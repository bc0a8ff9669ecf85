"""Records what an operator stored in a checkpoint or restored from it (table ``stored_state``)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from flowsim.facts.kinds import StoredAction, StoredKind
from flowsim.facts.tracer import TaskTrace
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, StoredContent
from flowsim.state.snapshots.stored_contents import content_of
from flowsim.state.snapshots.stored_streams import CheckpointStreams, OperatorStateStream


@runtime_checkable
class CommittingOperator(Protocol):
    """An operator that commits what its state contains."""

    def committables_in(self, element: object) -> Iterator[int]:
        """Yields the numbers of the committables that an element of the operator's state still has to commit."""


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
    record_contents(trace, operator, checkpoint, action, contents)
    return contents


def record_contents(
    trace: TaskTrace, operator: int, checkpoint: int, action: StoredAction, contents: tuple[StoredContent, ...]
) -> None:
    """Records contents that are known."""
    for each in contents:
        trace.checkpoints.state(operator, checkpoint, action, *each)


def waiting_committables(
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
