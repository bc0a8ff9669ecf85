"""W6: a window join. W7: a keyed process function with states and a timer. On flowsim, in plain asyncio and in SimPy.

Every variant does the same work for the same records. A wrong result raises WrongResult.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import cache
from typing import Any, Protocol

import simpy
import uvloop
from flowsim_variants import W1Source
from rounds import WrongResult
from workload import END_OF_TIME, WATERMARK_EVERY, Record, key_of, source, time_of

from flowsim.connectors.memory import CollectSink
from flowsim.datastream import DataStream, KeyedProcessFunction, RuntimeContext, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.state import ListStateDescriptor, MapStateDescriptor, ValueStateDescriptor
from flowsim.datastream.window import TumblingEventTimeWindows

QUEUE_CAPACITY = 1_000
JOIN_WINDOW_MS = 100
"""A key has one record of each side in a window."""
BATCH_MS = 1_000
"""W7: a timer fires at the end of each batch; a key has ten records in it."""
_IN_ORDER = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: time_of(record))

Element = tuple[int, Record | int]
"""Index of the source, record or watermark."""


def batch_end(time_ms: int) -> int:
    return time_ms // BATCH_MS * BATCH_MS + BATCH_MS - 1


class Consumer(Protocol):
    """The last task of a plain variant; ``results`` are complete after END_OF_TIME from every source."""

    results: list[Any]

    def on_record(self, index: int, record: Record) -> None: ...

    def on_watermark(self, watermark_ms: int) -> None: ...


class PlainJoin:
    """W6 with dicts: key and window start -> the records of both sides."""

    def __init__(self) -> None:
        self.panes: dict[int, dict[int, tuple[list[Record], list[Record]]]] = {}
        self.results: list[Any] = []

    def on_record(self, index: int, record: Record) -> None:
        time_ms = time_of(record)
        start_ms = time_ms - time_ms % JOIN_WINDOW_MS
        pane = self.panes.get(start_ms)
        if pane is None:
            pane = self.panes[start_ms] = {}
        key = key_of(record)
        sides = pane.get(key)
        if sides is None:
            sides = pane[key] = [], []
        sides[index].append(record)

    def on_watermark(self, watermark_ms: int) -> None:
        for start_ms in [start_ms for start_ms in self.panes if start_ms + JOIN_WINDOW_MS - 1 <= watermark_ms]:
            for lefts, rights in self.panes.pop(start_ms).values():
                self.results.extend(pair(left, right) for left in lefts for right in rights)


class PlainBatches:
    """W7 with dicts and a heap of timers."""

    def __init__(self) -> None:
        self.latest: dict[int, int] = {}
        self.waiting: dict[int, list[Record]] = {}
        self.gaps: dict[int, dict[int, int]] = {}
        self.timers: list[tuple[int, int]] = []
        self.registered: set[tuple[int, int]] = set()
        self.results: list[Any] = []

    def on_record(self, index: int, record: Record) -> None:
        key, time_ms = key_of(record), time_of(record)
        end_ms = batch_end(time_ms)
        latest = self.latest.get(key)
        self.latest[key] = time_ms
        waiting = self.waiting.get(key)
        if waiting is None:
            waiting = self.waiting[key] = []
        waiting.append(record)
        gaps = self.gaps.get(key)
        if gaps is None:
            gaps = self.gaps[key] = {}
        gaps[end_ms] = gaps.get(end_ms, 0) + (0 if latest is None else time_ms - latest)
        timer = end_ms, key
        if timer not in self.registered:
            self.registered.add(timer)
            heapq.heappush(self.timers, timer)

    def on_watermark(self, watermark_ms: int) -> None:
        timers = self.timers
        while timers and timers[0][0] <= watermark_ms:
            timer = heapq.heappop(timers)
            self.registered.remove(timer)
            end_ms, key = timer
            total, later = divided(self.waiting.pop(key), end_ms)
            if later:
                self.waiting[key] = later
            self.results.append((key, end_ms, total, self.gaps[key].pop(end_ms)))


def pair(left: Record, right: Record) -> tuple[int, int, int]:
    return key_of(left), time_of(left), time_of(right)


def divided(waiting: Iterable[Record], end_ms: int) -> tuple[int, list[Record]]:
    """The sum of the values up to ``end_ms``, and the records after it."""
    total, later = 0, []
    for record in waiting:
        if time_of(record) <= end_ms:
            total += record[1]
        else:
            later.append(record)
    return total, later


def elements(index: int, count: int) -> Iterator[Element]:
    """The elements of one source; it emits a watermark after every ``WATERMARK_EVERY`` records and at the end."""
    for number, record in enumerate(source(count), 1):
        yield index, record
        if number % WATERMARK_EVERY == 0:
            yield index, time_of(record) - 1
    yield index, END_OF_TIME


class CombinedWatermarks:
    """Passes records on, and the minimum of the sources' watermarks."""

    def __init__(self, consumer: Consumer, sources: int) -> None:
        self.consumer = consumer
        self.watermarks = [-1] * sources
        self.combined_ms = -1

    def on_element(self, element: Element) -> bool:
        """Returns True after the last element of all sources."""
        index, record = element
        if not isinstance(record, int):
            self.consumer.on_record(index, record)
            return False
        self.watermarks[index] = record
        combined_ms = min(self.watermarks)
        if combined_ms > self.combined_ms:
            self.combined_ms = combined_ms
            self.consumer.on_watermark(combined_ms)
        return combined_ms == END_OF_TIME


async def _through_a_queue(consumer: Consumer, sources: int, count: int) -> None:
    queue: asyncio.Queue[Element] = asyncio.Queue(QUEUE_CAPACITY)
    combined = CombinedWatermarks(consumer, sources)

    async def send(index: int) -> None:
        put = queue.put
        for element in elements(index, count):
            await put(element)

    async def receive() -> None:
        get, on_element = queue.get, combined.on_element
        while not on_element(await get()):
            pass

    await asyncio.gather(receive(), *(send(index) for index in range(sources)))


def _in_asyncio(consumer: Consumer, sources: int, count: int) -> list[Any]:
    uvloop.run(_through_a_queue(consumer, sources, count))
    return consumer.results


def _in_simpy(consumer: Consumer, sources: int, count: int) -> list[Any]:
    environment = simpy.Environment()
    store = simpy.Store(environment, QUEUE_CAPACITY)
    combined = CombinedWatermarks(consumer, sources)

    def send(index: int) -> Generator[simpy.Event, Any, None]:
        for element in elements(index, count):
            yield store.put(element)

    def receive() -> Generator[simpy.Event, Any, None]:
        while not combined.on_element((yield store.get())):
            pass

    for index in range(sources):
        environment.process(send(index))
    environment.process(receive())
    environment.run()
    return consumer.results


class Batches(KeyedProcessFunction):
    """W7: keeps the time of the latest record, the records of the batch, and the sum of gaps in each batch."""

    def open(self, runtime_context: RuntimeContext) -> None:
        record = Types.TUPLE([Types.LONG(), Types.LONG(), Types.LONG()])
        self.latest = runtime_context.get_state(ValueStateDescriptor("latest", Types.LONG()))
        self.waiting = runtime_context.get_list_state(ListStateDescriptor("waiting", record))
        self.gaps = runtime_context.get_map_state(MapStateDescriptor("gaps", Types.LONG(), Types.LONG()))

    def process_element(self, value: Record, ctx: KeyedProcessFunction.Context) -> None:
        time_ms = time_of(value)
        end_ms = batch_end(time_ms)
        latest = self.latest.value()
        self.latest.update(time_ms)
        self.waiting.add(value)
        self.gaps.put(end_ms, (self.gaps.get(end_ms) or 0) + (0 if latest is None else time_ms - latest))
        ctx.timer_service().register_event_time_timer(end_ms)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        total, later = divided(self.waiting.get(), timestamp)
        self.waiting.update(later)
        yield ctx.get_current_key(), timestamp, total, self.gaps.get(timestamp)
        self.gaps.remove(timestamp)


def _on_flowsim(sources: int, build: Callable[..., DataStream], count: int) -> list[Any]:
    env, sink = StreamExecutionEnvironment.get_execution_environment(), CollectSink()
    build(*(env.from_source(W1Source(count), _IN_ORDER, f"source {index}") for index in range(sources))).sink_to(sink)
    env.execute("keyed")
    return sink.values()


def _join_streams(left: DataStream, right: DataStream) -> DataStream:
    windows = TumblingEventTimeWindows.of(Duration.of_millis(JOIN_WINDOW_MS))
    return left.join(right).where(key_of).equal_to(key_of).window(windows).apply(pair)


def _batch_stream(records: DataStream) -> DataStream:
    return records.key_by(key_of, Types.LONG()).process(Batches())


@cache  # so that a round is timed without it
def _expected_pairs(count: int) -> frozenset[Any]:
    """Computed without windows: each record joins its copy of the other side, which is alone in its window."""
    return frozenset(pair(record, record) for record in source(count))


@cache
def _expected_batches(count: int) -> frozenset[Any]:
    sums: dict[tuple[int, int], list[int]] = {}
    latest: dict[int, int] = {}
    for record in source(count):
        key, time_ms = key_of(record), time_of(record)
        batch = sums.setdefault((key, batch_end(time_ms)), [0, 0])
        batch[0] += record[1]
        batch[1] += time_ms - latest.get(key, time_ms)
        latest[key] = time_ms
    return frozenset((*batch, *both) for batch, both in sums.items())


Run = Callable[[int, int], list[Any]]
"""Number of sources, records of each -> results in any order."""


def _job(name: str, sources: int, run: Run, expected: Callable[[int], frozenset[Any]]) -> Callable[[int], int]:
    def checked(count: int) -> int:
        each = count // sources
        found, right = run(sources, each), expected(each)
        if len(found) != len(right) or not right.issuperset(found):
            raise WrongResult(
                f"{name}: {len(found)} results instead of {len(right)}, one of the differences: "
                f"{sorted(right.symmetric_difference(found))[:1]}"
            )
        return sources * each

    return checked


def _variants(
    name: str,
    sources: int,
    build: Callable[..., DataStream],
    plain: Callable[[], Consumer],
    expected: Callable[[int], frozenset[Any]],
) -> dict[str, Callable[[int], int]]:
    runs: dict[str, Run] = {
        name: lambda sources, count: _on_flowsim(sources, build, count),
        f"{name}, asyncio.Queue on uvloop": lambda sources, count: _in_asyncio(plain(), sources, count),
        f"{name}, SimPy Store": lambda sources, count: _in_simpy(plain(), sources, count),
    }
    return {variant: _job(variant, sources, run, expected) for variant, run in runs.items()}


VARIANTS: dict[str, Callable[[int], int]] = {
    **_variants("W6: window join", 2, _join_streams, PlainJoin, _expected_pairs),
    **_variants("W7: three states and a timer", 1, _batch_stream, PlainBatches, _expected_batches),
}
