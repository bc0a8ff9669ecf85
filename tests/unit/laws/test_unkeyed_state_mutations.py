"""Each operation of broadcast state and of operator state, broken once: law ``state`` is violated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import (
    BroadcastProcessFunction,
    CheckpointedFunction,
    KeyedBroadcastProcessFunction,
    MapFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Types
from flowsim.datastream.functions import FunctionInitializationContext, FunctionSnapshotContext
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor, ReducingStateDescriptor
from flowsim.laws.law import Outcome, Verdict
from flowsim.operators.function_states import FunctionBroadcastState, FunctionListState
from flowsim.state.broadcast_state import BroadcastState, ReadOnlyBroadcastState
from flowsim.state.map_entries import MapEntries
from flowsim.state.state_table import StateTable
from flowsim.testing import run_job
from tests.unit.laws.test_state_mutations import changed, constant, nothing

LONG = Types.LONG()
RULES = MapStateDescriptor("rules", Types.STRING(), LONG)
SUM = ReducingStateDescriptor("sum", lambda one, other: one + other, LONG)


def read_all(rules: Any) -> Iterable[object]:
    yield from (rules.get("a"), rules["c"], rules.contains("c"), "d" in rules, rules.is_empty())
    yield from (rules.items(), rules.keys(), rules.values(), list(rules))


class AllCalls(BroadcastProcessFunction):
    def process_element(self, value: int, ctx: BroadcastProcessFunction.ReadOnlyContext) -> Iterable[object]:
        yield str(list(read_all(ctx.get_broadcast_state(RULES))))

    def process_broadcast_element(self, value: int, ctx: BroadcastProcessFunction.Context) -> Iterable[object]:
        rules = ctx.get_broadcast_state(RULES)
        rules.put("a", value)
        rules["b"] = value
        rules.put_all({"c": value, "d": value + 1})
        yield str(list(read_all(rules)))
        rules.remove("a")
        del rules["b"]
        if value % 3 == 2:
            rules.clear()


class Applied(KeyedBroadcastProcessFunction):
    def process_element(self, value: int, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[object]:
        self.sum.add(value)
        return ()

    def open(self, runtime_context: Any) -> None:
        self.sum = runtime_context.get_reducing_state(SUM)

    def process_broadcast_element(
        self, value: int, ctx: KeyedBroadcastProcessFunction.Context
    ) -> Iterable[tuple[object, object]]:
        sums: list[tuple[object, object]] = []
        ctx.apply_to_keyed_state(SUM, lambda key, state: sums.append((key, state.get())))
        yield from sums


class Buffer(MapFunction, CheckpointedFunction):
    """Calls every method of both kinds of operator state."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.elements = store.get_list_state(ListStateDescriptor("elements", LONG))
        self.entries = store.get_broadcast_state(MapStateDescriptor("entries", Types.STRING(), LONG))

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        """The states are up to date."""

    def map(self, value: int) -> str:
        self.elements.add(value)
        self.elements.add_all([value, value + 1])
        self.entries.put("ab"[value % 2], value)
        read = self.elements.get(), list(self.elements), self.entries.get("a"), self.entries.items()
        if value % 3 == 1:
            self.elements.update([7, value])
        if value % 3 == 2:
            self.elements.clear()
        return str(read)


def run(how: str) -> list[Outcome]:
    env = StreamExecutionEnvironment.get_execution_environment()
    script = [entry for number in range(9) for entry in (record(number), sleep(250))]
    numbers = env.add_source(ScriptedSource(script))
    broadcast = env.add_source(ScriptedSource([sleep(100), *script])).broadcast(RULES)
    if how == "broadcast":
        numbers.connect(broadcast).process(AllCalls())
    elif how == "applied":
        numbers.key_by(lambda number: number % 4).connect(broadcast).process(Applied())
    else:
        numbers.map(Buffer())
    outcomes = run_job(env).outcomes
    assert not [each for each in outcomes if each.verdict is Verdict.VIOLATED and each.law != "state"]
    return [each for each in outcomes if each.law == "state"]


def mutations() -> Iterable[tuple[str, type, str, Callable[..., object]]]:
    for method in ("put", "put_all", "remove", "clear"):
        yield "broadcast", BroadcastState, method, nothing
    for method in ("__setitem__", "__delitem__"):
        yield "broadcast", ReadOnlyBroadcastState, method, nothing
    for method in ("get", "__getitem__"):
        yield "broadcast", ReadOnlyBroadcastState, method, constant(None)
    for method in ("contains", "__contains__", "is_empty"):
        yield "broadcast", ReadOnlyBroadcastState, method, constant(True)
        yield "broadcast", ReadOnlyBroadcastState, method, constant(False)
    for method in ("items", "keys", "values"):
        yield "broadcast", ReadOnlyBroadcastState, method, constant([])
        yield (
            "broadcast",
            ReadOnlyBroadcastState,
            method,
            changed(ReadOnlyBroadcastState, method, lambda read: read[1:]),
        )
        yield (
            "broadcast",
            ReadOnlyBroadcastState,
            method,
            changed(ReadOnlyBroadcastState, method, lambda read: read[::-1]),
        )
    yield "broadcast", ReadOnlyBroadcastState, "__iter__", lambda self: iter(())
    yield "broadcast", MapEntries, "remove", constant(False)
    yield "applied", StateTable, "keys", changed(StateTable, "keys", lambda keys: keys[1:])
    yield "applied", StateTable, "keys", changed(StateTable, "keys", lambda keys: [*keys, *keys[:1]])
    for method in ("add", "add_all", "update", "clear"):
        yield "operator", FunctionListState, method, nothing
    yield "operator", FunctionListState, "get", constant([])
    yield "operator", FunctionListState, "get", changed(FunctionListState, "get", lambda read: read[::-1])
    yield "operator", FunctionListState, "__iter__", lambda self: iter(())
    yield "operator", FunctionBroadcastState, "put", nothing
    yield "operator", FunctionBroadcastState, "get", constant(None)
    yield "operator", FunctionBroadcastState, "items", constant([])
    yield "operator", FunctionBroadcastState, "items", changed(FunctionBroadcastState, "items", lambda read: read[::-1])


MUTATIONS = list(mutations())


@pytest.mark.parametrize(
    ("how", "owner", "method", "replacement"),
    MUTATIONS,
    ids=[f"{number} {owner.__name__}.{method}" for number, (_, owner, method, _) in enumerate(MUTATIONS)],
)
def test_mutation_of_an_operation_violates_law(
    how: str, owner: type, method: str, replacement: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, replacement)
    (outcome,) = run(how)
    assert outcome.verdict is Verdict.VIOLATED


@pytest.mark.parametrize("how", ["broadcast", "applied", "operator"])
def test_correct_states_violate_nothing(how: str) -> None:
    (outcome,) = run(how)
    assert outcome.verdict is (Verdict.HOLDS if how == "applied" else Verdict.NOT_APPLICABLE)
    assert outcome.violations == 0


def test_keys_of_operator_state_differ_if_their_types_differ() -> None:
    class Typed(Buffer):
        def map(self, value: int) -> str:
            self.entries.put(1, "int")
            self.entries.put(True, "bool")
            return f"{self.entries.get(1)} {self.entries.get(True)} {self.entries.get(1.0)}"

    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(ScriptedSource([record(0)])).map(Typed())
    run = run_job(env)
    assert run.values() == ["int bool None"]
    assert not any(outcome.violations for outcome in run.outcomes)
