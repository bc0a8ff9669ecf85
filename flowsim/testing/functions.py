"""Functions for scenarios that test a job: the last field of each record orders what they do with timers and states.

A scenario names them without ``--allow-python``, for example ``process: {python: flowsim.testing.functions:Orders}``
(docs/scenario.md, functions for tests). Orders are separated by ``;``:

``event 15``, ``-event 15``                   registers, deletes an event-time timer of the key
``processing 1050``, ``-processing 1050``     registers, deletes a processing-time timer
``value 3``, ``-value``                       adds to a ValueState, clears it
``list 3 4``, ``list= 5``, ``-list``          adds to a ListState, replaces it, clears it
``map 1 3``, ``-map 1``, ``-map``             puts into a MapState, removes a key, clears it
``reduce 3``, ``-reduce``                     adds to a ReducingState (the highest), clears it
``aggregate 3``, ``-aggregate``               adds to an AggregatingState (sum/count), clears it
``rule 1 3``, ``-rule 1``                     of a broadcast record: puts into the broadcast state, removes a key
``keys``                                      of a broadcast record: emits the ValueState of each key
``watermark 15``, ``idle``, ``active``        of a record of ``Watermarks``
``fire``, ``purge``, ``event 15``             of a record in a window with ``OrderedTrigger``
``side``                                      emits to the side output ``side``, too
``fail``                                      raises an error

Every function but those of windows emits ``(what, key, record, timestamp, watermark, state)``. ``what`` is ``record``,
``record 1`` or ``record 2`` by input, ``broadcast``, ``key``, or the domain of a timer; a timer at a multiple of 3 ms goes
to the side output, too, and one at a multiple of 5 ms registers another one 4 ms later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from flowsim.datastream.common import Types
from flowsim.datastream.common.watermark_strategy import WatermarkGenerator, WatermarkOutput
from flowsim.datastream.functions import (
    AggregateFunction,
    BroadcastProcessFunction,
    CoProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
    RuntimeContext,
)
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from flowsim.operators.checkpointed_function import (
    CheckpointedFunction,
    FunctionInitializationContext,
    FunctionSnapshotContext,
)
from flowsim.operators.functions.timer_services import TimeDomain
from flowsim.scenario.features.broadcast import REMEMBERED
from flowsim.testing.ordered_windows import AllWindowContents, OrderedTrigger, WindowContents
from flowsim.testing.orders import Record, orders_of, text_of
from flowsim.units import NO_TIMESTAMP

__all__ = [
    "AllWindowContents",
    "Contexts",
    "ContextsOfTwo",
    "LateOpening",
    "OneRecord",
    "OperatorStates",
    "OrderedTrigger",
    "Orders",
    "OrdersOfTwo",
    "OrdersWithRules",
    "Punctual",
    "Rules",
    "Watermarks",
    "WindowContents",
]

Seen = tuple[object, ...]

SIDE: Final = OutputTag("side")
_VALUE: Final = ValueStateDescriptor("value", Types.LONG())


def seen(what: str, key: object, record: str | None, ctx: Any, state: str) -> Seen:
    timestamp = ctx.timestamp()
    return what, None if key is None else str(key), record, timestamp, ctx.timer_service().current_watermark(), state


class Mean(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Any, accumulator: Any) -> tuple[int, int]:
        return (accumulator[0] + value, accumulator[1] + 1)

    def get_result(self, accumulator: Any) -> str:
        return f"{accumulator[0]}/{accumulator[1]}"

    def merge(self, acc_a: Any, acc_b: Any) -> tuple[int, int]:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


def highest(one: Any, other: Any) -> Any:
    return max(one, other)


class KeyedOrders:
    """The states of a key, and what orders do with them and with its timers."""

    def __init__(self, context: RuntimeContext) -> None:
        number = Types.LONG()
        self._value: Any = context.get_state(_VALUE)
        self._list: Any = context.get_list_state(ListStateDescriptor("list", number))
        self._map: Any = context.get_map_state(MapStateDescriptor("map", number, number))
        self._reduce: Any = context.get_reducing_state(ReducingStateDescriptor("reduce", highest, number))
        self._aggregate: Any = context.get_aggregating_state(
            AggregatingStateDescriptor("aggregate", Mean(), Types.STRING())
        )
        self._clears = {
            "-value": self._value,
            "-list": self._list,
            "-reduce": self._reduce,
            "-aggregate": self._aggregate,
        }

    def obey(self, record: Record, timers: Any) -> None:
        """Does what a record orders. Raises ValueError for an unknown order."""
        actions: dict[str, Callable[..., object]] = {
            "event": timers.register_event_time_timer,
            "-event": timers.delete_event_time_timer,
            "processing": timers.register_processing_time_timer,
            "-processing": timers.delete_processing_time_timer,
            "value": lambda number: self._value.update((self._value.value() or 0) + number),
            "list": lambda *numbers: (
                self._list.add_all(list(numbers)) if len(numbers) > 1 else self._list.add(*numbers)
            ),
            "list=": lambda *numbers: self._list.update(list(numbers)),
            "map": self._map.put,
            "-map": lambda *key: self._map.remove(*key) if key else self._map.clear(),
            "reduce": self._reduce.add,
            "aggregate": self._aggregate.add,
            "side": lambda: None,
            **{word: state.clear for word, state in self._clears.items()},
        }
        for word, numbers in orders_of(record):
            if word not in actions:
                raise ValueError(f"unknown order {word!r}, expected one of {', '.join(actions)}")
            actions[word](*numbers)

    @property
    def text(self) -> str:
        """What is in the states; the keys of the map in order."""
        found = {
            "value": self._value.value(),
            "list": list(self._list.get() or ()) or None,
            "map": None if self._map.is_empty() else dict(sorted(self._map.items())),
            "reduce": self._reduce.get(),
            "aggregate": self._aggregate.get(),
        }
        return "; ".join(f"{name} {value}" for name, value in found.items() if value is not None)


def with_side(record: Record, result: Seen) -> Iterator[object]:
    """Yields a result, and once more for the side output if the record orders it."""
    if any(word == "side" for word, _ in orders_of(record)):
        yield SIDE, result
    yield result


def fired(orders: KeyedOrders, timestamp: int, ctx: Any, more: str = "") -> Iterator[object]:
    """Yields what a timer emits, and registers the timer that follows it."""
    timers, domain = ctx.timer_service(), ctx.time_domain()
    result = seen(f"{domain.name.lower()} timer", ctx.get_current_key(), None, ctx, orders.text + more)
    if timestamp % 3 == 0:
        yield SIDE, result
    yield result
    if timestamp % 5 == 0 and domain is TimeDomain.EVENT_TIME:
        timers.register_event_time_timer(timestamp + 4)
    elif timestamp % 5 == 0:
        timers.register_processing_time_timer(timestamp + 4)


class Orders(KeyedProcessFunction):
    """Timers and states of one keyed input."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.orders = KeyedOrders(runtime_context)

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        self.orders.obey(value, ctx.timer_service())
        return with_side(value, seen("record", ctx.get_current_key(), text_of(value), ctx, self.orders.text))

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        return fired(self.orders, timestamp, ctx)


class OrdersOfTwo(KeyedCoProcessFunction):
    """Timers and states of a key that two inputs share."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.orders = KeyedOrders(runtime_context)

    def process_element1(self, value: Record, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self._processed("record 1", value, ctx)

    def process_element2(self, value: Record, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self._processed("record 2", value, ctx)

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[object]:
        return fired(self.orders, timestamp, ctx)

    def _processed(self, what: str, value: Record, ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        self.orders.obey(value, ctx.timer_service())
        return with_side(value, seen(what, ctx.get_current_key(), text_of(value), ctx, self.orders.text))


class OrdersWithRules(KeyedBroadcastProcessFunction):
    """Timers and states of a key, and the rules of a broadcast input."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.orders = KeyedOrders(runtime_context)

    def process_element(self, value: Record, ctx: Any) -> Iterable[object]:
        self.orders.obey(value, ctx.timer_service())
        state = self.orders.text + _rules(ctx)
        return with_side(value, seen("record", ctx.get_current_key(), text_of(value), ctx, state))

    def process_broadcast_element(self, value: Record, ctx: Any) -> Iterable[object]:
        yield from _broadcast(value, ctx)
        if any(word == "keys" for word, _ in orders_of(value)):
            found: list[tuple[str, str]] = []
            ctx.apply_to_keyed_state(_VALUE, lambda key, state: found.append((str(key), str(state.value()))))
            for key, state in sorted(found):
                yield "key", key, text_of(value), ctx.timestamp(), ctx.current_watermark(), state

    def on_timer(self, timestamp: int, ctx: Any) -> Iterable[object]:
        return fired(self.orders, timestamp, ctx, _rules(ctx))


class Contexts(ProcessFunction):
    """Timestamps and watermarks of one input."""

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterable[object]:
        return with_side(value, seen("record", None, text_of(value), ctx, ""))


class ContextsOfTwo(CoProcessFunction):
    """Timestamps and watermarks of two inputs."""

    def process_element1(self, value: Record, ctx: CoProcessFunction.Context) -> Iterable[object]:
        return with_side(value, seen("record 1", None, text_of(value), ctx, ""))

    def process_element2(self, value: Record, ctx: CoProcessFunction.Context) -> Iterable[object]:
        return with_side(value, seen("record 2", None, text_of(value), ctx, ""))


class Rules(BroadcastProcessFunction):
    """The rules of a broadcast input, without a key."""

    def process_element(self, value: Record, ctx: Any) -> Iterable[object]:
        result = "record", None, text_of(value), ctx.timestamp(), ctx.current_watermark(), _rules(ctx)
        return with_side(value, result)

    def process_broadcast_element(self, value: Record, ctx: Any) -> Iterable[object]:
        return _broadcast(value, ctx)


def _rules(ctx: Any) -> str:
    rules = dict(sorted(ctx.get_broadcast_state(REMEMBERED).items()))
    return f"; rules {rules}" if rules else ""


def _broadcast(record: Record, ctx: Any) -> Iterator[object]:
    rules = ctx.get_broadcast_state(REMEMBERED)
    for word, numbers in orders_of(record):
        if word == "rule":
            rules.put(*numbers)
        elif word == "-rule":
            rules.remove(*numbers)
    yield from with_side(
        record, ("broadcast", None, text_of(record), ctx.timestamp(), ctx.current_watermark(), _rules(ctx))
    )


class OperatorStates(ProcessFunction, CheckpointedFunction):
    """The first fields of all records in the three kinds of operator state; each record shows what was restored."""

    def initialize_state(self, context: FunctionInitializationContext) -> None:
        store = context.get_operator_state_store()
        self.split = store.get_list_state(ListStateDescriptor("split", Types.LONG()))
        self.union = store.get_union_list_state(ListStateDescriptor("union", Types.LONG()))
        self.broadcast = store.get_broadcast_state(MapStateDescriptor("broadcast", Types.STRING(), Types.LONG()))
        self.seen = list(self.split.get())
        self.restored = (
            f"list {self.seen}; union {list(self.union.get())}; broadcast {self.broadcast.get('checkpoint')}"
        )

    def snapshot_state(self, context: FunctionSnapshotContext) -> None:
        self.split.update(self.seen)
        self.union.update([len(self.seen)])
        self.broadcast.put("checkpoint", context.get_checkpoint_id())

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterable[object]:
        self.seen.append(value[0])
        return with_side(value, seen("record", None, text_of(value), ctx, self.restored))


class LateOpening(MapFunction):
    """Fails when it opens in the first two attempts of subtask 0; later it hands its records on."""

    def open(self, runtime_context: RuntimeContext) -> None:
        if runtime_context.get_index_of_this_subtask() == 0 and runtime_context.get_attempt_number() < 2:
            raise RuntimeError(f"attempt {runtime_context.get_attempt_number()} does not open")

    def map(self, value: Any) -> object:
        return value


class OneRecord(MapFunction):
    """Emits every record in the same list, which the next one overwrites: with object reuse, one object for all of them."""

    def __init__(self) -> None:
        self._record: list[object] = []

    def map(self, value: Any) -> object:
        self._record[:] = value
        return self._record


class Punctual(ProcessFunction):
    """Fails at a record that comes 1.5 s or more of processing time after the first one of an attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self._first_ms: int | None = None

    def process_element(self, value: Record, ctx: ProcessFunction.Context) -> Iterable[object]:
        now_ms = ctx.timer_service().current_processing_time()
        if self._first_ms is None:
            self._first_ms = now_ms
        if now_ms - self._first_ms >= 1_500:
            raise RuntimeError(f"{text_of(value)} comes {now_ms - self._first_ms} ms after the first record")
        yield value


class Watermarks(WatermarkGenerator):
    """Watermarks and idleness as the records order."""

    def on_event(self, event: Any, event_timestamp: int, output: WatermarkOutput) -> None:
        for word, numbers in orders_of(event):
            if word == "watermark":
                output.emit_watermark(max(NO_TIMESTAMP, *numbers))
            elif word == "idle":
                output.mark_idle()
            elif word == "active":
                output.mark_active()

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        """Emits at records only."""
