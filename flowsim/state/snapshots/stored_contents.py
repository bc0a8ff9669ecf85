"""What the states of an operator subtask contain, as counts and sums of fingerprints."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final, NamedTuple

from flowsim.facts.kinds import StoredKind
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.redistribution.operator_state import OperatorSubtaskState
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle
from flowsim.state.snapshots.stored_streams import (
    CheckpointStreams,
    KeyedStateStream,
    OperatorStateStream,
    StoredStream,
    TimerStream,
    size_of_stream,
)
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped

ReadStream = Callable[[str], StoredStream]

_LISTS: Final = {
    DistributionMode.SPLIT_DISTRIBUTE: StoredKind.LIST,
    DistributionMode.UNION: StoredKind.UNION_LIST,
    DistributionMode.BROADCAST: StoredKind.BROADCAST,
}


class StatePart(NamedTuple):
    """A state, or of keyed state and timers one key group of it (-1: operator state)."""

    kind: StoredKind
    state: str
    key_group: int


def content_of(state: OperatorSubtaskState, read: ReadStream) -> dict[StatePart, tuple[int, int]]:
    """Returns the number of entries of each part, and the sum of their fingerprints, in the order of parts."""
    sums: dict[StatePart, tuple[int, int]] = {}
    for part, entries in groupby(_entries(state, read), itemgetter(0)):
        fingerprints = [fingerprint(None, entry) for _, entry in entries]
        rows, total = sums.get(part, (0, 0))
        sums[part] = rows + len(fingerprints), wrapped(total + sum(fingerprints))
    return dict(sorted(sums.items()))


def size_of_states(states: Collection[OperatorSubtaskState], streams: CheckpointStreams) -> int:
    """Returns the size in bytes of all streams that the states name."""
    written = dict.fromkeys(handle.stream for state in states for handle in state.handles)
    return sum(size_of_stream(streams.read(stream)) for stream in written)


def _entries(state: OperatorSubtaskState, read: ReadStream) -> Iterator[tuple[StatePart, object]]:
    for keyed in (*state.managed_keyed, *state.raw_keyed):
        yield from _of_key_groups(read(keyed.stream), keyed.key_groups)
    for handle in (*state.managed_operator, *state.raw_operator):
        stream = read(handle.stream)
        if isinstance(stream, OperatorStateStream):
            yield from _of_lists(stream, handle)


def _of_key_groups(stream: StoredStream, key_groups: KeyGroupRange) -> Iterator[tuple[StatePart, object]]:
    if isinstance(stream, KeyedStateStream):
        for group in _within(stream.cells, key_groups):
            for state, cells in groupby(stream.cells[group], itemgetter(0)):
                part = StatePart(StoredKind.KEYED_STATE, state, group)
                for _, namespace, key, content in cells:
                    yield part, (namespace, key, content)
    elif isinstance(stream, TimerStream):
        for group in _within(stream.timers, key_groups):
            for timer in stream.timers[group]:
                kind = StoredKind.EVENT_TIME_TIMERS if timer.is_event_time else StoredKind.PROCESSING_TIME_TIMERS
                yield StatePart(kind, timer.service, group), (timer.timestamp, timer.key, timer.namespace)


def _within(groups: Iterable[int], key_groups: KeyGroupRange) -> list[int]:
    return [group for group in groups if key_groups.start <= group <= key_groups.end]


def _of_lists(stream: OperatorStateStream, handle: OperatorStateHandle) -> Iterator[tuple[StatePart, object]]:
    for name, described in handle.states.items():
        part = StatePart(_LISTS[described.mode], name, -1)
        for offset in described.offsets:
            element = stream.elements[offset]
            if described.mode is DistributionMode.BROADCAST and isinstance(element, tuple):
                yield from ((part, pair) for pair in element)
            else:
                yield part, element
