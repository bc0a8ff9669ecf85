"""Functions that scenarios of the tests name, as user code."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from flowsim.connectors.memory import CollectionSource
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.common.watermark_strategy import WatermarkGenerator
from flowsim.datastream.functions import (
    CoGroupFunction,
    FlatMapFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    Partitioner,
    ProcessAllWindowFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
)
from flowsim.datastream.functions.async_functions import AsyncFunction, ResultFutureFunction
from flowsim.datastream.functions.broadcast_functions import BroadcastProcessFunction, KeyedBroadcastProcessFunction
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.state import StateTtlConfig, ValueStateDescriptor
from flowsim.datastream.window import EvictorContext, TimestampedValue, TimeWindow, Trigger, TriggerResult, Window


def double(value: object) -> object:
    assert isinstance(value, tuple)
    return (value[0], value[1] * 2)


def is_small(value: object) -> bool:
    assert isinstance(value, tuple)
    return bool(value[1] < 10)


def twice(value: object) -> Iterable[object]:
    return (value, value)


def three_rows() -> CollectionSource:
    return CollectionSource([("a", 1), ("b", 2), ("a", 30)])


def last_for_b(key: object, subtasks: int) -> int:
    return subtasks - 1 if key == "b" else 0


class Outside(Partitioner):
    def partition(self, key: object, num_partitions: int) -> int:
        return num_partitions


class Opened(Outside):
    def open(self, runtime_context: object) -> None:
        raise AssertionError("nobody opens a partitioner")


def broken() -> object:
    raise RuntimeError("no luck")


class Split(ProcessFunction):
    def process_element(self, value: object, ctx: ProcessFunction.Context) -> Iterable[object]:
        assert isinstance(value, tuple)
        if value[1] > 10:
            yield OutputTag("large"), (value[1],)
        else:
            yield value


class Count(KeyedProcessFunction):
    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        return ((ctx.get_current_key(), 1),)


class Sizes(ProcessWindowFunction[object, object, object, TimeWindow]):
    def process(
        self, key: object, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[object]
    ) -> Iterable[object]:
        return ((key, len(list(elements))),)


class OnEvery(Trigger[object, Window]):
    """Fires at every record and at the end of nothing."""

    def on_element(
        self, element: object, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
    ) -> TriggerResult:
        return TriggerResult.FIRE

    def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
        return TriggerResult.CONTINUE

    def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
        return


class KeepsTheFirst:
    """An evictor: of all records of a window only the first stays."""

    def evict_before(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        del elements[1:]

    def evict_after(self, elements: list[TimestampedValue], size: int, window: Window, ctx: EvictorContext) -> None:
        return


class EverySecondRecord(WatermarkGenerator):
    """The timestamp of each second record is its watermark."""

    def __init__(self) -> None:
        self._records = 0

    def on_event(self, event: object, event_timestamp: int, output: object) -> None:
        self._records += 1
        if self._records % 2 == 0:
            output.emit_watermark(event_timestamp)  # type: ignore[attr-defined]

    def on_periodic_emit(self, output: object) -> None:
        """Nothing."""


class Sides(CoGroupFunction):
    """How many records each side has."""

    def co_group(self, first: Iterable[object], second: Iterable[object]) -> Iterable[object]:
        yield len(list(first)), len(list(second))


class WholeWindow(ProcessAllWindowFunction[object, object, object]):
    """How many records a window has."""

    def process(self, context: object, elements: Iterable[object]) -> Iterable[object]:
        yield (len(list(elements)),)


class Passing(BroadcastProcessFunction):
    """Emits the elements of both streams with where they came from."""

    def process_element(self, value: object, ctx: object) -> Iterable[object]:
        yield "stream", value[1]  # type: ignore[index]

    def process_broadcast_element(self, value: object, ctx: object) -> Iterable[object]:
        yield "broadcast", value[1]  # type: ignore[index]


class KeyedPassing(KeyedBroadcastProcessFunction):
    """The same beside a keyed stream, with its key."""

    def process_element(self, value: object, ctx: object) -> Iterable[object]:
        yield ctx.get_current_key(), value[1]  # type: ignore[attr-defined, index]

    def process_broadcast_element(self, value: object, ctx: object) -> Iterable[object]:
        return ()


class Waiting(AsyncFunction):
    """Answers after as many tenths of a second as the record's number; it gives up on large ones."""

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(value[1] / 10)
        return [(value[0], value[1] * 10)]

    def timeout(self, value: Any) -> list[Any]:
        return [(value[0], -1)]


class AtOnce(ResultFutureFunction):
    """Answers before its call returns."""

    def async_invoke(self, value: Any, result_future: Any) -> None:
        result_future.complete([(value[0],)])


class Sums:
    """The sum of a key's numbers, in a state."""

    ttl: StateTtlConfig | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        descriptor = ValueStateDescriptor("sum", Types.LONG())
        if self.ttl is not None:
            descriptor.enable_time_to_live(self.ttl)
        self.sum = runtime_context.get_state(descriptor)

    def added(self, value: Any) -> tuple[object, int]:
        now = (self.sum.value() or 0) + value[1]
        self.sum.update(now)
        return value[0], now


class Remembering(Sums, KeyedProcessFunction):
    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        yield self.added(value)


class RememberingForever(Remembering):
    ttl = StateTtlConfig.new_builder(Duration.of_days(365)).build()


class RememberingMapped(Sums, MapFunction):
    def map(self, value: Any) -> object:
        return self.added(value)


class RememberingFlatMapped(Sums, FlatMapFunction):
    def flat_map(self, value: Any) -> Iterable[object]:
        yield self.added(value)


class RememberingTwo(Sums, KeyedCoProcessFunction):
    def process_element1(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        yield self.added(value)

    def process_element2(self, value: Any, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return ()


class RememberingBroadcast(Sums, KeyedBroadcastProcessFunction):
    def process_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.ReadOnlyContext) -> Iterable[object]:
        yield self.added(value)

    def process_broadcast_element(self, value: Any, ctx: KeyedBroadcastProcessFunction.Context) -> Iterable[object]:
        return ()
