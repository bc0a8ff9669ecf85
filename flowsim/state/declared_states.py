"""The states of one operator by name, and the storage of each. Flink: HeapKeyedStateBackend, TtlStateFactory."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from flowsim.errors import BadInput, InvariantViolation
from flowsim.state.descriptors import StateDescriptor
from flowsim.state.key_cells import Cells, KeyCells
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.snapshots.keyed_state_snapshot import UnclaimedStates, restored_content
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_factory import StateFactory
from flowsim.state.state_observer import StateObserver
from flowsim.state.state_observers import observe
from flowsim.state.state_table import StateTable
from flowsim.state.ttl_decorator import Clean, TtlDecorator
from flowsim.state.ttl_incremental_cleanup import TtlIncrementalCleanup
from flowsim.state.ttl_states import cleaner
from flowsim.values.keys import state_key
from flowsim.values.types import as_type

S_co = TypeVar("S_co", bound=StateDescriptor, covariant=True)
S = TypeVar("S", bound=StateDescriptor)


@dataclass(frozen=True, slots=True)
class Declared(Generic[S_co]):
    """A state as it was first declared; the declaration holds for all namespaces."""

    descriptor: S_co
    cells: Cells
    ttl: TtlDecorator | None
    """The time to live of the state; None: values never expire."""
    table: StateTable | None
    """The table that keeps the state's keys in order; None if no caller needs the order."""
    clean: Clean | None
    """A function that removes the values that a snapshot omits."""
    observer: StateObserver[Any] | None
    """Records and compares what the state does; None if the run does not record state."""

    def effective(self, descriptor: S) -> S:
        """Returns the descriptor whose functions hold: with a time to live, that of the first declaration."""
        effective: S = descriptor if self.ttl is None else self.descriptor  # type: ignore[assignment]  # of the same type
        return effective if self.observer is None else self.observer.reported(effective)

    def for_snapshot(self, content: object) -> object:
        """Returns the content of a cell for a snapshot, or None."""
        return content if self.clean is None else self.clean(content)


class DeclaredStates:
    """Declares each state once."""

    __slots__ = (
        "_by_name",
        "_cells",
        "_changes",
        "_listen_to_moves",
        "_new_table",
        "_now",
        "factory",
        "in_order",
        "unclaimed",
    )

    unclaimed: UnclaimedStates
    """Restored states that were not declared yet."""

    factory: StateFactory
    """Creates the states."""

    in_order: bool
    """True if states declared from now on keep their keys in order."""

    def __init__(
        self,
        cells: KeyCells,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: str | None,
        now_ms: Callable[[], int],
        listen_to_moves: Callable[[Callable[[], None]], None],
        factory: StateFactory,
        changes: StateChanges | None = None,
    ) -> None:
        declared_type = as_type(key_type)
        self.factory = factory
        self._cells = cells
        self._changes = changes
        self._new_table: Callable[[], StateTable] = lambda: StateTable(
            cells, key_group_range, max_parallelism, declared_type
        )
        self._now = now_ms
        self._listen_to_moves = listen_to_moves
        self._by_name: dict[str, Declared[StateDescriptor]] = {}
        self.unclaimed = UnclaimedStates()
        self.in_order = False

    def declare(self, descriptor: S) -> Declared[S]:
        """Returns the declaration of this name; creates it on the first call.

        Raises BadInput for another kind of state.
        """
        known = self._by_name.get(descriptor.name)
        if known is None:
            known = self._by_name[descriptor.name] = self._new(descriptor)
            self._restore(known)
        elif type(known.descriptor) is not type(descriptor):
            raise BadInput(
                f"state {descriptor.name!r} was declared with a {type(known.descriptor).__name__} before and now with "
                f"a {type(descriptor).__name__}: give the two states different names"
            )
        return known  # type: ignore[return-value]  # its descriptor is of the same type, as was checked

    def restore(self, cells: Iterable[tuple[int, StoredCell]], descriptions: Mapping[str, str]) -> None:
        """Adds restored cells; those of states that are not declared yet are added when they are."""
        self.unclaimed.add(cells, descriptions)
        for declared in self._by_name.values():
            self._restore(declared)

    def _restore(self, declared: Declared[StateDescriptor]) -> None:
        restored, had_ttl = self.unclaimed.claim(declared.descriptor)
        if not restored:
            return
        now_ms = self._now()
        cells, table = self._cells, declared.table
        before = (cells.current_key, cells.current_key_id) if cells.has_current_key else None
        for key_group, cell in restored:
            place = (cell.state, cell.namespace)
            content = restored_content(declared.descriptor, cell.content, had_ttl, now_ms)
            if table is None:
                cells.restore(key_group, cell.key, place, content)
            else:
                cells.move_to(cell.key, state_key(cell.key))
                table.restore(key_group, place, content)
        if table is not None and had_ttl != (declared.ttl is not None):
            table.touch_every_entry()
        if declared.observer is not None:
            for _, cell in restored:
                declared.observer.take_over((state_key(cell.key), cell.namespace))
        if before is not None:
            cells.move_to(*before)
        elif table is not None:
            cells.leave()

    @property
    def all(self) -> Collection[Declared[StateDescriptor]]:
        """All declared states, in the order of their declaration."""
        return self._by_name.values()

    def of_name(self, name: str) -> Declared[StateDescriptor]:
        """Returns the declared state of this name."""
        return self._by_name[name]

    def keys_in_order(self, name: str, namespace: Hashable) -> list[tuple[object, object]]:
        """Returns the keys that have the state, each with its ``state_key``.

        Raises InvariantViolation if no order is kept.
        """
        table = self._by_name[name].table
        if table is None:
            raise InvariantViolation(f"state {name!r} keeps no order of its keys")
        return table.keys(namespace)

    def _new(self, descriptor: S) -> Declared[S]:
        config, changes = descriptor.ttl_config, self._changes
        observer = None if changes is None else observe(descriptor, self._cells, self._now, changes)
        if config is None:
            table = self._new_table() if self.in_order else None
            return Declared(descriptor, self._cells if table is None else table, None, table, None, observer)
        table = self._new_table()
        cleanup = config.get_cleanup_strategies()
        ttl = self.factory.create_ttl(config, self._now, _nothing)
        clean = cleaner(descriptor, ttl)
        strategy = cleanup.get_incremental_cleanup_strategy()
        if strategy is not None:
            ttl.accessed = TtlIncrementalCleanup(descriptor.name, table, strategy, clean, observer).state_accessed
            if strategy.run_cleanup_for_every_record:
                self._listen_to_moves(ttl.accessed)
        return Declared(descriptor, table, ttl, table, clean if cleanup.in_full_snapshot() else None, observer)


def _nothing() -> None:
    return
