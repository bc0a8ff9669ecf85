"""Operator states of user functions that are compared with their models (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from flowsim.facts.kinds import StateAction
from flowsim.operators.function_states import (
    FUNCTION_STATES,
    FunctionBroadcastState,
    FunctionListState,
    FunctionStateFactory,
)
from flowsim.operators.stream_operator import OperatorContext
from flowsim.state.descriptors import ListStateDescriptor, MapStateDescriptor
from flowsim.state.observed_broadcast_state import UnkeyedCell, UnkeyedReport, no_time_ms
from flowsim.state.snapshots.snapshot_contexts import OperatorBroadcastState, OperatorListState
from flowsim.state.state_changes import NoKeys, StateChanges
from flowsim.state.state_model import ListModel
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal
from flowsim.values.keys import state_key


class ObservedFunctionListState(FunctionListState):
    """Wraps a list without a key, and compares each call with the model."""

    __slots__ = ("_list", "_model")

    def __init__(self, wrapped: FunctionListState, name: str, state: OperatorListState, model: ListModel) -> None:
        super().__init__(name, state)
        self._list = wrapped
        self._model = model

    def get(self) -> list[object]:
        return self._read(self._list.get)

    def __iter__(self) -> Iterator[object]:
        return iter(self._read(lambda: list(self._list)))

    def _read(self, read: Callable[[], list[object]]) -> list[object]:
        self._model.begin(None)
        elements = read()
        self._model.list_read(elements)
        return elements

    def add(self, value: object) -> None:
        self._model.begin(None)
        self._list.add(value)
        self._model.appended([value])

    def add_all(self, values: Iterable[object]) -> None:
        self._model.begin(None)
        added = list(values)
        self._list.add_all(added)
        self._model.appended(added)

    def update(self, values: Iterable[object]) -> None:
        self._model.begin(None)
        elements = list(values)
        self._list.update(elements)
        self._model.updated(elements)

    def clear(self) -> None:
        self._model.begin(None)
        self._list.clear()
        self._model.cleared()


class ObservedFunctionBroadcastState(FunctionBroadcastState):
    """Wraps a map without a key, and compares each call with what the calls before it make of the map."""

    __slots__ = ("_expected", "_map", "_report")

    def __init__(
        self,
        wrapped: FunctionBroadcastState,
        state: OperatorBroadcastState,
        expected: dict[object, tuple[object, object]],
        report: UnkeyedReport,
    ) -> None:
        """``expected``: the pairs by the ``state_key`` of their keys, the pair that was put last comes last."""
        super().__init__(state)
        self._map = wrapped
        self._expected = expected
        self._report = report

    def get(self, key: object) -> object:
        value = self._map.get(key)
        expected = self._expected.get(state_key(key), (None, None))[1]
        self._compare(value, expected, StateAction.WRONG_READ)
        return value

    def put(self, key: object, value: object) -> None:
        self._map.put(key, value)
        key_id = state_key(key)
        self._expected.pop(key_id, None)
        self._expected[key_id] = (copy_value(key), copy_value(value))
        stored = list(self._state.get())
        if self._compare(stored, list(self._expected.values()), StateAction.WRONG_CONTENT):
            return
        self._expected.clear()
        self._expected.update((state_key(pair[0]), pair) for pair in stored)

    def items(self) -> list[tuple[object, object]]:
        items = self._map.items()
        self._compare(items, list(self._expected.values()), StateAction.WRONG_READ)
        return items

    def _compare(self, observed: object, expected: object, action: StateAction) -> bool:
        """Returns True if both are equal, and records a difference."""
        if are_equal(observed, expected):
            return True
        self._report(None, None, None, action, len(self._expected), expected)
        return False


class ObservedFunctionStates(FunctionStateFactory):
    """Creates observed states; each state has one model for all calls of the store."""

    __slots__ = ("_changes", "_lists", "_maps")

    def __init__(self, changes: StateChanges) -> None:
        self._changes = changes
        self._lists: dict[str, ListModel] = {}
        self._maps: dict[str, dict[object, tuple[object, object]]] = {}

    def list_state(self, descriptor: ListStateDescriptor, state: OperatorListState) -> FunctionListState:
        name, model = descriptor.name, self._lists.get(descriptor.name)
        if model is None:
            report = UnkeyedReport(self._changes, name, "list")
            held = UnkeyedCell(lambda: list(state.get()) or None)
            model = self._lists[name] = ListModel(descriptor, held, no_time_ms, report)
            model.take_over(model.cell)
        return ObservedFunctionListState(super().list_state(descriptor, state), name, state, model)

    def broadcast_state(self, descriptor: MapStateDescriptor, state: OperatorBroadcastState) -> FunctionBroadcastState:
        name = descriptor.name
        if name not in self._maps:
            self._maps[name] = {state_key(pair[0]): pair for pair in state.get()}
        report = UnkeyedReport(self._changes, name, "broadcast")
        wrapped = super().broadcast_state(descriptor, state)
        return ObservedFunctionBroadcastState(wrapped, state, self._maps[name], report)


def function_states(ctx: OperatorContext) -> FunctionStateFactory:
    """Returns the factory of the operator states of a function: observed ones if the run records state."""
    trace = None if ctx.trace is None else ctx.trace.state
    return (
        FUNCTION_STATES if trace is None else ObservedFunctionStates(StateChanges(trace, ctx.operator_index, NoKeys()))
    )
