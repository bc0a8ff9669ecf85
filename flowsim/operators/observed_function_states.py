"""The operator states of user functions, compared with models if the run records state (law ``state``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from flowsim.facts.kinds import StateAction
from flowsim.operators.function_states import FunctionBroadcastState, FunctionListState
from flowsim.operators.stream_operator import OperatorContext
from flowsim.state.descriptors import ListStateDescriptor, MapStateDescriptor
from flowsim.state.list_state_observer import ListObserver
from flowsim.state.observed_states import Observed, ObservedElements, by_observer
from flowsim.state.snapshots.operator_state_backend import HeapBroadcastState, PartitionableListState
from flowsim.state.state_changes import NoKeys, StateChanges
from flowsim.state.state_observers import UnkeyedReport, observe_without_keys
from flowsim.values.closed_set import copy_value
from flowsim.values.equality import are_equal
from flowsim.values.keys import state_key


class ObservedFunctionListState(ObservedElements, FunctionListState):
    """An observed list without a key."""


class ObservedFunctionBroadcastState(Observed, FunctionBroadcastState):
    """An observed map without a key."""

    get = by_observer("get")
    put = by_observer("put")
    items = by_observer("items")


class PairsObserver:
    """Compares a map without a key with what its calls make of it: the pair that was put last comes last."""

    __slots__ = ("_expected", "_pairs", "_report")

    def __init__(self, pairs: HeapBroadcastState, report: UnkeyedReport) -> None:
        self._pairs = pairs
        self._expected = {state_key(pair[0]): pair for pair in pairs.get()}
        self._report = report

    def begin(self, namespace: object) -> None:
        """Does nothing: a call of this state changes nothing when it raises an error."""

    def get(self, call: Callable[[object], object], key: object) -> object:
        value = call(key)
        expected = self._expected.get(state_key(key), (None, None))[1]
        self._compare(value, expected, StateAction.WRONG_READ)
        return value

    def put(self, call: Callable[[object, object], None], key: object, value: object) -> None:
        call(key, value)
        key_id = state_key(key)
        self._expected.pop(key_id, None)
        self._expected[key_id] = (copy_value(key), copy_value(value))
        stored = list(self._pairs.get())
        if not self._compare(stored, list(self._expected.values()), StateAction.WRONG_CONTENT):
            self._expected = {state_key(pair[0]): pair for pair in stored}

    def items(self, call: Callable[[], list[tuple[object, object]]]) -> list[tuple[object, object]]:
        items = call()
        self._compare(items, list(self._expected.values()), StateAction.WRONG_READ)
        return items

    def _compare(self, observed: object, expected: object, action: StateAction) -> bool:
        """Returns True if both are equal, and records a difference."""
        if are_equal(observed, expected):
            return True
        self._report(None, None, None, action, len(self._expected), expected)
        return False


class FunctionStates:
    """Creates the states that a function reads and writes, on those of its operator.

    With ``changes``, the states are observed; each state has one observer for all calls of the store.
    """

    __slots__ = ("_changes", "_lists", "_maps")

    def __init__(self, changes: StateChanges | None = None) -> None:
        self._changes = changes
        self._lists: dict[str, ListObserver] = {}
        self._maps: dict[str, PairsObserver] = {}

    def list_state(self, descriptor: ListStateDescriptor, stored: PartitionableListState) -> FunctionListState:
        name, state = descriptor.name, FunctionListState(descriptor.name, stored)
        if self._changes is None:
            return state
        observer = self._lists.get(name)
        if observer is None:
            content = lambda: list(stored.get()) or None  # noqa: E731
            observer = observe_without_keys(ListObserver, descriptor, content, self._changes, "list")
            self._lists[name] = observer
            observer.take_over(observer.cell)
        return ObservedFunctionListState(state, observer)

    def broadcast_state(self, descriptor: MapStateDescriptor, stored: HeapBroadcastState) -> FunctionBroadcastState:
        name, state = descriptor.name, FunctionBroadcastState(stored)
        if self._changes is None:
            return state
        if name not in self._maps:
            self._maps[name] = PairsObserver(stored, UnkeyedReport(self._changes, name, "broadcast"))
        return ObservedFunctionBroadcastState(state, self._maps[name])


UNOBSERVED_STATES: Final = FunctionStates()
"""Creates the states of functions in runs that do not record state."""


def function_states(ctx: OperatorContext) -> FunctionStates:
    """Returns what creates the operator states of a function."""
    trace = None if ctx.trace is None else ctx.trace.state
    return UNOBSERVED_STATES if trace is None else FunctionStates(StateChanges(trace, ctx.operator_index, NoKeys()))
