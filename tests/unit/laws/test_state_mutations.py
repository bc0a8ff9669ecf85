"""Each operation of keyed state, broken once: law ``state`` is violated, and holds without the break."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Time, Types
from flowsim.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flowsim.datastream.window import EventTimeSessionWindows, EventTimeTrigger, TimeWindow, TriggerResult
from flowsim.laws.law import Outcome, Verdict
from flowsim.state import declared_states
from flowsim.state.map_entries import MapEntries
from flowsim.state.states import (
    AggregatingState,
    ListState,
    MapState,
    ReducingState,
    ValueState,
)
from flowsim.state.ttl_decorator import TtlDecorator, TtlValue
from flowsim.state.ttl_states import TtlAggregatingState, TtlListState, TtlMapState, TtlReducingState, TtlValueState
from flowsim.testing import run_job
from tests.support.jobs.fixed_jobs import interval_join

LONG = Types.LONG()
TTL_MS = 100


class Spread(AggregateFunction):
    """The accumulator is the smallest and the largest number; the result their difference."""

    def create_accumulator(self) -> tuple[int, int]:
        return (1_000, -1_000)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return min(accumulator[0], value), max(accumulator[1], value)

    def get_result(self, accumulator: tuple[int, int]) -> int:
        return accumulator[1] - accumulator[0]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return min(acc_a[0], acc_b[0]), max(acc_a[1], acc_b[1])


def with_ttl(descriptor: StateDescriptor, config: StateTtlConfig | None) -> Any:
    if config is not None:
        descriptor.enable_time_to_live(config)
    return descriptor


class AllCalls(KeyedProcessFunction):
    """Calls every method of every kind of state, with a time to live or without."""

    def __init__(self, config: StateTtlConfig | None) -> None:
        self.config = config

    def open(self, runtime_context: RuntimeContext) -> None:
        context, config = runtime_context, self.config
        self.value = context.get_state(with_ttl(ValueStateDescriptor("value", LONG), config))
        self.list = context.get_list_state(with_ttl(ListStateDescriptor("list", LONG), config))
        self.map = context.get_map_state(with_ttl(MapStateDescriptor("map", Types.STRING(), LONG), config))
        self.reducing = context.get_reducing_state(
            with_ttl(ReducingStateDescriptor("reducing", lambda one, other: 10 * one + other, LONG), config)
        )
        self.aggregating = context.get_aggregating_state(
            with_ttl(AggregatingStateDescriptor("aggregating", Spread(), Types.TUPLE([LONG, LONG])), config)
        )

    def process_element(self, value: tuple[str, int], ctx: KeyedProcessFunction.Context) -> Iterable[str]:
        number = value[1]
        found = [*self.use_value(number), *self.use_list(number), *self.use_map(number)]
        for state in (self.reducing, self.aggregating):
            # Every other time the first call finds what has expired.
            found += [state.get() if number % 2 else None, state.add(number), state.add(number + 3), state.get()]
            if number % 4 == 3:
                found.append(state.clear())
        yield str(found)

    def use_value(self, number: int) -> Iterable[object]:
        before = self.value.value()
        self.value.update(number)
        yield from (before, self.value.value())
        if number % 4 == 2:
            self.value.update(None)
        if number % 4 == 3:
            self.value.clear()

    def use_list(self, number: int) -> Iterable[object]:
        before = self.list.get()
        self.list.add(number)
        self.list.add_all([number + 1, number + 2])
        yield from (before, self.list.get(), list(self.list))
        if number % 4 == 1:
            self.list.update([7, number])
        if number % 4 == 2:
            self.list.update([])
        if number % 4 == 3:
            self.list.clear()

    def use_map(self, number: int) -> Iterable[object]:
        entries = self.map
        before = entries.items(), entries.is_empty()
        entries.put("a", number)
        entries["b"] = number
        entries.put_all({"c": number, "d": number + 1})
        entries.remove("a")
        entries.put("e", number)
        del entries["e"]
        yield from (before, entries.get("b"), entries["c"], entries.get("x"), entries.contains("c"), "c" in entries)
        yield "a" in entries
        yield from (entries.keys(), entries.values(), entries.items(), list(entries), entries.is_empty())
        if number % 4 == 3:
            entries.clear()


def config_of(how: str) -> StateTtlConfig | None:
    """``none``, or the visibility and the update type of a time to live, and how cleanup works."""
    if how == "none":
        return None
    builder = StateTtlConfig.new_builder(Time.milliseconds(TTL_MS))
    if "returned" in how:
        builder = builder.return_expired_if_not_cleaned_up()
    if "renewed" in how:
        builder = builder.update_ttl_on_read_and_write()
    if "kept" in how:
        builder = builder.disable_cleanup_in_background()
    return builder.build()


def run(how: str) -> list[Outcome]:
    env = StreamExecutionEnvironment.get_execution_environment()
    pauses = (10, 60, 60, 10, 150, 10, 90, 10, 10, 250, 40, 70)
    entries = [
        entry
        for number, pause_ms in enumerate(pauses)
        for entry in (record(("k", number)), record(("l", number + 1)), sleep(pause_ms))
    ]
    env.add_source(ScriptedSource(entries)).key_by(lambda value: value[0]).process(AllCalls(config_of(how)))
    return judged(env)


def judged(env: StreamExecutionEnvironment) -> list[Outcome]:
    outcomes = run_job(env).outcomes
    assert not [each for each in outcomes if each.verdict is Verdict.VIOLATED and each.law != "state"]
    return [each for each in outcomes if each.law == "state"]


class Merging(EventTimeTrigger):
    """Keeps the elements of merging windows in three states, and fires if they reach a sum."""

    def __init__(self, config: StateTtlConfig | None) -> None:
        super().__init__()
        self.states = (
            with_ttl(ListStateDescriptor("list", LONG), config),
            with_ttl(ReducingStateDescriptor("reducing", lambda one, other: 10 * one + other, LONG), config),
            with_ttl(AggregatingStateDescriptor("aggregating", Spread(), Types.TUPLE([LONG, LONG])), config),
        )

    def on_element(self, element: Any, timestamp: int, window: TimeWindow, ctx: Any) -> TriggerResult:
        for descriptor in self.states:
            ctx.get_partitioned_state(descriptor).add(element[1])
        super().on_element(element, timestamp, window, ctx)
        some = ctx.get_partitioned_state(self.states[2]).get() > 3
        return TriggerResult.FIRE if some else TriggerResult.CONTINUE

    def on_merge(self, window: TimeWindow, ctx: Any) -> None:
        for descriptor in self.states:
            ctx.merge_partitioned_state(descriptor)
        super().on_merge(window, ctx)

    def clear(self, window: TimeWindow, ctx: Any) -> None:
        for descriptor in self.states:
            ctx.get_partitioned_state(descriptor).clear()
        super().clear(window, ctx)


def run_merges(how: str) -> list[Outcome]:
    """Sessions with a gap of 5 ms: a third record merges the windows of the two before it."""
    env = StreamExecutionEnvironment.get_execution_environment()
    entries = []
    for start in (0, 100, 200, 300):
        for offset, number in ((0, 5), (8, 7), (4, 9), (20, 2), (15, 4), (9, 1), (13, 3)):
            entries += [record(("k", number), start + offset), sleep(20 + start // 10)]
        entries.append(watermark(start + 60))
    keyed = env.add_source(ScriptedSource(entries)).key_by(lambda value: value[0])
    windows = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(5))).trigger(Merging(config_of(how)))
    windows.reduce(lambda one, other: (one[0], one[1] + other[1]))
    return judged(env)


def nothing(*_: object) -> None:
    """Does nothing."""


def constant(value: object) -> Callable[..., object]:
    return lambda *_: value


def changed(owner: type, method: str, change: Callable[[Any], object]) -> Callable[..., object]:
    """The method with another result."""
    original = getattr(owner, method)
    return lambda *arguments: change(original(*arguments))


def repeated(owner: type, method: str) -> Callable[..., None]:
    original = getattr(owner, method)

    def twice(*arguments: object) -> None:
        original(*arguments)
        original(*arguments)

    return twice


def one_more(owner: type, method: str) -> Callable[..., None]:
    """The method with a last argument that is 1 higher, or a list or dict of such values."""
    original = getattr(owner, method)

    def higher(value: Any) -> object:
        if isinstance(value, dict):
            return {key: item + 1 for key, item in value.items()}
        return [item + 1 for item in value] if isinstance(value, list) else value and value + 1

    return lambda *arguments: original(*arguments[:-1], higher(arguments[-1]))


def swapped(owner: type, method: str) -> Callable[..., object]:
    original = getattr(owner, method)
    return lambda self, first, second: original(self, second, first)


KINDS = {
    "none": (ValueState, ListState, MapState, ReducingState, AggregatingState),
    "ttl": (TtlValueState, TtlListState, TtlMapState, TtlReducingState, TtlAggregatingState),
}


def writes() -> Iterable[tuple[str, type, str, Callable[..., object]]]:
    for how, (value, elements, entries, reducing, aggregating) in KINDS.items():
        for owner, method in (
            (value, "update"), (value, "clear"), (elements, "add"), (elements, "add_all"), (elements, "update"),
            (elements, "clear"), (entries, "put"), (entries, "put_all"), (entries, "remove"), (entries, "clear"),
            (reducing, "add"), (reducing, "clear"), (aggregating, "add"), (aggregating, "clear"),
        ):  # fmt: skip
            yield how, owner, method, nothing
        for owner, method in (
            (value, "update"), (elements, "add"), (elements, "add_all"), (elements, "update"), (entries, "put"),
            (entries, "put_all"), (reducing, "add"), (aggregating, "add"),
        ):  # fmt: skip
            yield how, owner, method, one_more(owner, method)
        for owner, method in ((elements, "add"), (elements, "add_all"), (reducing, "add")):
            yield how, owner, method, repeated(owner, method)
        yield how, reducing, "_merge", swapped(reducing, "_merge")
        yield how, reducing, "_merge", lambda self, first, second: first
        yield how, reducing, "_merge", lambda self, first, second: second
        yield how, aggregating, "_aggregated", lambda self, accumulator, value: accumulator


def reads() -> Iterable[tuple[str, type, str, Callable[..., object]]]:
    for how, (value, elements, entries, reducing, aggregating) in KINDS.items():
        for owner, method in ((value, "value"), (reducing, "get"), (aggregating, "get"), (entries, "get")):
            yield how, owner, method, constant(None)
            yield how, owner, method, changed(owner, method, lambda result: (result or 0) + 1)
        for owner, method in ((elements, "get"), (entries, "items"), (entries, "keys"), (entries, "values")):
            yield how, owner, method, constant([])
            yield how, owner, method, changed(owner, method, lambda result: result[1:])
            yield how, owner, method, changed(owner, method, lambda result: result[::-1])
            yield how, owner, method, changed(owner, method, lambda result: [*result, *result[:1]])
        for method in ("is_empty", "contains"):
            yield how, entries, method, changed(entries, method, lambda result: not result)
            yield how, entries, method, constant(True)
            yield how, entries, method, constant(False)
    yield "none", MapState, "__getitem__", constant(None)
    yield "none", MapState, "__contains__", constant(False)
    yield "none", MapState, "__iter__", lambda self: iter(())
    yield "none", MapState, "__setitem__", nothing
    yield "none", MapState, "__delitem__", nothing
    yield "none", ListState, "__iter__", lambda self: iter(())


def below_the_states() -> Iterable[tuple[str, type, str, Callable[..., object]]]:
    if execution_mode() != COMPILED:  # the methods of a compiled class cannot all be replaced
        yield "none", MapEntries, "remove", constant(False)
        yield "none", MapEntries, "put_all", nothing
        yield "none", MapEntries, "get", constant(None)
    for how in ("ttl", "ttl returned", "ttl renewed", "ttl kept", "ttl returned renewed kept"):
        yield how, TtlDecorator, "expired", constant(False)
        yield how, TtlDecorator, "expired", constant(True)
        yield how, TtlDecorator, "wrap", lambda self, value: TtlValue(value, self._now() + 1)
        yield how, TtlDecorator, "read", lambda self, value, update, clear: value
        yield how, TtlDecorator, "read", constant(None)
    yield "ttl", TtlDecorator, "unexpired", constant(None)
    yield "ttl kept", TtlDecorator, "unexpired", lambda self, value: None if value is None else value.user_value


def merges() -> Iterable[tuple[str, type, str, Callable[..., object]]]:
    for how, (_, elements, _, reducing, aggregating) in KINDS.items():
        for owner in (elements, reducing, aggregating):
            yield how, owner, "merge_namespaces", nothing
            yield how, owner, "merge_namespaces", changed_sources(owner)
            yield how, owner, "_merge", lambda self, first, second: first
            yield how, owner, "_merge", lambda self, first, second: second
            yield how, owner, "_merge", swapped(owner, "_merge")


def changed_sources(owner: type) -> Callable[..., None]:
    """Leaves out the last of the namespaces."""
    original = owner.merge_namespaces  # type: ignore[attr-defined]
    return lambda self, sources: original(self, list(sources)[:-1])


MUTATIONS = [*writes(), *reads(), *below_the_states()]


@pytest.mark.parametrize(
    ("how", "owner", "method", "replacement"),
    MUTATIONS,
    ids=[f"{number} {owner.__name__}.{method} {how}" for number, (how, owner, method, _) in enumerate(MUTATIONS)],
)
def test_mutation_of_an_operation_violates_law(
    how: str, owner: type, method: str, replacement: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, replacement)
    (outcome,) = run(how)
    assert outcome.verdict is Verdict.VIOLATED


MERGES = list(merges())


@pytest.mark.parametrize(
    ("how", "owner", "method", "replacement"),
    MERGES,
    ids=[f"{number} {owner.__name__}.{method} {how}" for number, (how, owner, method, _) in enumerate(MERGES)],
)
def test_mutation_of_a_merge_violates_law(
    how: str, owner: type, method: str, replacement: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owner, method, replacement)
    (outcome,) = run_merges(how)
    assert outcome.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    "how",
    ["none", "ttl", "ttl returned", "ttl renewed", "ttl returned renewed", "ttl kept", "ttl returned kept",
     "ttl renewed kept", "ttl returned renewed kept"],
)  # fmt: skip
def test_law_holds_for_correct_states(how: str) -> None:
    (outcome,) = run(how)
    assert (outcome.verdict, outcome.violations) == (Verdict.HOLDS, 0)
    assert outcome.rows_examined > 100
    (merged,) = run_merges(how)
    assert (merged.verdict, merged.violations) == (Verdict.HOLDS, 0)
    assert merged.rows_examined > 100


@pytest.mark.parametrize("how", ["ttl", "ttl returned", "ttl renewed"])
def test_cleanup_of_live_values_violates_law(how: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(declared_states, "cleaner", lambda descriptor, ttl: lambda content: None)
    (outcome,) = run(how)
    assert outcome.verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("method", "replacement", "verdict"),
    [
        (None, None, Verdict.HOLDS),
        ("append", nothing, Verdict.VIOLATED),
        ("borrowed_between", lambda self, lowest, highest: [], Verdict.VIOLATED),
    ],
    ids=["none", "append", "borrowed_between"],
)
def test_mutation_of_the_buckets_of_an_interval_join_violates_law(
    method: str | None, replacement: Callable[..., object], verdict: Verdict, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method is not None:
        monkeypatch.setattr(MapState, method, replacement)
    sides = [ScriptedSource([record(("k", at), at) for at in range(5)]) for _ in range(2)]
    outcomes = run_job(interval_join((sides[0], sides[1]), (-1, 1), {})).outcomes
    assert [each.verdict for each in outcomes if each.law == "state"] == [verdict]
