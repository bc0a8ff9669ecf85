"""Distributes operator state to the subtasks of a restored job. Flink: RoundRobinOperatorStateRepartitioner."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from flowsim.errors import InvariantViolation
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.values.java_hash_code import java_hash
from flowsim.values.java_hash_map import DEFAULT_CAPACITY, JavaHashMap, capacity_after, in_order_of_bins, spread

_TREEIFY_THRESHOLD: Final = 8
_MIN_TREEIFY_CAPACITY: Final = 64


@dataclass(slots=True)
class _StateEntry:
    """One state of all old subtasks."""

    elements: list[tuple[str, StateMetaInfo]] = field(default_factory=list)
    """Stream and elements, in the order of old subtasks."""
    reporting: set[int] = field(default_factory=set)
    """The old subtasks that reported the state."""


_States = Mapping[str, _StateEntry]
_Merged = list[dict[str, dict[str, StateMetaInfo]]]
"""By new subtask: stream to state name to elements."""


class RoundRobinOperatorStateRepartitioner:
    """Distributes list, union and broadcast state (rules 12.24, 12.25, 12.107).

    A new subtask gets its handles in the order in which they were assigned; Flink's order is that of hashes. Flink:
    RoundRobinOperatorStateRepartitioner.
    """

    def repartition_state(
        self, old: Sequence[Sequence[OperatorStateHandle]], old_parallelism: int, new_parallelism: int
    ) -> list[list[OperatorStateHandle]]:
        """Returns the handles of each new subtask. ``old``: those of each old subtask, empty if it had finished.

        With unchanged parallelism each subtask keeps its list state (rule 12.24).
        """
        if new_parallelism < 1:
            raise InvariantViolation(f"new parallelism: expected an integer >= 1, got {new_parallelism}")
        if len(old) != old_parallelism:
            raise InvariantViolation("This method still depends on the order of the new and old operators")
        merged: _Merged
        if new_parallelism == old_parallelism:
            merged = [{handle.stream: dict(handle.states) for handle in handles} for handles in old]
            _add_union(collect_states(old, DistributionMode.UNION), merged)
            broadcast = collect_states(old, DistributionMode.BROADCAST)
            # Rule 12.25: subtasks that did not report get the state; if all reported, each keeps its own.
            partly = {name: entry for name, entry in broadcast.items() if len(entry.reporting) < old_parallelism}
            _add_broadcast(partly, merged)
        else:
            merged = [{} for _ in range(new_parallelism)]
            _add_split(collect_states(old, DistributionMode.SPLIT_DISTRIBUTE), merged)
            _add_union(collect_states(old, DistributionMode.UNION), merged)
            _add_broadcast(collect_states(old, DistributionMode.BROADCAST), merged)
        return [[OperatorStateHandle(stream, states) for stream, states in each.items()] for each in merged]


def collect_states(old: Sequence[Sequence[OperatorStateHandle]], mode: DistributionMode) -> dict[str, _StateEntry]:
    """Returns the states of one mode by name, in the order in which a Java HashMap iterates over the names."""
    entries: dict[str, _StateEntry] = {}
    bins = _BinsOfComputeIfAbsent()
    for subtask, handles in enumerate(old):
        for handle in handles:
            for name in in_map_order(list(handle.states)):
                if handle.states[name].mode is mode:
                    bins.call(name, is_new=name not in entries)
                    entry = entries.setdefault(name, _StateEntry())
                    entry.elements.append((handle.stream, handle.states[name]))
                    entry.reporting.add(subtask)
    newest_first = list(reversed(entries))
    return {name: entries[name] for name in in_order_of_bins(newest_first, java_hash, bins.capacity)}


class _BinsOfComputeIfAbsent:
    """The number of bins of a Java HashMap whose names are added by computeIfAbsent, at the head of their bins.

    Each call doubles a full table before it looks for its name. A bin with eight names doubles a table below 64 bins;
    in a larger table it would become a tree, whose order is not computed here.
    """

    __slots__ = ("capacity", "_hashes")

    def __init__(self) -> None:
        self.capacity = DEFAULT_CAPACITY
        self._hashes: list[int] = []

    def call(self, name: str, *, is_new: bool) -> None:
        self.capacity = capacity_after(len(self._hashes), self.capacity)
        if not is_new:
            return
        added = spread(java_hash(name))
        self._hashes.append(added)
        in_its_bin = [number for number in self._hashes if not (number ^ added) & self.capacity - 1]
        if len(in_its_bin) >= _TREEIFY_THRESHOLD and self.capacity < _MIN_TREEIFY_CAPACITY:
            self.capacity *= 2


def in_map_order(names: Sequence[str]) -> list[str]:
    """Returns ``names``, put into a Java HashMap one after the other, in the order of its iteration."""
    in_order = JavaHashMap[str, None](java_hash)
    for name in names:
        in_order.put(name, None)
    return list(in_order)


def _add_split(states: _States, merged: _Merged) -> None:
    """Cuts each state into consecutive runs whose sizes differ by at most one (rule 12.24)."""
    start = 0
    for name, entry in states.items():
        total = sum(len(info.offsets) for _, info in entry.elements)
        base, remainder = divmod(total, len(merged))
        rest = list(entry.elements)
        for number in range(len(merged)):
            subtask = (start + number) % len(merged)
            _move_elements(name, rest, base + (number < remainder), merged[subtask])
        start = (start + remainder) % len(merged)


def _move_elements(
    name: str, rest: list[tuple[str, StateMetaInfo]], count: int, target: dict[str, dict[str, StateMetaInfo]]
) -> None:
    """Moves the first ``count`` elements of ``rest`` to a new subtask.

    A stream without elements is moved with the elements after it.
    """
    while count > 0:
        stream, info = rest[0]
        if len(info.offsets) > count:
            rest[0] = (stream, StateMetaInfo(info.offsets[count:], info.mode))
        else:
            del rest[0]
        target.setdefault(stream, {})[name] = StateMetaInfo(info.offsets[:count], info.mode)
        count -= len(info.offsets)


def _add_union(states: _States, merged: _Merged) -> None:
    """Adds all elements of each state to every subtask (rule 12.25)."""
    for target in merged:
        for name, entry in states.items():
            for stream, info in entry.elements:
                target.setdefault(stream, {})[name] = info


def _add_broadcast(states: _States, merged: _Merged) -> None:
    """Adds to each subtask the state of one reporting subtask, in turn (rule 12.25)."""
    for subtask, target in enumerate(merged):
        for name, entry in states.items():
            stream, info = entry.elements[subtask % len(entry.elements)]
            target.setdefault(stream, {})[name] = info
