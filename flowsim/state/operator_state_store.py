"""The broadcast states of an operator subtask. Flink: DefaultOperatorStateBackend."""

from __future__ import annotations

from flowsim.errors import BadInput
from flowsim.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from flowsim.state.descriptors import MapStateDescriptor, StateDescriptor
from flowsim.state.map_entries import MapEntries
from flowsim.state.map_state_observer import MapObserver
from flowsim.state.observed_states import ObservedBroadcastState
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_observers import observe_without_keys


class OperatorStateStore:
    """The states of an operator subtask that are not keyed. Flink: OperatorStateStore."""

    __slots__ = ("_changes", "_entries", "_observers")

    def __init__(self, changes: StateChanges | None = None) -> None:
        """With ``changes``, the states are compared with models (law ``state``)."""
        self._changes = changes
        self._entries: dict[str, MapEntries] = {}
        self._observers: dict[str, MapObserver] = {}

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> BroadcastState:
        """Returns the state of this name, which is empty at first.

        Raises BadInput for anything but a MapStateDescriptor.
        """
        state = BroadcastState(state_descriptor.name, self._entries_of(state_descriptor))
        return state if self._changes is None else self._observed(state, state_descriptor, self._changes)

    def get_read_only_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ReadOnlyBroadcastState:
        """Returns the broadcast state of this name, read-only."""
        state = ReadOnlyBroadcastState(state_descriptor.name, self._entries_of(state_descriptor))
        return state if self._changes is None else self._observed(state, state_descriptor, self._changes)

    def _entries_of(self, descriptor: MapStateDescriptor) -> MapEntries:
        check_broadcast_descriptor(descriptor, "get_broadcast_state")
        entries = self._entries.get(descriptor.name)
        if entries is None:
            entries = self._entries[descriptor.name] = MapEntries(descriptor.key_type_info)
        return entries

    def _observed(
        self, state: ReadOnlyBroadcastState, descriptor: MapStateDescriptor, changes: StateChanges
    ) -> ObservedBroadcastState:
        name, entries = descriptor.name, self._entries_of(descriptor)
        if name not in self._observers:
            observer = observe_without_keys(MapObserver, descriptor, lambda: entries, changes, "broadcast")
            self._observers[name] = observer
        return ObservedBroadcastState(state, self._observers[name])


def check_broadcast_descriptor(descriptor: StateDescriptor, what: str) -> None:
    """Raises BadInput unless ``descriptor`` is a MapStateDescriptor without a time to live.

    Broadcast state does not support a time to live.
    """
    if not isinstance(descriptor, MapStateDescriptor):
        raise BadInput(f"{what}: expected a MapStateDescriptor, got {descriptor!r:.60}")
    if descriptor.ttl_config is not None:
        raise BadInput(f"{what}: state {descriptor.name!r}: broadcast state has no time to live: leave it out")
