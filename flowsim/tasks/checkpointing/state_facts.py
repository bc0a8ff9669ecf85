"""Records what an operator stored in a checkpoint or restored from it (table ``stored_state``)."""

from __future__ import annotations

from flowsim.facts.kinds import StoredAction
from flowsim.facts.tracer import TaskTrace
from flowsim.state.redistribution.operator_state import OperatorSubtaskState, StoredContent
from flowsim.state.snapshots.stored_contents import content_of
from flowsim.state.snapshots.stored_streams import CheckpointStreams


def record_state(
    trace: TaskTrace,
    operator: int,
    checkpoint: int,
    action: StoredAction,
    state: OperatorSubtaskState,
    streams: CheckpointStreams,
) -> tuple[StoredContent, ...]:
    """Records the content of one operator subtask's state; returns it."""
    found = tuple(
        StoredContent(part.kind, trace.fingerprint(None, part.state), part.key_group, *content)
        for part, content in content_of(state, streams.read).items()
    )
    record_contents(trace, operator, checkpoint, action, found)
    return found


def record_contents(
    trace: TaskTrace, operator: int, checkpoint: int, action: StoredAction, contents: tuple[StoredContent, ...]
) -> None:
    """Records contents that are known."""
    for each in contents:
        trace.checkpoints.state(operator, checkpoint, action, *each)
