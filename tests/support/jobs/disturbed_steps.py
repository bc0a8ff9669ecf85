"""The operators of random jobs: what a step emits depends on the records that it has read, not on their order."""

from __future__ import annotations

import asyncio
from typing import Any

from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessJoinFunction,
    WindowFunction,
)
from flowsim.datastream.common import Time, Types
from flowsim.datastream.partitioning import partitioned
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from flowsim.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from flowsim.errors import FlowsimError

Pair = tuple[int, int]
TIMED = ("tumbling", "sliding", "session", "lists", "waits", "join")
"""Steps that need the timestamps of the sources."""
MAILBOX = ("ordered", "unordered")
LEGACY = ("legacy ordered", "legacy unordered")
"""Async operators, by their design."""
UNKEYED = ("map", "filter", "flat_map", *MAILBOX, *LEGACY)
REPEATING = (*UNKEYED, "count", "connect", "broadcast", "delays")
"""Steps that emit at least the same records if they read some twice."""
STEPS = (*TIMED, *REPEATING, "count_window")
UNTIMED_RESULTS = ("count", "count_window", "connect", "broadcast", "delays")
"""Steps whose output has timestamps that depend on the order of their input."""
ALL_PAIRS = ("connect", "broadcast")
"""Steps that emit many records; a job has one of them."""
TWO_INPUTS = ("join", *ALL_PAIRS)
OPENED = ("map", "count", "waits", "delays", "connect")
"""Steps that can fail when they open."""
WIDE = 500
"""A queue of the legacy operator that has room for all restored elements (rule 11.38)."""
END_OF_TIME = 2**63 - 1


class FailedOpen(FlowsimError):
    """The failure of an operator that is restored."""


def processed(kind: str, inputs: list[DataStream], partitioning: str, failing_opens: tuple[int, ...]) -> DataStream:
    """Adds an operator. ``failing_opens``: the attempts of its first subtask that fail when they open."""
    if kind in TWO_INPUTS:
        return _of_two(kind, inputs[0], inputs[1], failing_opens)
    stream = inputs[0].union(*inputs[1:]) if len(inputs) > 1 else inputs[0]
    if kind in UNKEYED:
        if partitioning != "default":
            stream = partitioned(stream, partitioning)  # type: ignore[arg-type]
        return _unkeyed(kind, stream, failing_opens)
    keyed = stream.key_by(key_of)
    match kind:
        case "tumbling":
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(50))).reduce(total)
        case "sliding":
            size, slide = Time.milliseconds(60), Time.milliseconds(20)
            return keyed.window(SlidingEventTimeWindows.of(size, slide)).reduce(total)
        case "session":
            return keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(9))).reduce(total)
        case "lists":
            return keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(6))).apply(Squares())
        case "count_window":
            return keyed.count_window(3).reduce(lambda left, right: (left[0], 1)).map(lambda value: (value[0], 1))
        case "count":
            return keyed.process(Counts(failing_opens))
        case "delays":
            return keyed.process(Delays(failing_opens))
        case _:
            return keyed.process(Waits(failing_opens))


def _unkeyed(kind: str, stream: DataStream, failing_opens: tuple[int, ...]) -> DataStream:
    match kind:
        case "map":
            return stream.map(Scrambled(failing_opens))
        case "filter":
            return stream.filter(lambda value: value[1] % 3 != 0)
        case "flat_map":
            return stream.flat_map(lambda value: [value, (value[0] + 1, value[1])][: value[1] % 3])
        case "ordered":
            return AsyncDataStream.ordered_wait(stream, Answers(), Time.seconds(10), 4)
        case "unordered":
            return AsyncDataStream.unordered_wait(stream, Answers(), Time.seconds(10), 4)
        case "legacy ordered":
            return AsyncDataStream.ordered_wait(stream, Answers(), Time.seconds(10), WIDE, design="legacy")
        case _:
            return AsyncDataStream.unordered_wait(stream, Answers(), Time.seconds(10), WIDE, design="legacy")


def _of_two(kind: str, left: DataStream, right: DataStream, failing_opens: tuple[int, ...]) -> DataStream:
    match kind:
        case "join":
            bounds = Time.milliseconds(-6), Time.milliseconds(9)
            return left.key_by(key_of).interval_join(right.key_by(key_of)).between(*bounds).process(Joined())
        case "connect":
            return left.key_by(key_of).connect(right.key_by(key_of)).process(Pairs(failing_opens))
        case _:
            return left.key_by(key_of).connect(right.broadcast(RULES)).process(Ruled())


def key_of(value: Pair) -> int:
    return value[0]


def total(left: Pair, right: Pair) -> Pair:
    return left[0], left[1] + right[1]


class Joined(ProcessJoinFunction):
    """Emits one number for each pair."""

    def process_element(self, left: Any, right: Any, ctx: Any) -> Any:
        yield left[0], left[1] * 31 + right[1]


class Squares(WindowFunction[Any, Any, Any, Any]):
    """Emits the sum of the squares of all numbers of the window."""

    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        yield key, sum(number * number for _, number in inputs)


class Scrambled(MapFunction):
    """Emits another number."""

    def __init__(self, failing_opens: tuple[int, ...]) -> None:
        self.failing_opens = failing_opens

    def open(self, runtime_context: Any) -> None:
        fail_open(runtime_context, self.failing_opens)

    def map(self, value: Any) -> Any:
        return value[0], value[1] * 7 % 1009


class Counts(KeyedProcessFunction):
    """Emits how many records the key has had."""

    def __init__(self, failing_opens: tuple[int, ...]) -> None:
        self.failing_opens = failing_opens

    def open(self, runtime_context: Any) -> None:
        fail_open(runtime_context, self.failing_opens)
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield value[0], count


class Waits(KeyedProcessFunction):
    """Emits the sum of all numbers that are 20 ms old."""

    def __init__(self, failing_opens: tuple[int, ...]) -> None:
        self.failing_opens = failing_opens

    def open(self, runtime_context: Any) -> None:
        fail_open(runtime_context, self.failing_opens)
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.waiting.add((ctx.timestamp(), value[1]))
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 20)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        waiting = list(self.waiting.get())
        self.waiting.update([each for each in waiting if each[0] > timestamp - 20])
        yield ctx.get_current_key(), sum(number for at, number in waiting if at <= timestamp - 20)


class Delays(KeyedProcessFunction):
    """Emits each record after 5 ms of processing time, or at the end of all event time."""

    def __init__(self, failing_opens: tuple[int, ...]) -> None:
        self.failing_opens = failing_opens

    def open(self, runtime_context: Any) -> None:
        fail_open(runtime_context, self.failing_opens)
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.waiting.add(value)
        timers = ctx.timer_service()
        timers.register_processing_time_timer(timers.current_processing_time() + 5)
        timers.register_event_time_timer(END_OF_TIME)
        return ()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield from list(self.waiting.get() or ())
        self.waiting.clear()


class Pairs(KeyedCoProcessFunction):
    """Emits the sums of some pairs of a left and a right record with the same key."""

    def __init__(self, failing_opens: tuple[int, ...]) -> None:
        self.failing_opens = failing_opens

    def open(self, runtime_context: Any) -> None:
        fail_open(runtime_context, self.failing_opens)
        self.left, self.right = (
            runtime_context.get_list_state(ListStateDescriptor(side, Types.PICKLED_BYTE_ARRAY()))
            for side in ("left", "right")
        )

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.left.add(value[1])
        yield from (each for other in self.right.get() or () for each in paired(value[0], value[1], other))

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.right.add(value[1])
        yield from (each for other in self.left.get() or () for each in paired(value[0], other, value[1]))


RULES = MapStateDescriptor("rules", Types.LONG(), Types.PICKLED_BYTE_ARRAY())
NUMBERS = ListStateDescriptor("numbers", Types.PICKLED_BYTE_ARRAY())


class Ruled(KeyedBroadcastProcessFunction):
    """Emits the sums of some pairs of a record and a broadcast number."""

    def open(self, runtime_context: Any) -> None:
        self.numbers = runtime_context.get_list_state(NUMBERS)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.numbers.add(value[1])
        for rule, count in list(ctx.get_broadcast_state(RULES).items()):
            for _ in range(count):
                yield from paired(value[0], value[1], rule)

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        rules = ctx.get_broadcast_state(RULES)
        rules.put(value[1], (rules.get(value[1]) or 0) + 1)
        found: list[Pair] = []

        def visit(key: int, numbers: Any) -> None:
            for number in numbers.get() or ():
                found.extend(paired(key, number, value[1]))

        ctx.apply_to_keyed_state(NUMBERS, visit)
        return found


def paired(key: int, left: int, right: int) -> list[Pair]:
    return [(key, left * 31 + right)] if (left + right) % 7 == 0 else []


class Answers(AsyncFunction):
    """Answers after 0 to 6 ms."""

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.001 * (value[1] % 7))
        return [value]


def fail_open(runtime_context: Any, failing_opens: tuple[int, ...]) -> None:
    if runtime_context.get_index_of_this_subtask() == 0 and runtime_context.get_attempt_number() in failing_opens:
        raise FailedOpen("this attempt does not open")
