"""Broadcast states that are compared with their models (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.facts.kinds import StateAction
from flowsim.state.broadcast_state import BroadcastState, OperatorStateStore, ReadOnlyBroadcastState
from flowsim.state.compared_entries import ComparedEntries
from flowsim.state.descriptors import MapStateDescriptor
from flowsim.state.key_cells import Place
from flowsim.state.map_entries import MapEntries
from flowsim.state.map_state_model import MapModel
from flowsim.state.state_changes import StateChanges


class UnkeyedReport:
    """Records that a state without keys differs from its model; describes the state only then."""

    __slots__ = ("_changes", "_kind", "_name")

    def __init__(self, changes: StateChanges, name: str, kind: str) -> None:
        self._changes = changes
        self._name = name
        self._kind = kind

    def __call__(
        self, namespace: object, key: object, key_id: object, action: StateAction, entries: int, value: object
    ) -> None:
        number = self._changes.describe(self._name, self._kind)
        self._changes.record(number, None, None, None, action, entries, value)


class UnkeyedCell:
    """The content of a state without keys, with the interface of ``KeyCells``."""

    __slots__ = ("_content",)

    current_key: None = None
    current_key_id: None = None

    def __init__(self, content: Callable[[], object]) -> None:
        self._content = content

    def get_of(self, key_id: object, place: Place) -> object:
        return self._content()


def no_time_ms() -> int:
    """The time of a state that cannot expire."""
    return 0


class ObservedBroadcastState(ComparedEntries, BroadcastState):
    """Wraps a broadcast state, which may be read-only, and compares each call with the model."""

    __slots__ = ("_model", "_state")

    def __init__(self, state: ReadOnlyBroadcastState, name: str, entries: MapEntries[object], model: MapModel) -> None:
        super().__init__(name, entries)
        self._state = state
        self._model = model


class ObservedOperatorStateStore(OperatorStateStore):
    """Returns broadcast states that are compared with their models."""

    __slots__ = ("_changes", "_models")

    def __init__(self, changes: StateChanges) -> None:
        super().__init__()
        self._changes = changes
        self._models: dict[str, MapModel] = {}

    def get_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ObservedBroadcastState:
        return self._observed(super().get_broadcast_state(state_descriptor), state_descriptor)

    def get_read_only_broadcast_state(self, state_descriptor: MapStateDescriptor) -> ObservedBroadcastState:
        return self._observed(super().get_read_only_broadcast_state(state_descriptor), state_descriptor)

    def _observed(self, state: ReadOnlyBroadcastState, descriptor: MapStateDescriptor) -> ObservedBroadcastState:
        name, entries = descriptor.name, self._found(descriptor)
        model = self._models.get(name)
        if model is None:
            report = UnkeyedReport(self._changes, name, "broadcast")
            model = self._models[name] = MapModel(descriptor, UnkeyedCell(lambda: entries), no_time_ms, report)
        return ObservedBroadcastState(state, name, entries, model)
