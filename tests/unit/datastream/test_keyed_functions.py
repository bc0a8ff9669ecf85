"""State and reductions of keyed streams in whole jobs: functions with state, aggregations, broadcast state, side outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from flowsim.datastream import (
    BroadcastProcessFunction,
    CoProcessFunction,
    DataStream,
    FilterFunction,
    FlatMapFunction,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Types
from flowsim.datastream.common.time import Duration
from flowsim.datastream.state import MapStateDescriptor, StateTtlConfig, ValueStateDescriptor
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.functions.broadcast_contexts import BroadcastContext, ReadOnlyBroadcastContext
from flowsim.operators.functions.process import ProcessContext
from flowsim.recording.memory import MemoryRecorder

COUNT = ValueStateDescriptor("count", Types.LONG())
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
SIDE = OutputTag("side")


class Counting:
    """Numbers the records of each key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)
        self.seen = runtime_context.get_metrics_group().add_group("mine").counter("seen")

    def next(self) -> int:
        self.seen.inc()
        number = self.count.value()
        self.count.update((number if isinstance(number, int) else 0) + 1)
        return int(str(self.count.value()))


class Numbered(Counting, MapFunction):
    def map(self, value: object) -> object:
        return value, self.next()


class FirstOnly(Counting, FilterFunction):
    def filter(self, value: object) -> bool:
        return self.next() == 1


class Repeated(Counting, FlatMapFunction):
    def flat_map(self, value: object) -> Iterable[object]:
        return [value] * self.next()


class Rules(BroadcastProcessFunction):
    def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
        yield SIDE, value
        yield value, ctx.get_broadcast_state(RULES).get("x")

    def process_broadcast_element(self, value: tuple[str, int], ctx: BroadcastContext) -> None:
        ctx.get_broadcast_state(RULES).put(*value)


class KeyedRules(Rules, KeyedBroadcastProcessFunction):
    """The same on keyed streams."""


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def letters(env: StreamExecutionEnvironment, text: str) -> DataStream:
    return env.from_collection(list(text))


def results(stream: DataStream) -> list[object]:
    return list(stream.execute_and_collect())


@pytest.mark.parametrize(
    ("apply", "expected"),
    [
        (lambda keyed: keyed.map(Numbered()), [("a", 1), ("b", 1), ("a", 2)]),
        (lambda keyed: keyed.filter(FirstOnly()), ["a", "b"]),
        (lambda keyed: keyed.flat_map(Repeated()), ["a", "b", "a", "a"]),
        (lambda keyed: keyed.map(str.upper), ["A", "B", "A"]),
    ],
)
def test_rich_functions_use_keyed_state(apply: Callable[[DataStream], DataStream], expected: list[object]) -> None:
    assert results(apply(letters(environment(), "aba").key_by(lambda letter: letter))) == expected


def test_aggregation_is_checked_when_declared_if_type_is_known() -> None:
    env = environment()
    typed = env.from_collection([("a", 1)], Types.TUPLE([Types.STRING(), Types.INT()])).key_by(lambda pair: pair[0])
    assert results(typed.sum(1)) == [("a", 1)]
    with pytest.raises(BadInput, match="sum: a field of type STRING cannot be added"):
        typed.sum(0)
    with pytest.raises(BadInput, match="has no field 'f2': expected one of f0, f1"):
        typed.max_by("f2")


def test_broadcast_state_is_per_subtask_and_side_outputs_work() -> None:
    env = environment()
    env.set_parallelism(3)
    rules = env.from_collection([("x", 1)]).broadcast(RULES)
    joined = env.from_collection(list(range(5))).connect(rules).process(Rules())
    assert (joined.get_name(), sorted(results(joined.get_side_output(SIDE)))) == (  # type: ignore[type-var]
        "Co-Process-Broadcast",
        [0, 1, 2, 3, 4],
    )


def test_keyed_stream_with_broadcast_needs_keyed_function() -> None:
    env = environment()
    keyed, rules = letters(env, "ab").key_by(lambda letter: letter), env.from_collection([("x", 1)]).broadcast(RULES)
    joined = keyed.connect(rules).process(KeyedRules())
    assert joined.get_name() == "Co-Process-Broadcast-Keyed"
    assert {letter for letter, _ in results(joined)} == {"a", "b"}  # type: ignore[misc]
    with pytest.raises(TypeError, match="a keyed stream needs a KeyedBroadcastProcessFunction"):
        keyed.connect(rules).process(Rules())
    with pytest.raises(TypeError, match="a stream without keys needs a BroadcastProcessFunction"):
        letters(env, "a").connect(rules).process(lambda value: value)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="expected states with different names, got 'rules', 'rules'"):
        letters(env, "a").broadcast(RULES, RULES)
    with pytest.raises(BadInput, match="belong to different environments"):
        letters(environment(), "a").connect(rules).process(Rules())


def test_co_process_function_has_state_only_if_both_streams_are_keyed() -> None:
    class Both(Counting, CoProcessFunction):
        def process_element1(self, value: object, ctx: ProcessContext) -> Iterable[object]:
            return ((value, self.next()),)

        process_element2 = process_element1

    env = environment()
    one, other = letters(env, "a").key_by(lambda letter: letter), letters(env, "a").key_by(lambda letter: letter)
    assert sorted(results(one.connect(other).process(Both()))) == [("a", 1), ("a", 2)]  # type: ignore[type-var]
    half = letters(env, "a").key_by(lambda letter: letter).connect(letters(env, "a"))
    with pytest.raises(Exception, match="get_state needs a keyed stream"):
        results(half.process(Both()))


def test_job_with_broadcast_state_timers_and_aggregation_keeps_laws() -> None:
    class Watching(KeyedBroadcastProcessFunction):
        """A timer per key tells what was broadcast by then."""

        def process_element(self, value: tuple[str, int], ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
            ctx.timer_service().register_event_time_timer(value[1])
            return (value,)

        def process_broadcast_element(self, value: tuple[str, int], ctx: BroadcastContext) -> None:
            ctx.get_broadcast_state(RULES).put(*value)

        def on_timer(self, timestamp: int, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
            yield ctx.get_current_key(), timestamp

    recorder = MemoryRecorder(Level.FULL)
    env = environment().flowsim_settings(recorder=recorder)
    numbers = env.from_collection([(letter, number) for number, letter in enumerate("abcabcab")])
    rules = env.from_collection([("x", 1), ("y", 2)]).broadcast(RULES)
    env.set_parallelism(2)
    watched = numbers.key_by(lambda pair: pair[0], Types.STRING()).connect(rules).process(Watching())
    summed = watched.key_by(lambda pair: pair[0], Types.STRING()).sum(1)
    assert len(results(summed)) == 16
    outcomes = check_all(recorder)
    assert [outcome.law for outcome in outcomes if outcome.verdict is Verdict.VIOLATED] == []
    held = {outcome.law for outcome in outcomes if outcome.verdict is Verdict.HOLDS}
    assert "key-routing" in held


def test_union_of_unions_has_every_record_of_each() -> None:
    env = environment()
    left, right = letters(env, "ab").union(letters(env, "c")), letters(env, "d").union(letters(env, "ef"))
    assert sorted(results(left.union(right, left))) == list("aabbccdef")  # type: ignore[type-var]


def test_state_ttl_expires_by_processing_time() -> None:
    class Forgetful(KeyedProcessFunction):
        """Tells what it remembers, and begins again when that is nothing."""

        def open(self, runtime_context: RuntimeContext) -> None:
            living = ValueStateDescriptor("living", Types.LONG())
            living.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(50)).build())
            self.first = runtime_context.get_state(living)

        def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object]:
            yield self.first.value()
            if self.first.value() is None:
                self.first.update(ctx.timer_service().current_processing_time())

    remembered = letters(environment(), "aaaa").key_by(lambda letter: letter).process(Forgetful())
    first, *rest = results(remembered.cost(Duration.of_millis(20)))
    assert first is None
    assert rest == [rest[0], rest[0], None]


def ttl_of(millis: int) -> StateTtlConfig:
    return StateTtlConfig.new_builder(Duration.of_millis(millis)).build()


def test_state_ttl_of_an_operator_is_that_of_all_states_of_its_function() -> None:
    class Pairs(Counting, KeyedProcessFunction):
        def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object]:
            yield self.next()

    keyed = letters(environment(), "aaaa").key_by(lambda letter: letter)
    counted = keyed.process(Pairs()).cost(Duration.of_millis(20))
    assert results(counted.state_ttl(ttl_of(50))) == [1, 2, 3, 4]
    counted = letters(environment(), "aaaa").key_by(lambda letter: letter).process(Pairs()).cost(Duration.of_millis(20))
    assert results(counted.state_ttl(ttl_of(20))) == [1, 1, 1, 1]
    assert COUNT.ttl_config is None


def test_state_ttl_of_an_operator_is_refused_without_key_or_config() -> None:
    plain = letters(environment(), "a").map(lambda letter: letter).name("plain")
    with pytest.raises(BadInput, match="operator 'plain': state_ttl: needs a keyed stream"):
        plain.state_ttl(ttl_of(1))
    with pytest.raises(BadInput, match="operator 'plain': state_ttl: expected a StateTtlConfig, got 5"):
        plain.state_ttl(5)  # type: ignore[arg-type]
