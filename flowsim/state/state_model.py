"""What keyed state must contain and return after the calls so far: a second definition, for law ``state``.

The models share no code with the states. Each call of a state is repeated on the state's model, and what the state
then holds and returned is compared with the model. The work per call does not grow with the content of the state,
except where the call itself reads or writes all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar

from flowsim.facts.kinds import StateAction
from flowsim.state.descriptors import StateDescriptor
from flowsim.state.key_cells import Place
from flowsim.state.state_changes import NO_VALUE
from flowsim.state.state_ttl_config import TtlStateVisibility, TtlUpdateType
from flowsim.state.ttl_decorator import TtlValue
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal

_MAX_LONG: Final = 2**63 - 1

Cell = tuple[object, Hashable]
"""``state_key`` of a key, and the namespace."""

C = TypeVar("C")


class HeldCells(Protocol):
    """The cells of an operator's states. Implemented by ``KeyCells``."""

    @property
    def current_key(self) -> object: ...

    @property
    def current_key_id(self) -> object: ...

    def get_of(self, key_id: object, place: Place, /) -> object: ...


class Report(Protocol):
    """Records that a state differs from its model."""

    def __call__(
        self, namespace: Hashable, key: object, key_id: object, action: StateAction, entries: int, value: object, /
    ) -> None: ...


class TimeToLive:
    """When an element expires, and what a read of it returns. An element without a time to live is the value itself."""

    __slots__ = ("now_ms", "returns_expired", "ttl_ms", "updates_on_read")

    def __init__(self, descriptor: StateDescriptor, now_ms: Callable[[], int]) -> None:
        config = descriptor.ttl_config
        self.now_ms = now_ms
        self.ttl_ms: int | None = None if config is None else config.ttl_ms
        self.updates_on_read = config is not None and config.get_update_type() is TtlUpdateType.OnReadAndWrite
        self.returns_expired = (
            config is not None and config.get_state_visibility() is TtlStateVisibility.ReturnExpiredIfNotCleanedUp
        )

    def element(self, value: object) -> object:
        """Returns an own copy of a value that is written now."""
        own = copy_value(value)
        return own if self.ttl_ms is None else TtlValue(own, self.now_ms())

    def is_expired(self, element: object) -> bool:
        if self.ttl_ms is None or not isinstance(element, TtlValue):
            return False
        return min(element.last_access_timestamp + self.ttl_ms, _MAX_LONG) <= self.now_ms()

    def value(self, element: object) -> object:
        """Returns the value of an element."""
        return element.user_value if self.ttl_ms is not None and isinstance(element, TtlValue) else element

    def is_visible(self, element: object) -> bool:
        """True if a read returns the element, provided that no cleanup has removed it."""
        return self.returns_expired or not self.is_expired(element)

    def renewed(self, element: object) -> object:
        """Returns the element after a read."""
        if self.updates_on_read and isinstance(element, TtlValue):
            return TtlValue(element.user_value, self.now_ms())
        return element


def own_element(element: object) -> object:
    """Returns a copy of an element of a state."""
    if isinstance(element, TtlValue):
        return TtlValue(copy_value(element.user_value), element.last_access_timestamp)
    return copy_value(element)


class StateModel(Generic[C]):
    """The contents that a state must have, by cell; no content for an empty cell.

    ``begin`` comes before a call of the state, and one further method after it. A call that raises an error has no such
    method: the next ``begin`` then takes over what the state contains, because Flink leaves that open.
    """

    __slots__ = ("cell", "contents", "touched", "ttl", "_held", "_key", "_name", "_open", "_report")

    cell: Cell
    """The cell of the current call."""
    touched: list[Cell]
    """The cells that the current call may change: ``cell`` first."""

    def __init__(self, descriptor: StateDescriptor, held: HeldCells, now_ms: Callable[[], int], report: Report) -> None:
        self.ttl = TimeToLive(descriptor, now_ms)
        self.contents: dict[Cell, C] = {}
        self.cell = (None, None)
        self.touched = []
        self._name = descriptor.name
        self._held = held
        self._key: object = None
        self._open = False
        self._report = report

    def begin(self, namespace: Hashable, sources: Sequence[Hashable] = ()) -> None:
        """Starts a call at the current key; ``sources``: the other namespaces that it changes."""
        if self._open:
            for cell in self.touched:
                self.take_over(cell)
        held = self._held
        self.cell = (held.current_key_id, namespace)
        self.touched = [self.cell]
        if sources:
            self.touched += ((held.current_key_id, source) for source in sources if source != namespace)
        self._key = held.current_key
        self._open = True

    def take_over(self, cell: Cell) -> None:
        """Sets the model of a cell to what the state contains."""
        held = self.held(cell)
        if held is None:
            self.contents.pop(cell, None)
        else:
            self.contents[cell] = self.own(held)

    def held(self, cell: Cell) -> object:
        """Returns the content of a cell of the state; None if it is empty."""
        return self._held.get_of(cell[0], (self._name, cell[1]))

    def own(self, held: object) -> C:
        """Returns a copy of a content of the state."""
        raise NotImplementedError

    def entries(self, content: C | None) -> int:
        """Returns the number of entries of a content, for facts."""
        return 0 if content is None else 1

    def end(self, holds: bool) -> None:
        """Ends a call. ``holds``: the state contains what the model contains."""
        self._open = False
        if not holds:
            self.report_content(self.cell, self._key)

    def answer(self, is_right: bool, expected: object) -> None:
        """Records a wrong result of a read; ``expected`` is the right one."""
        if not is_right:
            self.report_answer(self.cell, self._key, expected)

    def report_content(self, cell: Cell, key: object) -> None:
        """Records that a cell has another content than the model, and takes it over."""
        content = self.contents.get(cell)
        value = NO_VALUE if content is None else self.value_of(content)
        self._report(cell[1], key, cell[0], StateAction.WRONG_CONTENT, self.entries(content), value)
        self.take_over(cell)

    def report_answer(self, cell: Cell, key: object, expected: object) -> None:
        """Records that a read of a cell returned something else than ``expected``."""
        entries = self.entries(self.contents.get(cell))
        self._report(cell[1], key, cell[0], StateAction.WRONG_READ, entries, expected)

    def value_of(self, content: C) -> object:
        """Returns a content as the value of a fact."""
        return self.ttl.value(content)

    def has_cell(self) -> bool:
        """True if the cell is the same, empty or not, in the state and in the model; for contents without entries."""
        held, content = self.held(self.cell), self.contents.get(self.cell)
        return held is content or (held is not None and content is not None and are_equal(held, content))

    @property
    def are_sources_empty(self) -> bool:
        """True if a merge has emptied the namespaces that it moved."""
        return all(self.held(cell) is None for cell in self.touched[1:])

    def set(self, content: C | None) -> None:
        """Sets the content of the current cell."""
        if content is None:
            self.contents.pop(self.cell, None)
        else:
            self.contents[self.cell] = content

    def cleared(self) -> None:
        """The state was cleared."""
        self.contents.pop(self.cell, None)
        self.end(self.held(self.cell) is None)

    def cleaned_up(self, key: object, cell: Cell) -> None:
        """Cleanup has removed contents of a cell of any key: only expired ones may be missing."""
        if self.is_rest(self.contents.get(cell), self.held(cell)):
            self.take_over(cell)
        else:
            self.report_content(cell, key)

    def is_rest(self, content: C | None, held: object) -> bool:
        """True if ``held`` is the content without elements that have expired."""
        raise NotImplementedError


class SingleModel(StateModel[object]):
    """The model of a state with one element per cell."""

    __slots__ = ()

    def own(self, held: object) -> object:
        return own_element(held)

    def is_rest(self, content: object, held: object) -> bool:
        return are_equal(content, held) or (held is None and self.ttl.is_expired(content))

    def read(self) -> object:
        """Returns the element that a read of the current cell must see, None if there is none, and renews it."""
        element, ttl = self.contents.get(self.cell), self.ttl
        if element is None or ttl.ttl_ms is None:
            return element
        if ttl.is_expired(element):
            self.contents.pop(self.cell)
            return element if ttl.returns_expired else None
        self.contents[self.cell] = ttl.renewed(element)
        return element

    def value_read(self, returned: object) -> None:
        """``value`` or ``get`` returned this."""
        expected = self.ttl.value(self.read())
        self.answer(are_equal(returned, expected), expected)
        self.end(self.has_cell())


class ValueModel(SingleModel):
    """The model of a value state."""

    __slots__ = ()

    def updated(self, value: object) -> None:
        """The value was replaced."""
        self.set(None if value is None else self.ttl.element(value))
        self.end(self.has_cell())


class ListModel(StateModel[list[object]]):
    """The model of a list state."""

    __slots__ = ()

    def own(self, held: object) -> list[object]:
        return list(map(own_element, held)) if isinstance(held, list) else []

    def entries(self, content: list[object] | None) -> int:
        return 0 if content is None else len(content)

    def value_of(self, content: list[object]) -> object:
        return list(map(self.ttl.value, content))

    def is_rest(self, content: list[object] | None, held: object) -> bool:
        left = iter(held) if isinstance(held, list) else iter(())
        follows = next(left, NO_VALUE)
        for element in content or ():
            if follows is not NO_VALUE and are_equal(element, follows):
                follows = next(left, NO_VALUE)
            elif not self.ttl.is_expired(element):
                return False
        return follows is NO_VALUE

    def list_read(self, returned: list[object]) -> None:
        """``get`` returned this."""
        ttl, content = self.ttl, self.contents.get(self.cell, [])
        if ttl.ttl_ms is None:
            expected = content
        else:
            alive = [element for element in content if not ttl.is_expired(element)]
            expected = list(map(ttl.value, content if ttl.returns_expired else alive))
            if not alive:
                self.set(None)
            elif ttl.updates_on_read:
                self.set(list(map(ttl.renewed, alive)))
        self.answer(are_equal(returned, expected), expected)
        self.end(self.has_cell() if ttl.updates_on_read else self.has_last(0))

    def appended(self, values: list[object]) -> None:
        """Elements were appended."""
        if values:
            self.contents.setdefault(self.cell, []).extend(map(self.ttl.element, values))
        self.end(self.has_last(len(values)))

    def updated(self, values: list[object]) -> None:
        """The list was replaced."""
        self.set(list(map(self.ttl.element, values)) or None)
        self.end(self.has_cell())

    def has_last(self, count: int) -> bool:
        """True if the state has as many elements as the model, and the last ones are equal."""
        held, content = self.held(self.cell), self.contents.get(self.cell)
        if held is None or content is None:
            return held is content
        if not isinstance(held, list) or len(held) != len(content):
            return False
        return not count or are_equal(held[-count:], content[-count:])

    def merged(self, sources: Iterable[Hashable]) -> None:
        """The lists of other namespaces were moved to the end of this one."""
        moved = list[object]()
        for source in sources:
            moved += self.contents.pop((self.cell[0], source), ())
        if moved:
            self.contents.setdefault(self.cell, []).extend(moved)
        self.end(self.has_cell() and self.are_sources_empty)
