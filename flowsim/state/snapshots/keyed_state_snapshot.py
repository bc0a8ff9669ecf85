"""Stored keyed state: plain copies of the cells, and the restored cells that no state has claimed yet.

Flink: HeapSnapshotStrategy, HeapRestoreOperation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Final

from flowsim.errors import BadInput, ValueNotAllowed
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.map_entries import MapEntries
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.state.ttl_decorator import TtlValue
from flowsim.values.closed_set import checked_copy

if TYPE_CHECKING:
    from flowsim.state.declared_states import Declared

_KINDS: Final[Mapping[type[StateDescriptor], str]] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}


def describe_state(descriptor: StateDescriptor) -> str:
    """Returns the kind of a state, and whether it has a time to live.

    >>> describe_state(ValueStateDescriptor("total", "LONG"))
    'value'
    """
    return _KINDS[type(descriptor)] + (" with time to live" if descriptor.ttl_config is not None else "")


def stored_content(name: str, content: object, *, has_ttl: bool) -> object:
    """Returns a plain copy of the content of a cell. Raises ValueNotAllowed that names the state."""
    plain = content.items() if isinstance(content, MapEntries) else content
    if has_ttl:
        plain = _without_ttl(plain)
    try:
        return checked_copy(plain)
    except ValueNotAllowed as refused:
        raise ValueNotAllowed(f"state {name!r} cannot be stored in a checkpoint: {refused}") from None


def _without_ttl(content: object) -> object:
    if isinstance(content, TtlValue):
        return (content.user_value, content.last_access_timestamp)
    if isinstance(content, list):
        return [(each[0], _without_ttl(each[1])) if type(each) is tuple else _without_ttl(each) for each in content]
    return content


def restored_content(descriptor: StateDescriptor, content: object) -> object:
    """Returns the content of a cell of this state, from its stored form."""
    with_ttl = descriptor.ttl_config is not None
    if isinstance(descriptor, MapStateDescriptor):
        entries: MapEntries[object] = MapEntries(descriptor.key_type_info)
        for key, value in content:  # type: ignore[attr-defined]  # the items of a map, as they were stored
            entries.put(key, _ttl_value(value) if with_ttl else value)
        return entries
    if isinstance(descriptor, ListStateDescriptor):
        return [_ttl_value(each) if with_ttl else each for each in content]  # type: ignore[attr-defined]
    return _ttl_value(content) if with_ttl else content


def _ttl_value(stored: object) -> TtlValue:
    return TtlValue(*stored)  # type: ignore[misc]  # a value and its last access, as they were stored


class UnclaimedStates:
    """Restored states that the operator has not declared yet; they stay part of its snapshots."""

    __slots__ = ("_descriptions", "_cells")

    def __init__(self) -> None:
        self._descriptions: dict[str, str] = {}
        self._cells: dict[str, list[tuple[int, StoredCell]]] = {}

    def add(self, cells: Iterable[tuple[int, StoredCell]], descriptions: Mapping[str, str]) -> None:
        """Adds restored cells, in ascending order of key groups."""
        self._descriptions.update(descriptions)
        for group, cell in cells:
            self._cells.setdefault(cell.state, []).append((group, cell))

    def claim(self, descriptor: StateDescriptor) -> list[tuple[int, StoredCell]]:
        """Removes and returns the cells of a state. Raises BadInput if they are of another kind of state."""
        stored, declared = self._descriptions.pop(descriptor.name, None), describe_state(descriptor)
        if stored is not None and stored != declared:
            raise BadInput(
                f"state {descriptor.name!r}: the checkpoint has a {stored} state, the operator declares a {declared} "
                "state: keep the kind of a restored state, or give the new state another name"
            )
        return self._cells.pop(descriptor.name, [])

    def claim_named(self, name: str) -> list[tuple[int, StoredCell]]:
        """Removes and returns the cells of a state that the operator keeps by itself."""
        self._descriptions.pop(name, None)
        return self._cells.pop(name, [])

    def cells(self) -> list[tuple[int, StoredCell]]:
        """Returns the cells that are left."""
        return [each for cells in self._cells.values() for each in cells]

    @property
    def descriptions(self) -> Mapping[str, str]:
        return self._descriptions


def kinds_of(declared: Iterable[Declared[StateDescriptor]]) -> dict[str, str]:
    """Returns the kind of each declared state, by name."""
    return {each.descriptor.name: describe_state(each.descriptor) for each in declared}
