"""Keyed state of one operator subtask, on the heap. Flink: HeapKeyedStateBackend, KeyedStateStore."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from flowsim.errors import BadInput
from flowsim.state.declared_states import Declared, DeclaredStates
from flowsim.state.descriptors import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    ValueStateDescriptor,
)
from flowsim.state.key_cells import KeyCells
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.map_entries import MapEntries
from flowsim.state.snapshots.keyed_state_snapshot import describe_state, stored_content
from flowsim.state.snapshots.stored_streams import StoredCell
from flowsim.state.state_changes import StateChanges
from flowsim.state.state_factory import STATE_FACTORY, StateFactory
from flowsim.state.states import AggregatingState, ListState, MapState, ReducingState, State, ValueState
from flowsim.values.keys import state_key

S = TypeVar("S", bound=StateDescriptor)


@dataclass(frozen=True, slots=True)
class StateEntry:
    """One cell of keyed state: ``content`` is the value, list or accumulator, or a map's list of (key, value).

    With a time to live, each value, element, accumulator or map value is a ``TtlValue``.
    """

    name: str
    namespace: Hashable
    key: object
    content: object


class KeyedStateBackend:
    """All keyed states of an operator subtask. Flink: KeyedStateBackend.

    A state is found by its name, and its content by (name, namespace, current key). Content is stored by key group, so
    that key groups can be moved to other subtasks.
    """

    __slots__ = ("_cells", "_declared", "_global", "on_move_changed", "set_current_key_and_id")

    set_current_key_and_id: Callable[[object, object], None]
    """Sets the current key for a caller that already has the key's ``state_key``; called for every record and timer."""

    on_move_changed: Callable[[], None] | None
    """Called when ``set_current_key_and_id`` is replaced, so that a caller can update its cached copy."""

    def __init__(
        self,
        key_group_range: KeyGroupRange,
        max_parallelism: int,
        key_type: str | None = None,
        now_ms: Callable[[], int] = lambda: 0,
        factory: StateFactory = STATE_FACTORY,
        changes: StateChanges | None = None,
    ) -> None:
        """``now_ms`` returns the processing time in ms for the expiry of state.

        With ``changes``, the changes of states are recorded, and the states are compared with models (law ``state``).
        """
        self._cells = KeyCells(key_group_range, max_parallelism, key_type)
        self.set_current_key_and_id = self._cells.move_to
        self.on_move_changed = None
        self._declared = DeclaredStates(
            self._cells,
            key_group_range,
            max_parallelism,
            key_type,
            now_ms,
            self._listen_to_moves,
            factory,
            changes,
        )
        self._global = KeyedStateStore(self._declared, None)

    @property
    def current_key(self) -> object:
        """The current key of all states."""
        return self._cells.current_key

    def set_current_key(self, key: object, key_id: object = None) -> None:
        """Sets the current key of all states; ``key_id`` is the key's ``state_key``, if the caller already has it."""
        self.set_current_key_and_id(key, state_key(key) if key_id is None else key_id)

    def store(self, namespace: Hashable = None) -> KeyedStateStore:
        """Returns the states of one namespace; None is the namespace of state outside windows."""
        return self._global if namespace is None else KeyedStateStore(self._declared, namespace)

    def keep_order(self) -> None:
        """Lets states that are declared from now on keep their keys in the heap's order, for ``apply_to_all_keys``."""
        self._declared.in_order = True

    def keys(self, name: str, namespace: Hashable = None) -> list[object]:
        """Returns the keys that have a state, in the heap's order; raises InvariantViolation if no order is kept."""
        return [key for key, _ in self._declared.keys_in_order(name, namespace)]

    def apply_to_all_keys(
        self, state_descriptor: StateDescriptor, function: Callable[[object, State], object], namespace: Hashable = None
    ) -> None:
        """Calls ``function(key, state)`` for every key that has the state; the last key stays the current key.

        Raises InvariantViolation if no order is kept. Flink: AbstractKeyedStateBackend.applyToAllKeys.
        """
        state = self.store(namespace).get_any(state_descriptor)
        name = state_descriptor.name
        observer = self._declared.of_name(name).observer
        expected = [] if observer is None else observer.key_ids(namespace)
        keys = self._declared.keys_in_order(name, namespace)
        for key, key_id in keys:
            self.set_current_key_and_id(key, key_id)
            function(key, state)
        if observer is not None:
            observer.visited(namespace, expected, [key_id for _, key_id in keys])

    def key_groups(self) -> list[int]:
        """Returns the key groups with state, in order."""
        return self._cells.key_groups()

    def entries_of_key_group(self, key_group: int) -> list[StateEntry]:
        """Returns all state of one key group, in the order in which keys and states were created."""
        entries = []
        for key, (name, namespace), content in self._cells.of_key_group(key_group):
            kept = self._declared.of_name(name).for_snapshot(content)
            if kept is not None:
                plain = kept.items() if isinstance(kept, MapEntries) else kept
                entries.append(StateEntry(name, namespace, key, plain))
        return entries

    def snapshot(self) -> tuple[dict[int, list[StoredCell]], dict[str, str]]:
        """Returns plain copies of all cells by key group, and the kinds of the states.

        States that keep their keys in order are stored in the order of Flink's heap.

        Raises ValueNotAllowed for a cell that cannot be a record value.
        """
        cells: dict[int, list[StoredCell]] = {}
        by_name = {each.descriptor.name: each for each in self._declared.all}
        for key_group in self._cells.key_groups():
            stored = cells[key_group] = []
            for key, (name, namespace), content in self._cells.of_key_group(key_group):
                if by_name[name].table is None:
                    stored.append(StoredCell(name, namespace, key, stored_content(name, content)))
        for name, declared in by_name.items():
            table = declared.table
            if table is None:
                continue
            for key_group in table.key_groups():
                for entry, content in table.snapshot(name, key_group):
                    kept = declared.for_snapshot(content)
                    if kept is not None:
                        plain = stored_content(name, kept, has_ttl=declared.ttl is not None)
                        cell = StoredCell(name, entry.namespace, entry.key, plain)
                        cells.setdefault(key_group, []).append(cell)
        for key_group, cell in self._declared.unclaimed.cells():
            cells.setdefault(key_group, []).append(cell)
        kinds = {name: describe_state(declared.descriptor) for name, declared in by_name.items()}
        return cells, {**kinds, **self._declared.unclaimed.descriptions}

    def restore(self, cells: Iterable[tuple[int, StoredCell]], descriptions: Mapping[str, str]) -> None:
        """Adds restored cells of this subtask's key groups, in ascending order of key groups (rule 12.120)."""
        self._declared.restore(cells, descriptions)

    def claim_restored(self, name: str) -> list[tuple[int, StoredCell]]:
        """Removes and returns the restored cells of a state that the operator keeps by itself."""
        return self._declared.unclaimed.claim_named(name)

    def validate(self) -> None:
        """Raises InvariantViolation unless every key is in its own key group of this subtask and holds state."""
        self._cells.validate()

    def _listen_to_moves(self, listener: Callable[[], None]) -> None:
        """Registers ``listener``, which is called before every later change of the current key.

        Flink: KeySelectionListener.
        """
        move = self.set_current_key_and_id

        def move_and_notify(key: object, key_id: object) -> None:
            listener()
            move(key, key_id)

        self.set_current_key_and_id = move_and_notify
        if self.on_move_changed is not None:
            self.on_move_changed()


class KeyedStateStore:
    """Returns the states of one namespace by their descriptors. Flink: KeyedStateStore.

    Raises BadInput if a name is used for two kinds of state.
    """

    __slots__ = ("_declared", "_namespace")

    def __init__(self, declared: DeclaredStates, namespace: Hashable) -> None:
        self._declared = declared
        self._namespace = namespace

    def get_state(self, state_descriptor: ValueStateDescriptor) -> ValueState:
        declared = self._declare(state_descriptor, ValueStateDescriptor)
        state = self._declared.factory.create_value_state(
            declared.cells, self._namespace, declared.effective(state_descriptor), declared.ttl
        )
        return state if declared.observer is None else declared.observer.observed(state, self._namespace)

    def get_list_state(self, state_descriptor: ListStateDescriptor) -> ListState:
        declared = self._declare(state_descriptor, ListStateDescriptor)
        state = self._declared.factory.create_list_state(
            declared.cells, self._namespace, declared.effective(state_descriptor), declared.ttl
        )
        return state if declared.observer is None else declared.observer.observed(state, self._namespace)

    def get_map_state(self, state_descriptor: MapStateDescriptor) -> MapState:
        declared = self._declare(state_descriptor, MapStateDescriptor)
        state = self._declared.factory.create_map_state(
            declared.cells, self._namespace, declared.effective(state_descriptor), declared.ttl
        )
        return state if declared.observer is None else declared.observer.observed(state, self._namespace)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor) -> ReducingState:
        declared = self._declare(state_descriptor, ReducingStateDescriptor)
        state = self._declared.factory.create_reducing_state(
            declared.cells, self._namespace, declared.effective(state_descriptor), declared.ttl
        )
        return state if declared.observer is None else declared.observer.observed(state, self._namespace)

    def get_aggregating_state(self, state_descriptor: AggregatingStateDescriptor) -> AggregatingState:
        declared = self._declare(state_descriptor, AggregatingStateDescriptor)
        state = self._declared.factory.create_aggregating_state(
            declared.cells, self._namespace, declared.effective(state_descriptor), declared.ttl
        )
        return state if declared.observer is None else declared.observer.observed(state, self._namespace)

    def get_any(self, state_descriptor: StateDescriptor) -> State:
        """Returns the state of any kind of descriptor; raises BadInput if the argument is not a descriptor."""
        match state_descriptor:
            case ValueStateDescriptor():
                return self.get_state(state_descriptor)
            case ListStateDescriptor():
                return self.get_list_state(state_descriptor)
            case MapStateDescriptor():
                return self.get_map_state(state_descriptor)
            case ReducingStateDescriptor():
                return self.get_reducing_state(state_descriptor)
            case AggregatingStateDescriptor():
                return self.get_aggregating_state(state_descriptor)
            case _:
                raise BadInput(f"expected the descriptor of a keyed state, got {state_descriptor!r:.60}")

    def _declare(self, descriptor: S, expected: type[S]) -> Declared[S]:
        if not isinstance(descriptor, expected):
            raise BadInput(f"expected a {expected.__name__}, got {type(descriptor).__name__}")
        return self._declared.declare(descriptor)
