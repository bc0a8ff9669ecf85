"""Stored keyed state: plain copies of the cells, and the restored cells that no state has claimed yet.

Flink: HeapSnapshotStrategy, HeapRestoreOperation.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

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

_KINDS: Final[Mapping[type[StateDescriptor], str]] = {
    ValueStateDescriptor: "value",
    ListStateDescriptor: "list",
    MapStateDescriptor: "map",
    ReducingStateDescriptor: "reducing",
    AggregatingStateDescriptor: "aggregating",
}

_WITH_TTL: Final = " with time to live"


def describe_state(descriptor: StateDescriptor) -> str:
    """Returns the kind of a state, and whether it has a time to live.

    >>> describe_state(ValueStateDescriptor("total", "LONG"))
    'value'
    """
    return _KINDS[type(descriptor)] + (_WITH_TTL if descriptor.ttl_config is not None else "")


def stored_content(name: str, content: object, *, has_ttl: bool = False) -> object:
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


def restored_content(descriptor: StateDescriptor, content: object, had_ttl: bool, now_ms: int) -> object:
    """Returns the content of a cell of this state, from its stored form.

    A state may get or lose its time to live with a restore: values without a timestamp get ``now_ms``.
    Flink: TtlAwareSerializer.
    """
    form = _Form(had_ttl, descriptor.ttl_config is not None, now_ms)
    if isinstance(descriptor, MapStateDescriptor):
        items: Sequence[tuple[object, object]] = content  # type: ignore[assignment]  # as they were stored
        entries: MapEntries = MapEntries(descriptor.key_type_info, expected_size=len(items))
        for key, value in items:
            entries.put(key, form.restored(value))
        return entries
    if isinstance(descriptor, ListStateDescriptor):
        return [form.restored(each) for each in content]  # type: ignore[attr-defined]  # a list, as it was stored
    return form.restored(content)


@dataclass(frozen=True, slots=True)
class _Form:
    """The stored and the new form of a value: with or without its last access."""

    had_ttl: bool
    has_ttl: bool
    now_ms: int

    def restored(self, stored: object) -> object:
        if not (self.had_ttl or self.has_ttl):
            return stored
        value = TtlValue(*stored) if self.had_ttl else TtlValue(stored, self.now_ms)  # type: ignore[misc]  # as stored
        return value if self.has_ttl else value.user_value


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

    def claim(self, descriptor: StateDescriptor) -> tuple[list[tuple[int, StoredCell]], bool]:
        """Removes and returns the cells of a state, and whether they have a time to live.

        Raises BadInput if they are of another kind of state.
        """
        declared = _KINDS[type(descriptor)]
        stored = self._descriptions.get(descriptor.name, declared)
        if stored.removesuffix(_WITH_TTL) != declared:
            raise BadInput(
                f"state {descriptor.name!r}: the checkpoint has a {stored} state, the operator declares a {declared} "
                "state: keep the kind of a restored state, or give the new state another name"
            )
        return self.claim_named(descriptor.name), stored.endswith(_WITH_TTL)

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
