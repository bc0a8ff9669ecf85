"""Cells that record every change, including removals of expired contents."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from flowsim.facts.kinds import StateAction
from flowsim.state.copy_on_write_state_map import StateMapEntry
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_cells import Cells, KeyCells, Place
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.map_entries import MapEntries
from flowsim.state.state_changes import NO_VALUE, StateChanges
from flowsim.state.state_models import StateModels
from flowsim.state.state_table import StateTable
from flowsim.state.ttl_decorator import TtlValue
from flowsim.values.types import TypeInformation

_KINDS: Final[dict[type[StateDescriptor], str]] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


def _kind_of(descriptor: StateDescriptor) -> str:
    return next(kind for declared, kind in _KINDS.items() if isinstance(descriptor, declared))


class WatchedCells:
    """The cells of one state in one namespace: call ``begin`` before a call of the state, then a ``record`` method.

    Contents are read from ``held`` and not from ``cells``: a read of a ``StateTable`` would continue its rehash.
    """

    __slots__ = ("place", "removed", "_cells", "_held", "_changes", "_state", "_is_collection", "_entries_read")

    removed: list[Place]
    """The cells that the current call has emptied."""

    def __init__(
        self, cells: Cells, held: KeyCells, changes: StateChanges, descriptor: StateDescriptor, namespace: Hashable
    ) -> None:
        self.place: Place = (descriptor.name, namespace)
        self.removed = []
        self._cells = cells
        self._held = held
        self._changes = changes
        self._state = changes.describe_state(descriptor.name, _kind_of(descriptor))
        self._is_collection = isinstance(descriptor, ListStateDescriptor | MapStateDescriptor)
        self._entries_read: int | None = None

    def get(self, place: Place) -> object:
        content = self._cells.get(place)
        if self._entries_read is None:
            self._entries_read = self._entries(content)
        return content

    def put(self, place: Place, content: object) -> None:
        self._cells.put(place, content)

    def fold(self, place: Place, value: object, function: Callable[[object, object], object]) -> None:
        before = self._held.get(place)
        self._cells.fold(place, value, function)
        if before is not None and self._held.get(place) is None:
            self.removed.append(place)

    def remove(self, place: Place) -> object:
        content = self._cells.remove(place)
        if content is not None:
            self.removed.append(place)
        return content

    @property
    def content(self) -> object:
        """The current key's value or list, without the timestamps of the time to live."""
        content = self._held.get(self.place)
        return [_plain(element) for element in content] if isinstance(content, list) else _plain(content)

    def begin(self) -> None:
        """Starts a call of a method of the state."""
        self.removed = []
        self._entries_read = None

    def record(self, action: StateAction, value: object = NO_VALUE) -> None:
        """Records a change of the current key's cell; the fingerprint is computed from ``value``."""
        self._record(self.place[1], action, self._entries(self._held.get(self.place)), value)

    @property
    def has_fewer_entries(self) -> bool:
        """True if the call removed entries."""
        return self._entries_read is not None and self._entries(self._held.get(self.place)) < self._entries_read

    def record_written(self, action: StateAction) -> None:
        """Records the new value after a write, or CLEAR if the call emptied the cell."""
        self.record_removed()
        if not self.removed:
            self.record(action, self.content)

    def record_merged(self) -> None:
        """Records CLEAR for the merged namespaces, and the new content of this namespace."""
        self.record_removed()
        if self.removed:
            self.record(StateAction.PUT, self.content)

    def record_removed(self) -> None:
        """Records CLEAR for each cell that the call emptied, in this namespace or another namespace."""
        for _, namespace in self.removed:
            self._record(namespace, StateAction.CLEAR, 0, NO_VALUE)

    def record_expired(self, value: object = NO_VALUE) -> None:
        """Records the contents that a read removed; a read removes only expired contents."""
        if self.has_fewer_entries:
            self.record(StateAction.EXPIRE, value)

    def _record(self, namespace: Hashable, action: StateAction, entries: int, value: object) -> None:
        cells = self._held
        self._changes.record(self._state, namespace, cells.current_key, cells.current_key_id, action, entries, value)

    def _entries(self, content: object) -> int:
        if self._is_collection and isinstance(content, list | MapEntries):
            return len(content)
        return 0 if content is None else 1


def _plain(content: object) -> object:
    return content.user_value if isinstance(content, TtlValue) else content


class WatchedStateTable(StateTable):
    """Records the contents that cleanup removes, for any key."""

    __slots__ = ("_changes", "_models")

    def __init__(
        self,
        cells: KeyCells,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: TypeInformation | None,
        changes: StateChanges,
        models: StateModels,
    ) -> None:
        super().__init__(cells, key_group_range, max_parallelism, key_type)
        self._changes = changes
        self._models = models

    def replace(self, name: str, index: int, entry: StateMapEntry, content: object) -> None:
        super().replace(name, index, entry, content)
        if self._content(name, entry) is content and isinstance(content, list | MapEntries):
            self._record_expired(name, entry, len(content))

    def forget(self, name: str, index: int, entry: StateMapEntry) -> None:
        content = self._content(name, entry)
        super().forget(name, index, entry)
        if content is not None and self._content(name, entry) is None:
            self._record_expired(name, entry, 0)

    def _content(self, name: str, entry: StateMapEntry) -> object:
        return self._cells.get_of(entry.key_id, (name, entry.namespace))

    def _record_expired(self, name: str, entry: StateMapEntry, entries: int) -> None:
        state = self._changes.number_of(name)
        self._changes.record(state, entry.namespace, entry.key, entry.key_id, StateAction.EXPIRE, entries)
        model = self._models.named(name)
        if model is not None:
            model.cleaned_up(entry.key, (entry.key_id, entry.namespace))
