"""Broadcast states that are compared with their models (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from flowsim.facts.kinds import StateAction
from flowsim.state.broadcast_state import BroadcastState, OperatorStateStore, ReadOnlyBroadcastState
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


class ObservedBroadcastState(BroadcastState):
    """Wraps a broadcast state, which may be read-only, and compares each call with the model."""

    __slots__ = ("_model", "_state")

    def __init__(self, state: ReadOnlyBroadcastState, name: str, entries: MapEntries[object], model: MapModel) -> None:
        super().__init__(name, entries)
        self._state = state
        self._model = model

    def get(self, key: object) -> object:
        return self._get(key, self._state.get)

    def __getitem__(self, key: object) -> object:
        return self._get(key, self._state.__getitem__)

    def _get(self, key: object, get: Callable[[object], object]) -> object:
        self._model.begin(None)
        value = get(key)
        self._model.value_read(key, value)
        return value

    def contains(self, key: object) -> bool:
        return self._contains(key, self._state.contains)

    def __contains__(self, key: object) -> bool:
        return self._contains(key, self._state.__contains__)

    def _contains(self, key: object, contains: Callable[[object], bool]) -> bool:
        self._model.begin(None)
        contained = contains(key)
        self._model.contains_read(key, contained)
        return contained

    def items(self) -> list[tuple[object, object]]:
        self._model.begin(None)
        items = self._state.items()
        self._model.items_read(items)
        return items

    def keys(self) -> list[object]:
        return self._keys(self._state.keys)

    def __iter__(self) -> Iterator[object]:
        return iter(self._keys(lambda: list(self._state)))

    def _keys(self, read: Callable[[], list[object]]) -> list[object]:
        self._model.begin(None)
        keys = read()
        self._model.keys_read(keys)
        return keys

    def values(self) -> list[object]:
        self._model.begin(None)
        values = self._state.values()
        self._model.values_read(values)
        return values

    def is_empty(self) -> bool:
        self._model.begin(None)
        is_empty = self._state.is_empty()
        self._model.is_empty_read(is_empty)
        return is_empty

    def put(self, key: object, value: object) -> None:
        self._put(key, value, self._state.put)

    def __setitem__(self, key: object, value: object) -> None:
        self._put(key, value, self._state.__setitem__)

    def _put(self, key: object, value: object, put: Callable[[object, object], None]) -> None:
        self._model.begin(None)
        put(key, value)
        self._model.put(key, value)

    def put_all(self, dict_value: Mapping[object, object]) -> None:
        self._model.begin(None)
        self._state.put_all(dict_value)
        self._model.put_all(dict_value)

    def remove(self, key: object) -> None:
        self._remove(key, self._state.remove)

    def __delitem__(self, key: object) -> None:
        self._remove(key, self._state.__delitem__)

    def _remove(self, key: object, remove: Callable[[object], None]) -> None:
        self._model.begin(None)
        remove(key)
        self._model.removed(key)

    def clear(self) -> None:
        self._model.begin(None)
        self._state.clear()
        self._model.cleared()


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
