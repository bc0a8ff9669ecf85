"""W1 without flowsim: the upper limit, and plain implementations."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from typing import Any

import msgpack
import simpy
import uvloop
from workload import (
    END_OF_TIME,
    WATERMARK_EVERY,
    WINDOW_MS,
    Outcome,
    Record,
    Results,
    TumblingSum,
    Variant,
    add,
    elements,
    key_of,
    map_record,
    source,
    time_of,
)

QUEUE_CAPACITY = 1_000
SEGMENT_BYTES = 32 * 1024


def bare_loop(count: int) -> Outcome:
    """Nothing but the work itself: the limit for anything in Python."""
    panes: dict[int, dict[int, int]] = {}
    results: Results = {}

    def fire(watermark_ms: int) -> None:
        for start_ms in [start_ms for start_ms in panes if start_ms + WINDOW_MS - 1 <= watermark_ms]:
            for key, total in panes.pop(start_ms).items():
                results[key, start_ms] = total

    for number, source_record in enumerate(source(count), 1):
        record = map_record(source_record)
        time_ms = time_of(record)
        start_ms = time_ms - time_ms % WINDOW_MS
        pane = panes.get(start_ms)
        if pane is None:
            pane = panes[start_ms] = {}
        key = key_of(record)
        pane[key] = add(pane.get(key, 0), record)
        if number % WATERMARK_EVERY == 0:
            fire(time_ms - 1)
    fire(END_OF_TIME)
    return Outcome(results)


def bare_loop_through_msgpack(count: int) -> Outcome:
    """The same loop with every element encoded into segments of 32 KiB and decoded from them."""
    window = TumblingSum()
    pack = msgpack.Packer().pack
    unpacker = msgpack.Unpacker(use_list=False)
    segment = bytearray()

    def receive() -> None:
        unpacker.feed(segment)
        segment.clear()
        for element in unpacker:
            if type(element) is int:
                window.on_watermark(element)
            else:
                window.on_record(element)

    for element in elements(count):
        segment += pack(element)
        if len(segment) >= SEGMENT_BYTES:
            receive()
    receive()
    return Outcome(window.results)


async def _through_a_queue(count: int) -> Outcome:
    queue: asyncio.Queue[Record | int] = asyncio.Queue(QUEUE_CAPACITY)
    window = TumblingSum()

    async def send() -> None:
        put = queue.put
        for element in elements(count):
            await put(element)

    async def receive() -> None:
        get = queue.get
        while True:
            element = await get()
            if isinstance(element, int):
                window.on_watermark(element)
                if element == END_OF_TIME:
                    return
            else:
                window.on_record(element)

    await asyncio.gather(send(), receive())
    return Outcome(window.results)


def asyncio_queue(count: int) -> Outcome:
    """Two asyncio tasks and a bounded queue, an await per record on both sides."""
    return asyncio.run(_through_a_queue(count))


def uvloop_queue(count: int) -> Outcome:
    return uvloop.run(_through_a_queue(count))


def simpy_store(count: int) -> Outcome:
    """Two SimPy processes and a bounded store, an event per record on both sides."""
    environment = simpy.Environment()
    store = simpy.Store(environment, QUEUE_CAPACITY)
    window = TumblingSum()

    def send() -> Generator[simpy.Event, Any, None]:
        for element in elements(count):
            yield store.put(element)

    def receive() -> Generator[simpy.Event, Any, None]:
        while True:
            element = yield store.get()
            if isinstance(element, int):
                window.on_watermark(element)
                if element == END_OF_TIME:
                    return
            else:
                window.on_record(element)

    environment.process(send())
    environment.process(receive())
    environment.run()
    return Outcome(window.results)


BARE = "bare loop"
SIMPY = "SimPy Store per record"
VARIANTS = (
    Variant(BARE, bare_loop),
    Variant("bare loop + msgpack, one channel", bare_loop_through_msgpack),
    Variant("asyncio.Queue per record", asyncio_queue),
    Variant("asyncio.Queue per record, uvloop", uvloop_queue),
    Variant(SIMPY, simpy_store),
)
