"""Assigners, triggers, evictors and retry strategies that users define: they run, and are described by their class."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from typing import Any

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    KeyedStream,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    WindowedStream,
)
from flowsim.datastream.async_retry_strategies import (
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    FixedDelayRetryStrategy,
    RetryPredicate,
)
from flowsim.datastream.common import Duration
from flowsim.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    EvictorContext,
    MergingWindowAssigner,
    SessionWindowTimeGapExtractor,
    TimestampedValue,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
    WindowAssigner,
)

ROWS = (("a", 1), ("b", 4), ("c", 12))
TEN = TumblingEventTimeWindows.of(Duration.of_millis(10))


class Spans(ProcessWindowFunction[Any, Any, Any, TimeWindow]):
    def process(
        self, key: object, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[Any]:
        yield context.window().start, context.window().end, "".join(elements)


def keyed(rows: Iterable[tuple[object, int]] = ROWS) -> KeyedStream:
    env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)
    source = ScriptedSource([record(value, timestamp) for value, timestamp in rows])
    return env.add_source(source).set_parallelism(1).key_by(lambda row: 0)


def results(windows: WindowedStream) -> list[object]:
    return list(windows.process(Spans()).execute_and_collect())


def described(windows: WindowedStream) -> dict[str, Any]:
    """What a recording shows of the windows."""
    windows.process(Spans()).sink_to(CollectSink())
    graph = windows.get_execution_environment().stream_graph("windows")
    (params,) = [node.description.params for node in graph.nodes.values() if "assigner" in node.description.params]
    described: dict[str, Any] = json.loads(json.dumps(params))
    return described


class Halves(WindowAssigner[str, TimeWindow]):
    """Every record in the half of a window of 10 ms that it lies in, defined from the base."""

    def assign_windows(
        self, element: str, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        assert timestamp is not None
        return [TimeWindow(timestamp // 5 * 5, timestamp // 5 * 5 + 5)]

    def get_default_trigger(self, env: object) -> Trigger[object, Window]:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class Doubled(TumblingEventTimeWindows):
    """A ready-made assigner with another window for each record, and a trigger of its own."""

    def assign_windows(
        self, element: object, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> list[TimeWindow]:
        (window,) = super().assign_windows(element, timestamp, context)
        return [window, TimeWindow(window.start, window.end + 10)]

    def get_default_trigger(self, env: object) -> Trigger[object, Window]:
        return AtOnce()


class Renamed(TumblingEventTimeWindows):
    """A ready-made assigner as it is."""


class Together(MergingWindowAssigner[str, TimeWindow]):
    """All windows of a key merge into one."""

    def assign_windows(
        self, element: str, timestamp: int | None, context: WindowAssigner.WindowAssignerContext
    ) -> Collection[TimeWindow]:
        assert timestamp is not None
        return [TimeWindow(timestamp, timestamp + 1)]

    def merge_windows(
        self, windows: Collection[TimeWindow], callback: MergingWindowAssigner.MergeCallback[TimeWindow]
    ) -> None:
        if len(windows) > 1:
            ends = [window.end for window in windows]
            callback.merge(windows, TimeWindow(min(window.start for window in windows), max(ends)))

    def get_default_trigger(self, env: object) -> Trigger[object, Window]:
        return EventTimeTrigger.create()

    def is_event_time(self) -> bool:
        return True


class Length(SessionWindowTimeGapExtractor):
    def extract(self, element: object) -> int:
        return len(str(element)) + 2


class AtOnce(Trigger[str, Window]):
    """Fires at every record, defined from the base."""

    def on_element(
        self, element: str, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        return


class NeverForA(CountTrigger):
    """A ready-made trigger that ignores some records."""

    def on_element(
        self, element: object, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.CONTINUE if element == "a" else super().on_element(element, timestamp, window, ctx)


class WithoutB(Evictor):
    """Removes one record, defined from the base."""

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        elements[:] = [element for element in elements if element.value != "b"]

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        return


class FirstOnes(CountEvictor):
    """A ready-made evictor that keeps the first records, not the last ones."""

    def evict(self, elements: list[TimestampedValue], size: int) -> None:
        del elements[self.max_count :]


def test_custom_assigner_runs_and_is_described_by_class() -> None:
    assert results(keyed().window(Halves())) == [(0, 5, "ab"), (10, 15, "c")]
    assert described(keyed().window(Halves()))["assigner"] == "Halves"


def test_subclass_of_provided_assigner_uses_its_own_methods() -> None:
    """Also with its own default trigger; with an unchanged ``assign_windows`` it is described as its parent."""
    assert results(keyed([("a", 1)]).window(Doubled(10))) == [(0, 10, "a"), (0, 20, "a")]
    assert described(keyed().window(Doubled(10)))["assigner"] == "Doubled"
    assert results(keyed().window(Renamed(10))) == [(0, 10, "ab"), (10, 20, "c")]
    assert described(keyed().window(Renamed(10)))["assigner"] == "tumbling_event_time"


def test_custom_merging_assigner_merges() -> None:
    assert results(keyed().window(Together())) == [(1, 13, "abc")]
    assert described(keyed().window(Together()))["assigner"] == "Together"


def test_custom_gap_extractor_sets_gap_of_each_record() -> None:
    windows = EventTimeSessionWindows.with_dynamic_gap(Length())
    assert results(keyed([("aaa", 0), ("b", 5), ("c", 20)]).window(windows)) == [(0, 8, "aaab"), (20, 23, "c")]


def test_custom_trigger_runs_and_is_described_by_class() -> None:
    assert results(keyed().window(TEN).trigger(AtOnce())) == [(0, 10, "a"), (0, 10, "b"), (10, 20, "c")]
    assert described(keyed().window(TEN).trigger(AtOnce()))["trigger"] == {"kind": "custom", "class": "AtOnce"}


def test_subclass_of_provided_trigger_uses_its_own_methods() -> None:
    assert results(keyed().window(TEN).trigger(NeverForA(1))) == [(0, 10, "ab"), (10, 20, "c")]
    assert described(keyed().window(TEN).trigger(NeverForA(1)))["trigger"] == {"kind": "custom", "class": "NeverForA"}


@pytest.mark.parametrize(("evictor", "rows"), [(WithoutB(), "a"), (FirstOnes(1), "a"), (CountEvictor.of(1), "b")])
def test_custom_evictor_runs_and_is_described_by_class(evictor: Evictor, rows: str) -> None:
    assert results(keyed().window(TEN).evictor(evictor))[0] == (0, 10, rows)
    shown = {"kind": "count", "count": 1, "after": False}
    if type(evictor) is not CountEvictor:
        shown = {"kind": "custom", "class": type(evictor).__name__}
    assert described(keyed().window(TEN).evictor(evictor))["evictor"] == shown


class TwiceMore(AsyncRetryStrategy):
    """Defined from the base."""

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= 2

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return current_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, lambda error: isinstance(error, ValueError))


class OnceMore(FixedDelayRetryStrategy):
    """A ready-made strategy with another limit."""

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= 1


class Counting(AsyncFunction):
    """Fails until its last permitted call."""

    def __init__(self, fails: int) -> None:
        self.fails = fails

    async def async_invoke(self, value: str) -> list[Any]:
        self.fails -= 1
        if self.fails >= 0:
            raise ValueError(value)
        return [(value, self.fails)]

    def timeout(self, value: str) -> list[Any]:
        raise AssertionError("every call answers in time")


@pytest.mark.parametrize(
    ("strategy", "fails"),
    [(TwiceMore(), 2), (OnceMore(5, 1, None, lambda error: isinstance(error, ValueError)), 1)],
)
def test_custom_retry_strategy_decides_number_of_attempts(strategy: AsyncRetryStrategy, fails: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    rows = env.add_source(ScriptedSource([record("a", 1), sleep(100)])).set_parallelism(1)
    timeout = Duration.of_seconds(1)
    answered = AsyncDataStream.ordered_wait_with_retry(rows, Counting(fails), timeout, strategy)
    assert list(answered.execute_and_collect()) == [("a", -1)]
