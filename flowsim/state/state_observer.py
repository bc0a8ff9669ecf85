"""Observes a state: records its changes, and compares it with a model of its own (law ``state``).

The model is a second definition of the state; it shares no code with the states. An observer makes each call of the
state, repeats it on the model, and compares what the state then holds and returned. The work per call does not grow with
the content of the state, except where the call itself reads or writes all of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from flowsim.facts.kinds import StateAction
from flowsim.state.descriptors import StateDescriptor
from flowsim.state.key_cells import Place
from flowsim.state.observed_states import Observed, ObservedValueState
from flowsim.state.state_changes import NO_VALUE
from flowsim.state.state_ttl_config import TtlStateVisibility, TtlUpdateType
from flowsim.state.states import State
from flowsim.state.ttl_decorator import TtlValue
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal
from flowsim.values.keys import key_of_state_key

_MAX_LONG: Final = 2**63 - 1

Cell = tuple[object, Hashable]
"""``state_key`` of a key, and the namespace."""

C = TypeVar("C")
S = TypeVar("S", bound=State)


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
        self.now_ms: Callable[[], int] = now_ms
        self.ttl_ms: int | None = None if config is None else config.ttl_ms
        self.updates_on_read: bool = config is not None and config.get_update_type() is TtlUpdateType.OnReadAndWrite
        self.returns_expired: bool = (
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


class StateObserver(Generic[C]):
    """Makes the calls of one state, for all namespaces; its model is the content of each cell, if the cell is not empty.

    ``begin`` comes before a call, and the method with the name of the state's makes it. If a call raises an error, the
    next ``begin`` takes over what the state contains, because Flink leaves that open.
    """

    __slots__ = (
        "cell", "contents", "touched", "ttl", "_before", "_held", "_key", "_name", "_open", "_place", "_record",
        "_report",
    )  # fmt: skip

    kind: ClassVar[str] = ""
    """The kind of the state in facts."""
    wrapper: ClassVar[type[Observed]] = Observed
    """The class of the states that this observer observes."""
    cell: Cell
    """The cell of the current call."""
    touched: list[Cell]
    """The cells that the current call may change: ``cell`` first."""

    def __init__(
        self,
        descriptor: StateDescriptor,
        held: HeldCells,
        now_ms: Callable[[], int],
        report: Report,
        record: Report | None,
    ) -> None:
        """``report`` records differences, ``record`` changes: without it, changes are not recorded."""
        self.ttl: TimeToLive = TimeToLive(descriptor, now_ms)
        self.contents: dict[Cell, C] = {}
        self.cell = (None, None)
        self.touched = []
        self._before: int | None = None
        self._name = descriptor.name
        self._place: Place = (descriptor.name, None)
        self._held = held
        self._key: object = None
        self._open = False
        self._report = report
        self._record = record

    def observed(self, state: S, namespace: Hashable) -> S:
        """Returns a state of the same kind whose calls this observer makes."""
        return self.wrapper(state, self, namespace)  # type: ignore[return-value]  # of the same kind

    def reported(self, descriptor: Any) -> Any:
        """Returns the descriptor of the state to observe, whose function reports its calls."""
        return descriptor

    def begin(self, namespace: Hashable) -> None:
        """Starts a call at the current key."""
        if self._open:
            for cell in self.touched:
                self.take_over(cell)
        held = self._held
        self.cell = (held.current_key_id, namespace)
        self._place = (self._name, namespace)
        self.touched = [self.cell]
        self._key = held.current_key
        self._open = True
        if self._record is not None:
            # From the cells, not from the state's table: a read of a ``StateTable`` would continue its rehash.
            content = self.held_now()
            self._before = None if content is None else self.entries(content)

    def held_now(self) -> object:
        """Returns what the state holds in the current cell."""
        return self._held.get_of(self.cell[0], self._place)

    def record(self, action: StateAction, value: object = NO_VALUE) -> None:
        """Records a change of the current cell; the fingerprint is computed from ``value``."""
        if self._record is not None:
            key_id, namespace = self.cell
            self._record(namespace, self._key, key_id, action, self.entries(self.held_now()), value)

    def record_expired(self, value: object = NO_VALUE) -> None:
        """Records the contents that a read removed; a read removes only expired contents."""
        if self.has_fewer_entries:
            self.record(StateAction.EXPIRE, value)

    def record_removed(self) -> bool:
        """Records CLEAR if the call has emptied the cell; returns True then."""
        is_emptied = self._before is not None and self.held_now() is None
        if is_emptied:
            self.record(StateAction.CLEAR)
        return is_emptied

    @property
    def has_fewer_entries(self) -> bool:
        """True if the call has removed entries."""
        return self._before is not None and self.entries(self.held_now()) < self._before

    def merge(self, call: Callable[[list[Hashable]], None], sources: list[Hashable]) -> None:
        """Makes a call that moves the contents of other namespaces, and records it."""
        cells = [(self.cell[0], source) for source in dict.fromkeys(sources)]
        self.touched += (cell for cell in cells if cell != self.cell)
        present = [cell for cell in cells if self.held(cell) is not None]
        call(sources)
        moved = [cell for cell in present if cell == self.cell or self.held(cell) is None]
        for cell in moved:
            self._report(cell[1], self._key, cell[0], StateAction.CLEAR, 0, NO_VALUE)
        is_emptied = self.cell not in moved and self.record_removed()
        if moved or is_emptied:
            self.record(StateAction.PUT, self.held_value)

    @property
    def held_value(self) -> object:
        """What the state holds in the current cell, as the value of a fact."""
        held: Any = self.held_now()
        return None if held is None else self.value_of(held)

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

    def entries(self, content: Any) -> int:
        """Returns the number of entries of a content of the state or of the model, for facts."""
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

    def value_of(self, content: Any) -> object:
        """Returns a content as the value of a fact."""
        return self.ttl.value(content)

    def has_cell(self) -> bool:
        """True if the cell is the same, empty or not, in the state and in the model; for contents without entries."""
        held, content = self.held_now(), self.contents.get(self.cell)
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

    def clear(self, call: Callable[[], None]) -> None:
        call()
        self.record_removed()
        self.contents.pop(self.cell, None)
        self.end(not self.entries(self.held_now()))

    def clean_up(self, call: Callable[[], None], key: object, cell: Cell) -> None:
        """Lets cleanup change a cell of any key: it may remove only contents that have expired."""
        before = self.held(cell)
        call()
        held = self.held(cell)
        if held is before:
            return
        self._report(cell[1], key, cell[0], StateAction.EXPIRE, self.entries(held), NO_VALUE)
        if cell == self.cell:
            self._before = None if held is None else self.entries(held)
        if self.is_rest(self.contents.get(cell), held):
            self.take_over(cell)
        else:
            self.report_content(cell, key)

    def key_ids(self, namespace: Hashable) -> list[object]:
        """Returns the ``state_key`` of every key that has the state in a namespace."""
        return [key_id for key_id, of_namespace in self.contents if of_namespace == namespace]

    def visited(self, namespace: Hashable, expected: list[object], visited: list[object]) -> None:
        """Compares the keys that a call for all keys has visited, by ``state_key``: each once."""
        counts = Counter(visited)
        wrong = [key_id for key_id in expected if not counts[key_id]]
        wrong += [key_id for key_id, count in counts.items() if count > 1]
        for key_id in wrong:
            cell = (key_id, namespace)
            content = self.contents.get(cell)
            self.report_answer(cell, key_of_state_key(key_id), None if content is None else self.value_of(content))

    def is_rest(self, content: C | None, held: object) -> bool:
        """True if ``held`` is the content without elements that have expired."""
        raise NotImplementedError


class SingleObserver(StateObserver[object]):
    """Observes a state with one element per cell."""

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

    def read_value(self, call: Callable[[], object]) -> object:
        """Makes a call that returns the element's value."""
        returned = call()
        self.record_expired()
        expected = self.ttl.value(self.read())
        self.answer(are_equal(returned, expected), expected)
        self.end(self.has_cell())
        return returned


class ValueObserver(SingleObserver):
    """Observes a value state."""

    __slots__ = ()

    kind = "value"
    wrapper = ObservedValueState

    def value(self, call: Callable[[], object]) -> object:
        return self.read_value(call)

    def update(self, call: Callable[[object], None], value: object) -> None:
        call(value)
        if value is None:
            self.record_removed()
        else:
            self.record(StateAction.PUT, value)
        self.set(None if value is None else self.ttl.element(value))
        self.end(self.has_cell())
