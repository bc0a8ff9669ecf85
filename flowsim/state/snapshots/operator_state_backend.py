"""Operator state on the heap: lists, and broadcast states. Flink: DefaultOperatorStateBackend."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.errors import BadInput
from flowsim.state.redistribution.operator_state_handle import DistributionMode, OperatorStateHandle, StateMetaInfo
from flowsim.state.snapshots.stored_streams import OperatorStateStream, StoredStream
from flowsim.values.closed_set import copy_value


class PartitionableListState:
    """A list state; its elements are values of the closed set. Flink: PartitionableListState."""

    __slots__ = ("mode", "_elements")

    def __init__(self, mode: DistributionMode) -> None:
        self.mode: DistributionMode = mode
        self._elements: list[object] = []

    def get(self) -> tuple[object, ...]:
        return tuple(self._elements)

    def add(self, element: object) -> None:
        self._elements.append(element)

    def update(self, elements: Sequence[object]) -> None:
        self._elements = list(elements)


class HeapBroadcastState:
    """The pairs of a broadcast state. Flink: HeapBroadcastState."""

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: tuple[tuple[object, object], ...] = ()

    def get(self) -> tuple[tuple[object, object], ...]:
        return self._pairs

    def update(self, pairs: tuple[tuple[object, object], ...]) -> None:
        self._pairs = pairs


class OperatorStateBackend:
    """The operator states of one operator subtask, in the order of their declaration.

    Restored states that the operator does not declare stay part of its snapshots. Flink: DefaultOperatorStateBackend.
    """

    __slots__ = ("_operator", "_lists", "_broadcasts")

    def __init__(self, operator: str) -> None:
        """``operator``: its name, for errors."""
        self._operator = operator
        self._lists: dict[str, PartitionableListState] = {}
        self._broadcasts: dict[str, HeapBroadcastState] = {}

    def get_list_state(
        self, name: str, mode: DistributionMode = DistributionMode.SPLIT_DISTRIBUTE
    ) -> PartitionableListState:
        """Returns a list state. Raises BadInput if it exists with another mode, or as a broadcast state."""
        if name in self._broadcasts:
            raise self._wrong_mode(name, DistributionMode.BROADCAST, mode)
        state = self._lists.setdefault(name, PartitionableListState(mode))
        if state.mode is not mode:
            raise self._wrong_mode(name, state.mode, mode)
        return state

    def get_broadcast_state(self, name: str) -> HeapBroadcastState:
        """Returns a broadcast state. Raises BadInput if it exists as a list state."""
        if name in self._lists:
            raise self._wrong_mode(name, self._lists[name].mode, DistributionMode.BROADCAST)
        return self._broadcasts.setdefault(name, HeapBroadcastState())

    def restore(self, handles: Sequence[OperatorStateHandle], read: Callable[[str], StoredStream]) -> None:
        """Adds the stored elements that the handles select (rules 12.24, 12.25)."""
        for handle in handles:
            stream = read(handle.stream)
            if not isinstance(stream, OperatorStateStream):
                raise BadInput(f"operator {self._operator}: stream {handle.stream} contains no operator state")
            for name, info in handle.states.items():
                elements = [copy_value(stream.elements[offset]) for offset in info.offsets]
                if info.mode is DistributionMode.BROADCAST:
                    if elements:
                        self.get_broadcast_state(name).update(elements[-1])  # type: ignore[arg-type]
                else:
                    state = self.get_list_state(name, info.mode)
                    for element in elements:
                        state.add(element)

    def snapshot(self) -> tuple[OperatorStateStream, dict[str, StateMetaInfo]] | None:
        """Returns a consistent copy of all states with the offsets of their elements; None without states."""
        if not self._lists and not self._broadcasts:
            return None
        elements: list[object] = []
        infos: dict[str, StateMetaInfo] = {}
        for name, state in self._lists.items():
            start = len(elements)
            elements.extend(copy_value(element) for element in state.get())
            infos[name] = StateMetaInfo(tuple(range(start, len(elements))), state.mode)
        for name, broadcast in self._broadcasts.items():
            infos[name] = StateMetaInfo((len(elements),), DistributionMode.BROADCAST)
            elements.append(copy_value(broadcast.get()))
        return OperatorStateStream(tuple(elements)), infos

    def _wrong_mode(self, name: str, found: DistributionMode, wanted: DistributionMode) -> BadInput:
        return BadInput(
            f"operator {self._operator}: operator state {name!r} has the mode {found.value}, not {wanted.value}: "
            "use one mode for a name, also after a restore"
        )
