"""The states in a checkpoint directory, and their entries, for people and other tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from flowsim.checkpoints.storage.directory.manifest import (
    StoredChannelHandle,
    StoredOperator,
    StoredSubtask,
    StreamRows,
)
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.checkpoints.storage.directory.table_reader import StateRows
from flowsim.checkpoints.storage.directory.tables import readable_state
from flowsim.state.redistribution.operator_state_handle import DistributionMode
from flowsim.state.snapshots.stored_streams import ChannelStateStream, KeyedStateStream, StoredStream, TimerStream

COORDINATOR = "coordinator"

_KINDS = {
    DistributionMode.SPLIT_DISTRIBUTE: "list",
    DistributionMode.UNION: "union list",
    DistributionMode.BROADCAST: "broadcast",
}


@dataclass(frozen=True, slots=True)
class StoredState:
    """One state of one subtask. ``subtask`` None: the state of the operator's coordinator."""

    operator_id: str
    operator: str
    subtask: int | None
    state: str
    kind: str
    entries: int
    bytes: int
    """The size of the encoded namespaces, keys and values."""


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One cell, timer or element. ``timestamp_ms``: of a timer."""

    operator_id: str
    operator: str
    subtask: int | None
    state: str
    kind: str
    value: object = None
    key_group: int | None = None
    key: object = None
    namespace: object = None
    timestamp_ms: int | None = None


def stored_states(snapshot: StoredSnapshot) -> Iterator[StoredState]:
    """Yields all states in the order of the manifest. Raises BadInput for damaged files."""
    coordinators = snapshot.coordinator_states()
    for operator in snapshot.manifest.operators:
        if operator.operator_id in coordinators:
            size = len(coordinators[operator.operator_id])
            yield StoredState(operator.operator_id, operator.name, None, COORDINATOR, COORDINATOR, 1, size)
        for subtask in operator.subtasks:
            for state, kind, entries, size in _states_of(snapshot, subtask):
                yield StoredState(operator.operator_id, operator.name, subtask.subtask, state, kind, entries, size)


def _states_of(snapshot: StoredSnapshot, subtask: StoredSubtask) -> Iterator[tuple[str, str, int, int]]:
    """Yields name, kind, number of entries and size of the states of a subtask."""
    for handle in (*subtask.managed_operator, *subtask.raw_operator):
        rows = snapshot.rows(handle.stream)
        sizes = np.zeros(0, np.int64) if rows is None else rows.sizes("value")
        for name, state in handle.states.items():
            kind = _KINDS[state.distribution_mode]
            size = sum(int(sizes[first : first + count].sum()) for first, count in state.elements)
            yield name, kind, sum(count for _, count in state.elements), size
    for kind, channel, name in _channels(subtask):
        yield name, kind, sum(count for _, count in channel.buffers), channel.bytes
    for keyed in (*subtask.managed_keyed, *subtask.raw_keyed):
        rows = snapshot.rows(keyed.stream)
        if rows is not None:
            yield from _keyed_states(snapshot.manifest.streams[keyed.stream], rows)


def _channels(subtask: StoredSubtask) -> Iterator[tuple[str, StoredChannelHandle, str]]:
    """Yields kind, handle and name of each channel with stored buffers."""
    for handle in subtask.input_channels:
        yield "in-flight input", handle, f"gate {handle.gate_or_partition}, channel {handle.channel}"
    for handle in subtask.result_subpartitions:
        yield "in-flight output", handle, f"partition {handle.gate_or_partition}, subpartition {handle.channel}"


def _keyed_states(about: StreamRows, rows: StateRows) -> Iterator[tuple[str, str, int, int]]:
    is_timers = about.table == "timers"
    names, indices = rows.names("service" if is_timers else "state")
    values = ("key", "namespace") if is_timers else ("namespace", "key", "value")
    sizes: npt.NDArray[np.int64] = sum((rows.sizes(column) for column in values), np.zeros(len(rows), np.int64))
    domains = np.array(rows.booleans("is_event_time") if is_timers else [False] * len(rows))
    of_name = np.array(indices)
    for number, name in sorted(enumerate(names), key=lambda each: each[1]):
        for is_event_time in (True, False):
            selected = (of_name == number) & (domains == is_event_time)
            if selected.any():
                kind = timer_kind(is_event_time) if is_timers else about.descriptions.get(name, "keyed")
                yield name, kind, int(selected.sum()), int(sizes[selected].sum())


def timer_kind(is_event_time: bool) -> str:
    """Returns the kind of a timer."""
    return "event-time timers" if is_event_time else "processing-time timers"


def state_entries(snapshot: StoredSnapshot, selected: list[StoredState], limit: int) -> Iterator[StateEntry]:
    """Yields the first ``limit`` entries of each of these states. Raises BadInput for damaged files."""
    coordinators = snapshot.coordinator_states()
    for operator in snapshot.manifest.operators:
        for state in selected:
            if state.operator_id == operator.operator_id:
                yield from islice(_entries_of(snapshot, operator, state, coordinators), limit)


def _entries_of(
    snapshot: StoredSnapshot, operator: StoredOperator, state: StoredState, coordinators: dict[str, bytes]
) -> Iterator[StateEntry]:
    about = (operator.operator_id, operator.name, state.subtask, state.state, state.kind)
    if state.subtask is None:
        yield StateEntry(*about, readable_state(coordinators[operator.operator_id]))
        return
    subtask = next(each for each in operator.subtasks if each.subtask == state.subtask)
    for kind, channel, name in _channels(subtask):
        if (name, kind) == (state.state, state.kind):
            stream = snapshot.stream(channel.stream)
            if isinstance(stream, ChannelStateStream):
                for first, count in channel.buffers:
                    for buffer in stream.buffers[first : first + count]:
                        yield StateEntry(*about, buffer)
    for keyed in (*subtask.managed_keyed, *subtask.raw_keyed):
        yield from _keyed_entries(snapshot.stream(keyed.stream), state, about)
    for handle in (*subtask.managed_operator, *subtask.raw_operator):
        found = handle.states.get(state.state)
        rows = snapshot.rows(handle.stream)
        if found is not None and rows is not None:
            for first, count in found.elements:
                for value in rows.values("value", first, first + count):
                    yield StateEntry(*about, value)


def _keyed_entries(
    stream: StoredStream, state: StoredState, about: tuple[str, str, int | None, str, str]
) -> Iterator[StateEntry]:
    match stream:
        case KeyedStateStream():
            for group, cells in stream.cells.items():
                for cell in cells:
                    if cell.state == state.state:
                        yield StateEntry(*about, cell.content, group, cell.key, cell.namespace)
        case TimerStream():
            for group, timers in stream.timers.items():
                for timer in timers:
                    if timer.service == state.state and timer_kind(timer.is_event_time) == state.kind:
                        yield StateEntry(*about, None, group, timer.key, timer.namespace, timer.timestamp)
        case _:
            return
