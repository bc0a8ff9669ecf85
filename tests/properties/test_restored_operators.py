"""An operator that is restored, also with another parallelism, goes on like one that was not disturbed (12.23, 12.65)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.connectors.script import record
from flowsim.datastream import BroadcastProcessFunction, KeyedBroadcastProcessFunction, RuntimeContext
from flowsim.datastream.common import Duration
from flowsim.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction
from flowsim.datastream.state import (
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from flowsim.operators.functions.co_broadcast import CoBroadcastWithKeyedOperator, CoBroadcastWithNonKeyedOperator
from flowsim.operators.functions.co_process import KeyedCoProcessOperator
from flowsim.operators.functions.grouped_reduce import GroupedReduceOperator
from flowsim.operators.functions.interval_join import IntervalBounds, IntervalJoinOperator
from flowsim.operators.functions.process import KeyedProcessOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import OutputTag
from flowsim.values.types import Types
from tests.support.examples import examples
from tests.support.jobs.window_scenarios import ASSIGNERS, EVICTORS, TRIGGERS, accepted, window_scenario
from tests.support.operators.restored_subtasks import EncodedStreams, Keyed, Subtasks

pytestmark = pytest.mark.property

TTL = StateTtlConfig.new_builder(Duration.of_millis(9)).cleanup_incrementally(2, True).build()
RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
COUNT = ValueStateDescriptor("count", Types.LONG())


def expiring(descriptor: Any) -> Any:
    descriptor.enable_time_to_live(TTL)
    return descriptor


class AllStates:
    """A function of one or two inputs with every kind of state, and timers of both domains."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_reducing_state(
            ReducingStateDescriptor("total", lambda a, b: a * 3 + b, Types.LONG())
        )
        self.numbers = runtime_context.get_list_state(expiring(ListStateDescriptor("numbers", Types.LONG())))
        self.counts = runtime_context.get_map_state(MapStateDescriptor("counts", Types.LONG(), Types.LONG()))
        self.last = runtime_context.get_state(expiring(ValueStateDescriptor("last", Types.LONG())))

    def process_element(self, value: Any, ctx: Any) -> Iterable[object]:
        self.total.add(value[1])
        self.numbers.add(value[1])
        self.counts.put(value[1], (self.counts.get(value[1]) or 0) + 1)
        yield value, self.total.get(), list(self.numbers), sorted(self.counts.items()), self.last.value()
        self.last.update(value[1])
        timers = ctx.timer_service()
        timers.register_event_time_timer(timers.current_watermark() + 1 + value[1] % 13)
        if value[1] % 3 == 0:
            timers.register_processing_time_timer(timers.current_processing_time() + value[1] % 7)

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[object]:
        yield ctx.get_current_key(), timestamp, str(ctx.time_domain()), list(self.numbers), self.last.value()
        self.numbers.clear()


class OneInput(AllStates, KeyedProcessFunction):
    pass


class TwoInputs(AllStates, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Iterable[object]:
        return self.process_element(value, ctx)

    def process_element2(self, value: Any, ctx: Any) -> Iterable[object]:
        yield "second", value, self.total.get(), ctx.timestamp()


class Rules(KeyedBroadcastProcessFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: Any, ctx: Any) -> Iterable[object]:
        self.count.update((self.count.value() or 0) + value[1])  # type: ignore[operator]
        yield value, self.count.value(), list(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[object]:
        ctx.get_broadcast_state(RULES).put(*value)
        ctx.apply_to_keyed_state(COUNT, lambda key, state: state.update(state.value() * 2 + value[1]))
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[object]:
        return ()


class RulesWithoutKeys(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Iterable[object]:
        yield value, list(ctx.get_broadcast_state(RULES).items())

    def process_broadcast_element(self, value: Any, ctx: Any) -> Iterable[object]:
        ctx.get_broadcast_state(RULES).put(*value)
        return ()


class OverdueTimers(KeyedProcessFunction):
    """Emits each timer; its state and its timers do not depend on when a timer fires."""

    def process_element(self, value: Any, ctx: Any) -> Iterable[object]:
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + value[1])
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[object]:
        yield ctx.get_current_key(), timestamp, str(ctx.time_domain())


class Pairs:
    def open(self, runtime_context: RuntimeContext) -> None:
        pass

    def close(self) -> None:
        pass

    def process_element(self, left: object, right: object, ctx: object) -> Iterable[object]:
        yield left, right


def key_of(value: Any) -> Any:
    return value[0]


def join(late_left: OutputTag | None = None, late_right: OutputTag | None = None) -> StreamOperator:
    bounds = IntervalBounds.between(-4, 5, lower_exclusive=False, upper_exclusive=True)
    return IntervalJoinOperator(Pairs(), bounds, late_left, late_right)


KINDS = {
    "reduce": Keyed(lambda: GroupedReduceOperator(lambda a, b: (a[0], a[1] * 3 + b[1])), (key_of,)),  # type: ignore[index]
    "process": Keyed(lambda: KeyedProcessOperator(OneInput()), (key_of,)),
    "co-process": Keyed(lambda: KeyedCoProcessOperator(TwoInputs()), (key_of, key_of)),
    "broadcast": Keyed(lambda: CoBroadcastWithKeyedOperator(Rules(), [RULES]), (key_of,), broadcast=2),
    "broadcast without keys": Keyed(
        lambda: CoBroadcastWithNonKeyedOperator(RulesWithoutKeys(), [RULES]), (), broadcast=2
    ),
    "interval join": Keyed(join, (key_of, key_of)),
    "late records of a join": Keyed(lambda: join(OutputTag("late left"), OutputTag("late right")), (key_of, key_of)),
    "overdue timers": Keyed(lambda: KeyedProcessOperator(OverdueTimers()), (key_of,)),
}

LATER = [KINDS[name] for name in ("broadcast without keys", "late records of a join", "overdue timers")]
"""Operators whose output does not depend on the processing time at which they do something."""

Step = tuple[str, int, int]
steps = st.lists(
    st.tuples(
        st.sampled_from(["element", "element", "element", "second", "watermark", "clock", "restore", "restore later"]),
        st.integers(0, 20),
        st.integers(-12, 12),
    ),
    min_size=10,
    max_size=45,
)


def play(kind: Keyed, script: Sequence[Step], parallelisms: Sequence[int]) -> list[list[str]]:
    """Returns the output of each step; an empty sequence of parallelisms restores nothing."""
    streams = EncodedStreams()
    subtasks = Subtasks(kind, 2)
    subtasks.open(streams)
    watermark, outputs, restores = 0, [], 0
    subtasks.watermark(watermark)
    for name, number, distance in script:
        match name:
            case "element":
                subtasks.element(1, ("abcdefgh"[number % 8], number), watermark + distance)
            case "second":
                value = ("abcdefgh"[number % 8], number)
                subtasks.element(2 if len(kind.keys) > 1 or kind.broadcast else 1, value, watermark + distance)
            case "watermark":
                watermark += abs(distance)
                subtasks.watermark(watermark)
            case "clock":
                subtasks.advance_to(subtasks.now_ms + abs(distance))
            case "restore" | "restore later":
                if name == "restore later" and kind in LATER:
                    subtasks.now_ms += abs(distance)
                if parallelisms:
                    subtasks = subtasks.restored(parallelisms[restores % len(parallelisms)], streams)
                    restores += 1
                subtasks.watermark(watermark)  # a watermark is not state
                subtasks.advance_to(subtasks.now_ms)
        outputs.append(subtasks.take_output())
    subtasks.watermark(watermark + 100)
    subtasks.advance_to(subtasks.now_ms + 100)
    return [*outputs, subtasks.take_output()]


parallelisms = st.lists(st.integers(1, 4), min_size=1, max_size=3)


@pytest.mark.parametrize("name", KINDS)
@settings(max_examples=examples(12))
@given(steps, parallelisms)
def test_restored_operator_continues(name: str, script: list[Step], parallelisms: list[int]) -> None:
    assert play(KINDS[name], script, parallelisms) == play(KINDS[name], script, [])


def window(assigner: str, trigger: str, evictor: str, lateness_ms: int) -> Keyed:
    scripts = [[record(("a", 1), 1)]]
    options = {"evictor": evictor, "lateness_ms": lateness_ms, "late_output": True}
    graph = window_scenario(assigner, trigger, scripts, **options).build()  # type: ignore[arg-type]
    node = next(each for each in graph.nodes.values() if each.name == "window")
    assert node.key_selector is not None
    make: Callable[[], StreamOperator] = node.operator_factory
    return Keyed(make, (node.key_selector,), node.key_type)


WINDOWS = [(assigner, trigger) for assigner in ASSIGNERS for trigger in TRIGGERS if accepted(assigner, trigger)]


@settings(max_examples=examples(60))
@given(st.sampled_from(WINDOWS), st.sampled_from(sorted(EVICTORS)), st.sampled_from([0, 3, 9]), steps, parallelisms)
def test_restored_window_operator_continues(
    kind: tuple[str, str], evictor: str, lateness_ms: int, script: list[Step], parallelisms: list[int]
) -> None:
    windows = window(*kind, evictor, lateness_ms)
    assert play(windows, script, parallelisms) == play(windows, script, [])
