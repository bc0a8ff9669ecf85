"""Described chains with asynchronous functions; their Java twins are ``AsyncStages`` and ``ScriptedCalls``.

``stages``: one behind the other, each {"kind": ...}:

``key_by``    an exchange; what stands behind it may be keyed
``flat_map``  ``copies`` of each record, numbers 1000 apart
``timers``    event time timers as the record orders, a record for each that fires; needs key_by before it
``window``    tumbling windows of ``size_ms``; needs key_by before it, ends the chain
``async``     ``mode``, ``capacity``, ``timeout_ms`` (0: none), ``on_timeout`` (fail, drop, replace, nothing), ``retry``
              (null, or ``kind`` fixed / exponential, ``max_attempts``, its delays, ``result`` and ``exception``: what is
              tried again), ``replies`` ([nanoseconds, outcome] chosen by number and attempt; outcomes: 0 one result, 1
              none, 2 two, 3 an error, 4 never) and ``salt``

``may_block``: the only source stands in a chain with an async operator, so that its steps may come later.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from flowsim.datastream import DataStream, KeyedProcessFunction, KeyedStream, ProcessWindowFunction
from flowsim.datastream.common import Time
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.retry_strategies import (
    NO_RETRY_STRATEGY,
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    retry_params,
)
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import StreamOperator, Value
from flowsim.testing.async_calls import CallNote, Reply, ScriptedCalls, TimeoutReply
from flowsim.units import NS_PER_MS
from tests.support.described import described_functions as functions
from tests.support.described.described_functions import Event
from tests.support.described.described_streams import Inputs, Job

Log = dict[str, list[list[object]]]
Stage = dict[str, Any]


def build(inputs: Inputs, job: Job, log: Log) -> dict[str, DataStream]:
    stream = inputs.plain(0)
    for number, stage in enumerate(job["stages"]):
        stream = behind(stream, stage, number, inputs, log)
        if stage["kind"] != "key_by":
            stream.set_parallelism(job["parallelism"])
    return {"out": stream}


def behind(stream: DataStream, stage: Stage, number: int, inputs: Inputs, log: Log) -> DataStream:
    match stage["kind"]:
        case "key_by":
            return stream.key_by(inputs.key, inputs.key_type)
        case "flat_map":
            copies = stage["copies"]
            return stream.flat_map(lambda event: [(event[0] + 1000 * copy, *event[1:]) for copy in range(copies)])
        case "timers":
            assert isinstance(stream, KeyedStream)
            return stream.process(Timers())
        case "window":
            assert isinstance(stream, KeyedStream)
            return stream.window(TumblingEventTimeWindows.of(Time(stage["size_ms"]))).process(Contents())
        case _:
            return asynchronous(stream, stage, number, log)


def asynchronous(stream: DataStream, stage: Stage, number: int, log: Log) -> DataStream:
    def make(_: str) -> StreamOperator:
        function = NotedCalls(stage, f"calls{number}", log)
        return AsyncWaitOperator(
            function, stage["timeout_ms"], stage["capacity"], stage["mode"], strategy(stage["retry"])
        )

    params = {
        **{name: stage[name] for name in ("mode", "capacity", "timeout_ms")}, "design": "mailbox",
        "retry": retry_params(strategy(stage["retry"])),
    }  # fmt: skip
    # Not by AsyncDataStream: that copies the function, and with it the log.
    return stream.add_operator("async", "async_wait", make, params=params, yields=True)


def strategy(retry: Stage | None) -> AsyncRetryStrategy:
    if retry is None:
        return NO_RETRY_STRATEGY
    if_result = (lambda results: len(results) == 0) if retry["result"] else None
    if_error = (lambda error: True) if retry["exception"] else None
    if retry["kind"] == "fixed":
        return FixedDelayRetryStrategy(retry["max_attempts"], retry["delay_ms"], if_result, if_error)
    return ExponentialBackoffDelayRetryStrategy(
        retry["max_attempts"], retry["initial_ms"], retry["max_ms"], retry["multiplier"], if_result, if_error
    )


class NotedCalls(ScriptedCalls):
    """Tells the log of the job what it is asked."""

    def __init__(self, stage: Stage, name: str, log: Log) -> None:
        replies, salt = stage["replies"], stage["salt"]

        def reply(value: Value, attempt: int) -> Reply:
            assert isinstance(value, tuple)
            number, key, amount, orders = value
            nanoseconds, outcome = replies[(number * 7 + attempt * 13 + salt) % len(replies)]
            first = (number, key, amount * 10 + attempt, orders)
            match outcome:
                case 0:
                    return Reply(nanoseconds / NS_PER_MS, (first,))
                case 1:
                    return Reply(nanoseconds / NS_PER_MS)
                case 2:
                    return Reply(nanoseconds / NS_PER_MS, (first, (number + 2000, key, amount, orders)))
                case 3:
                    return Reply(nanoseconds / NS_PER_MS, error=ValueError(f"no answer to {number}"))
                case _:
                    return Reply(None)

        super().__init__(reply, on_timeout(stage["on_timeout"]))
        self.name = name
        self.seen = log

    def open(self, runtime_context: RuntimeContext) -> None:
        super().open(runtime_context)
        self.place = f"{self.name}/{runtime_context.get_index_of_this_subtask()}"

    def noted(self, call: CallNote) -> None:
        action, value, attempt = call
        self.seen.setdefault(self.place, []).append([action, value[0], attempt])  # type: ignore[index]


def on_timeout(named: str) -> TimeoutReply:
    match named:
        case "fail" | "nothing":
            return named  # type: ignore[return-value]
        case "drop":
            return lambda value: ()
        case _:
            return lambda value: ((*value[:2], -value[2] - 1, value[3]),)  # type: ignore[index]


class Timers(KeyedProcessFunction):
    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        functions.obey(value[3], ctx.timer_service())
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        key = str(ctx.get_current_key())
        yield (20_000 + timestamp % 1000, key if key.startswith("k") else f"k{key}", timestamp, [])


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Event]) -> Iterable[object]:
        numbers = [number for element in elements for number in (element[0], element[2])]
        yield json.loads(json.dumps([key, context.window().start, numbers, context.current_watermark()]))
