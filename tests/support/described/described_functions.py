"""The functions of described jobs; their Java twins are in ``java/probes/flowsim/jobs/described``.

A record is (number, key, value, orders), what functions emit is a list.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from flowsim.datastream import (
    AggregateFunction,
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    FilterFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    ProcessFunction,
    RuntimeContext,
    TimeDomain,
    TimerService,
)
from flowsim.datastream.common import Types
from flowsim.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator
from flowsim.watermark.watermark_output import WatermarkOutput
from tests.support.described.script_writer import STATUS

Event = tuple[int, str, int, list[int]]


def text_key(event: Event) -> str:
    return event[1]


def number_key(event: Event) -> int:
    """The key k-3 is -3."""
    return int(event[1][1:])


def one_more(event: Event) -> Event:
    number, key, value, orders = event
    return (number, key, value + 1, orders)


def four_of_five(event: Event) -> bool:
    return event[0] % 5 != 4


def some_twice(event: Event) -> Iterator[Event]:
    yield event
    number, key, value, orders = event
    if number % 3 == 0:
        yield (number + 1000, key, value, orders)


def refused(event: Event) -> Event:
    if event[0] % 13 == 9:
        raise ValueError(f"refused {event[0]}")
    return event


class Statuses(StreamOperator):
    """Sends a status in place of a record that orders one; 0 is idle, 1 active."""

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.records_in += 1
        if value[3][:1] == [STATUS]:
            self.output.emit_watermark_status(WatermarkStatus.ACTIVE if value[3][1] else WatermarkStatus.IDLE)
        else:
            self.output.collect(value, timestamp)


def number_of(event: Event) -> int:
    return event[0]


def scattered(number: int, channels: int) -> int:
    """The channel of a custom partitioner."""
    return (number * 7 + 3) % channels


def marked(value: object) -> list[object]:
    return ["m", value]


def again(value: object) -> list[object]:
    return [value, ["again", value]]


def latest_with_sum(a: Event, b: Event) -> Event:
    return (b[0], b[1], a[2] + b[2], b[3])


class TwoOfThree(FilterFunction):
    """Drops every third record of its subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = 0

    def filter(self, value: object) -> bool:
        self.seen += 1
        return self.seen % 3 != 0


class RefusesFifth(MapFunction):
    """Fails at the fifth record of its subtask."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = 0

    def map(self, value: object) -> object:
        self.seen += 1
        if self.seen == 5:
            raise ValueError("refused the fifth")
        return value


class Shifted:
    def __init__(self, shift_ms: int) -> None:
        self.shift_ms = shift_ms

    def __call__(self, event: Event, timestamp: int) -> int:
        return timestamp + self.shift_ms


class Punctuated(WatermarkGenerator):
    """Watermarks and idleness as the values of the records say."""

    def __init__(self, bound_ms: int) -> None:
        self.bound_ms = bound_ms

    def on_event(self, value: Any, timestamp: int, output: WatermarkOutput) -> None:
        if value[2] % 3 == 0:
            output.emit_watermark(max(timestamp - self.bound_ms, NO_TIMESTAMP))
        if value[2] % 7 == 1:
            output.mark_idle()
        if value[2] % 7 == 2:
            output.mark_active()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emits at records only."""

    def has_pending_effect(self, emitted: int) -> bool:
        return False


def obey(orders: list[int], timers: TimerService) -> None:
    """Pairs of 1 (register event time), 2 (delete), 3 (register processing time) or 4 (delete) and a timestamp."""
    for order, timestamp in zip(orders[::2], orders[1::2], strict=False):
        match order:
            case 1:
                timers.register_event_time_timer(timestamp)
            case 2:
                timers.delete_event_time_timer(timestamp)
            case 3:
                timers.register_processing_time_timer(timestamp)
            case _:
                timers.delete_processing_time_timer(timestamp)


def follow_up(timestamp: int, domain: TimeDomain, timers: TimerService) -> None:
    """A timer at a multiple of 5 sets another one 4 ms later."""
    if timestamp % 5 == 0:
        if domain is TimeDomain.EVENT_TIME:
            timers.register_event_time_timer(timestamp + 4)
        else:
            timers.register_processing_time_timer(timestamp + 4)


SIDE = OutputTag("side")


class Timers(KeyedProcessFunction):
    """Records and timers of even numbers go to the side output, too."""

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        timers = ctx.timer_service()
        obey(value[3], timers)
        if value[0] % 2 == 0:
            ctx.output(SIDE, [value[0]])
        yield ["elem", value[0], ctx.get_current_key(), ctx.timestamp(), timers.current_watermark()]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        timers, domain = ctx.timer_service(), ctx.time_domain()
        if timestamp % 2 == 0:
            yield SIDE, ["timer", timestamp]
        yield ["timer", ctx.get_current_key(), timestamp, domain.name, ctx.timestamp(), timers.current_watermark()]
        follow_up(timestamp, domain, timers)


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: int, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> str:
        return f"{accumulator[0]}/{accumulator[1]}"

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


class States(KeyedProcessFunction):
    """Does to five states of the key what is ordered, then tells what is in them, all keys of the map in order."""

    def open(self, runtime_context: RuntimeContext) -> None:
        number = Types.LONG()
        self.total = runtime_context.get_state(ValueStateDescriptor("total", number))
        self.numbers = runtime_context.get_list_state(ListStateDescriptor("numbers", number))
        self.latest = runtime_context.get_map_state(MapStateDescriptor("latest", number, number))
        self.highest = runtime_context.get_reducing_state(ReducingStateDescriptor("highest", max, number))
        self.mean = runtime_context.get_aggregating_state(AggregatingStateDescriptor("mean", Mean(), Types.STRING()))

    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        number, _, amount, orders = value
        for order in orders:
            self.obey(order, number, amount)
        listed, entries = list(self.numbers.get() or ()), sorted(self.latest.items())
        yield [number, self.total.value(), listed, entries, self.latest.is_empty(), self.highest.get(), self.mean.get()]

    def obey(self, order: int, number: int, amount: int) -> None:
        match order:
            case 1:
                self.total.update((self.total.value() or 0) + amount)
            case 2:
                self.numbers.add(number)
            case 3:
                self.latest.put(amount % 4, number)
            case 4:
                self.highest.add(amount)
            case 5:
                self.mean.add(amount)
            case 6:
                self.total.clear()
            case 7:
                self.numbers.update([number])
            case 8:
                self.latest.remove(amount % 4)
            case 9:
                self.highest.clear()
                self.mean.clear()
            case 10:
                self.latest.clear()
                self.numbers.clear()
            case _:
                self.numbers.add_all([number, amount])


class CoMapping(CoMapFunction):
    def map1(self, value: Event) -> object:
        return [1, value[0]]

    def map2(self, value: Event) -> object:
        return [2, value[0], value[2]]


class CoFlatMapping(CoFlatMapFunction):
    def flat_map1(self, value: Event) -> Iterable[object]:
        return [[1, value[0], index] for index in range(value[2] % 3)]

    def flat_map2(self, value: Event) -> Iterable[object]:
        if value[0] % 2 == 0:
            yield [2, value[0]]


class Both(CoProcessFunction):
    def process_element1(self, value: Event, ctx: ProcessFunction.Context) -> Iterable[object]:
        yield [1, value[0], ctx.timestamp(), ctx.timer_service().current_watermark()]

    def process_element2(self, value: Event, ctx: ProcessFunction.Context) -> Iterable[object]:
        yield [2, value[0], ctx.timestamp(), ctx.timer_service().current_watermark()]
        if value[0] % 2 == 0:
            yield SIDE, [2, value[0]]


class KeyedBoth(KeyedCoProcessFunction):
    """Both inputs share a sum and the timers of the key."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.total = runtime_context.get_state(ValueStateDescriptor("total", Types.LONG()))

    def process_element1(self, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self.process(1, value, ctx)

    def process_element2(self, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self.process(2, value, ctx)

    def process(self, number: int, value: Event, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        obey(value[3], ctx.timer_service())
        self.total.update((self.total.value() or 0) + value[2] * number)
        now = ctx.timer_service().current_watermark()
        yield [number, value[0], ctx.get_current_key(), ctx.timestamp(), now, self.total.value()]

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[object]:
        domain, now = ctx.time_domain(), ctx.timer_service().current_watermark()
        yield ["timer", ctx.get_current_key(), timestamp, domain.name, ctx.timestamp(), now, self.total.value()]
        if timestamp % 2 == 0:
            self.total.clear()
        follow_up(timestamp, domain, ctx.timer_service())
