"""Records what an operator stored in a checkpoint or restored from it, as counts and sums of fingerprints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from flowsim.facts.kinds import StoredAction, StoredKind
from flowsim.facts.tracer import TaskTrace
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle
from flowsim.state.snapshots.stored_streams import (
    CheckpointStreams,
    KeyedStateStream,
    OperatorStateStream,
    StoredStream,
    TimerStream,
)
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped

_LISTS: Final = {
    DistributionMode.SPLIT_DISTRIBUTE: StoredKind.LIST,
    DistributionMode.UNION: StoredKind.UNION_LIST,
    DistributionMode.BROADCAST: StoredKind.BROADCAST,
}


class _Part(NamedTuple):
    kind: StoredKind
    state: str
    key_group: int


def record_state(
    trace: TaskTrace,
    operator: int,
    checkpoint: int,
    action: StoredAction,
    state: OperatorSubtaskState,
    streams: CheckpointStreams,
) -> None:
    """Records the content of one operator subtask's state (table ``stored_state``)."""
    sums: dict[_Part, tuple[int, int]] = {}
    for part, entry in _entries(state, streams):
        rows, total = sums.get(part, (0, 0))
        sums[part] = rows + 1, wrapped(total + fingerprint(None, entry))
    for part in sorted(sums):
        name = trace.fingerprint(None, part.state)
        trace.checkpoints.state(operator, checkpoint, action, part.kind, name, part.key_group, *sums[part])


def _entries(state: OperatorSubtaskState, streams: CheckpointStreams) -> Iterator[tuple[_Part, object]]:
    for keyed in (*state.managed_keyed, *state.raw_keyed):
        yield from _of_key_groups(streams.read(keyed.stream), keyed.key_groups)
    for handle in (*state.managed_operator, *state.raw_operator):
        stream = streams.read(handle.stream)
        if isinstance(stream, OperatorStateStream):
            yield from _of_lists(stream, handle)


def _of_key_groups(stream: StoredStream, key_groups: KeyGroupRange) -> Iterator[tuple[_Part, object]]:
    if isinstance(stream, KeyedStateStream):
        for group in _within(stream.cells, key_groups):
            for cell in stream.cells[group]:
                yield _Part(StoredKind.KEYED_STATE, cell.state, group), (cell.namespace, cell.key, cell.content)
    elif isinstance(stream, TimerStream):
        for group in _within(stream.timers, key_groups):
            for timer in stream.timers[group]:
                kind = StoredKind.EVENT_TIME_TIMERS if timer.is_event_time else StoredKind.PROCESSING_TIME_TIMERS
                yield _Part(kind, timer.service, group), (timer.timestamp, timer.key, timer.namespace)


def _within(groups: Iterable[int], key_groups: KeyGroupRange) -> list[int]:
    return [group for group in groups if key_groups.start <= group <= key_groups.end]


def _of_lists(stream: OperatorStateStream, handle: OperatorStateHandle) -> Iterator[tuple[_Part, object]]:
    for name, described in handle.states.items():
        part = _Part(_LISTS[described.mode], name, -1)
        for offset in described.offsets:
            element = stream.elements[offset]
            if described.mode is DistributionMode.BROADCAST and isinstance(element, tuple):
                yield from ((part, pair) for pair in element)
            else:
                yield part, element
