"""W3: one asynchronous call of 1 ms for each record, at most 100 at the same time; on flowsim and in plain asyncio.

Every variant applies the same function to the same records. A wrong result raises WrongResult.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any, Literal

import uvloop
from flowsim_variants import W1Source
from rounds import WrongResult
from workload import Record, map_record, source, time_of

from flowsim.connectors.memory import CollectSink
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.async_data_stream import Design
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.simulation import FixedLatency, SimulatedAsyncFunction

CAPACITY = 100
LATENCY_NS = 1_000_000
_IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: time_of(record))

Mode = Literal["ordered", "unordered"]


def _check(mode: Mode, found: list[Any], count: int) -> int:
    expected = [map_record(record) for record in source(count)]
    if (found if mode == "ordered" else sorted(found)) != (expected if mode == "ordered" else sorted(expected)):
        raise WrongResult(f"W3: expected the results of {len(expected)} records, got {len(found)} results")
    return count


def on_flowsim(mode: Mode, clock: Literal["virtual", "real"], design: Design = "mailbox") -> Callable[[int], int]:
    """Returns a job with the async operator of one design."""

    def run(count: int) -> int:
        env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
        env.flowsim_settings(clock=clock)
        calls = SimulatedAsyncFunction(result=lambda record: [map_record(record)], latency=FixedLatency(LATENCY_NS))
        wait = AsyncDataStream.ordered_wait if mode == "ordered" else AsyncDataStream.unordered_wait
        records = env.from_source(W1Source(count), _IN_ORDER, "w3")
        wait(records, calls, Duration.of_seconds(60), CAPACITY, design=design).sink_to(sink)
        env.execute("W3")
        return _check(mode, sink.values(), count)

    return run


async def _call(record: Record) -> Record:
    await asyncio.sleep(LATENCY_NS / 1e9)
    return map_record(record)


async def _deque_of_tasks(count: int) -> list[Record]:
    """Starts a call, and waits for the oldest one when 100 run; the results are in order."""
    tasks: deque[asyncio.Task[Record]] = deque()
    results: list[Record] = []
    for record in source(count):
        if len(tasks) == CAPACITY:
            results.append(await tasks.popleft())
        tasks.append(asyncio.create_task(_call(record)))
    results.extend([await task for task in tasks])
    return results


async def _task_group(count: int) -> list[Record]:
    """One task for each record, and a semaphore; the results are in order of completion."""
    results: list[Record] = []
    places = asyncio.Semaphore(CAPACITY)

    async def call(record: Record) -> None:
        results.append(await _call(record))
        places.release()

    async with asyncio.TaskGroup() as group:
        for record in source(count):
            await places.acquire()
            group.create_task(call(record))
    return results


def _in_asyncio(mode: Mode, program: Callable[[int], Coroutine[Any, Any, list[Record]]]) -> Callable[[int], int]:
    return lambda count: _check(mode, uvloop.run(program(count)), count)


VARIANTS: dict[str, Callable[[int], int]] = {
    "W3: asynchronous calls, capacity 100": on_flowsim("unordered", "virtual"),
    "W3, ordered": on_flowsim("ordered", "virtual"),
    "W3 on uvloop": on_flowsim("unordered", "real"),
    "W3 on uvloop, ordered": on_flowsim("ordered", "real"),
    "W3, legacy design": on_flowsim("unordered", "virtual", "legacy"),
    "W3, legacy design, ordered": on_flowsim("ordered", "virtual", "legacy"),
    "W3 in plain asyncio: TaskGroup and semaphore": _in_asyncio("unordered", _task_group),
    "W3 in plain asyncio, ordered: deque of tasks": _in_asyncio("ordered", _deque_of_tasks),
}
