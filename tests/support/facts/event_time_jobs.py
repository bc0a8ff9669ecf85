"""Deterministic jobs about event time: random windows, and the other operators that drop or delay records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import (
    KeyedBroadcastProcessFunction,
    KeyedStream,
    OutputTag,
    ProcessJoinFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.state import MapStateDescriptor
from flowsim.datastream.window import (
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from flowsim.graph.stream_graph import StreamGraph
from flowsim.operators.functions.broadcast_contexts import BroadcastContext, ReadOnlyBroadcastContext
from tests.support.jobs.window_scenarios import ASSIGNERS, EVICTORS, TRIGGERS, accepted, window_scenario

WINDOWS_A_TRIGGER = 2
Reading = tuple[str, int]
_RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())


def script(random: Random, length: int = 26) -> tuple[Entry, ...]:
    """Records of three keys out of order, watermarks, and pauses that let the clock go on."""
    entries: list[Entry] = []
    now, mark = random.randint(-20, 5), -40
    for _ in range(length):
        now += random.randint(0, 4)
        what = random.randrange(10)
        if what < 7:
            at = now - random.choice((0, 0, 1, 2, 5, 12, 20))
            entries.append(record((random.choice("abc"), random.randint(0, 20)), at))
        elif what == 7:
            entries.append(sleep(random.randint(1, 12)))
        elif now > mark:
            mark = now
            entries.append(watermark(now))
    return tuple(entries)


def window_jobs() -> Iterator[tuple[str, StreamGraph]]:
    """Each trigger over some assigners that it goes with, so that each assigner is there, too."""
    random = Random(4)
    unseen = list(ASSIGNERS)
    for trigger in (name for name in TRIGGERS for _ in range(WINDOWS_A_TRIGGER)):
        fitting = [name for name in ASSIGNERS if accepted(name, trigger)]
        assigner = random.choice([name for name in unseen if name in fitting] or fitting)
        unseen = [name for name in unseen if name != assigner]
        job = window_scenario(
            assigner,
            trigger,
            [script(random) for _ in range(random.choice((1, 2)))],
            evictor=random.choice(list(EVICTORS)),
            lateness_ms=random.choice((0, 3, 9)),
            late_output=random.random() < 0.5,
            window_all=random.random() < 0.2,
        )
        yield f"{assigner}, {trigger}", job.build()


def other_jobs() -> Iterator[tuple[str, StreamGraph]]:
    """Windows that cannot be predicted, and operators that are no windows."""
    yield "windows that cannot be foretold", _unforetold()
    yield "interval join", _interval_join()
    yield "window join", _window_join()
    yield "joins in windows of all kinds", _window_joins()
    yield "broadcast", _broadcast()
    yield "alignment", _aligned()


def _keyed(env: StreamExecutionEnvironment, seed: int, subtasks: int = 1) -> KeyedStream:
    source = env.add_source(ScriptedSource(*(script(Random(seed + n)) for n in range(subtasks))))
    return source.set_parallelism(subtasks).key_by(lambda pair: pair[0], Types.STRING())


def _collect(stream: Any, name: str) -> None:
    stream.sink_to(CollectSink()).name(name)


def _first(one: Reading, other: Reading) -> Reading:
    return one


def _steps(one: Reading, other: Reading) -> float:
    return float(abs(one[1] - other[1]))


def _unforetold() -> StreamGraph:
    """Staggered windows, a trigger by the data, and an evictor by the data over sessions."""
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = _keyed(env, 1, 2)
    ten = Duration.of_millis(10)
    staggered = keyed.window(TumblingEventTimeWindows.of(ten, Duration.of_millis(0), WindowStagger.RANDOM))
    by_data = keyed.window(TumblingEventTimeWindows.of(ten)).trigger(DeltaTrigger.of(4.0, _steps))
    evicting = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(3)))
    evicting = evicting.evictor(DeltaEvictor.of(2.0, _steps, False))
    for name, windows in (("staggered", staggered), ("by the data", by_data), ("evicting", evicting)):
        _collect(windows.reduce(_first).name(name), f"{name} sink")
    return env.stream_graph("not foretold")


class _Pairs(ProcessJoinFunction):
    def process_element(self, left: Reading, right: Reading, ctx: ProcessJoinFunction.Context) -> Iterable[object]:
        yield left, right


def _interval_join() -> StreamGraph:
    """Late records of the left input are kept aside, those of the right one are only counted."""
    env = StreamExecutionEnvironment.get_execution_environment()
    late = OutputTag("late")
    pairs = _keyed(env, 10).interval_join(_keyed(env, 11)).between(Duration.of_millis(-4), Duration.of_millis(3))
    joined = pairs.side_output_left_late_data(late).process(_Pairs()).set_parallelism(2).name("pairs")
    _collect(joined, "sink")
    _collect(joined.get_side_output(late), "late sink")
    return env.stream_graph("interval join")


def _window_join() -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    sides = _keyed(env, 20).join(_keyed(env, 21)).where(lambda pair: pair[0], Types.STRING())
    windows = sides.equal_to(lambda pair: pair[0], Types.STRING())
    ten = TumblingEventTimeWindows.of(Duration.of_millis(10))
    _collect(windows.window(ten).allowed_lateness(Duration.of_millis(5)).apply(_first), "sink")
    return env.stream_graph("window join")


def _window_joins() -> StreamGraph:
    """Joins and coGroups: sliding, merging, by either clock, purged by count, with evictors, and fired by the data."""
    env = StreamExecutionEnvironment.get_execution_environment()
    left, right = _keyed(env, 30), _keyed(env, 31)
    ten, six = Duration.of_millis(10), Duration.of_millis(6)

    def key(pair: Reading) -> str:
        return pair[0]

    def steps(one: tuple[int, Reading], other: tuple[int, Reading]) -> float:
        return _steps(one[1], other[1])

    def both(first: list[Reading], second: list[Reading]) -> Iterable[object]:
        yield len(first), len(second)

    joined, grouped = left.join(right).where(key).equal_to(key), left.co_group(right).where(key).equal_to(key)
    sliding = SlidingEventTimeWindows.of(ten, Duration.of_millis(5))
    purged = joined.window(TumblingEventTimeWindows.of(ten)).trigger(PurgingTrigger.of(CountTrigger.of(3)))
    joins = {
        "sliding": joined.window(sliding).evictor(TimeEvictor.of(six)),
        "purged": purged,
        "clock": joined.window(TumblingProcessingTimeWindows.of(ten)),
        "data": joined.window(TumblingEventTimeWindows.of(ten)).trigger(DeltaTrigger.of(4.0, steps)),
        "kept by the data": joined.window(TumblingEventTimeWindows.of(ten)).evictor(DeltaEvictor.of(2.0, steps, False)),
        "sessions": joined.window(EventTimeSessionWindows.with_gap(six)).allowed_lateness(six),
    }
    groups = {
        "sessions": grouped.window(EventTimeSessionWindows.with_gap(six)).allowed_lateness(six),
        "clock sessions": grouped.window(ProcessingTimeSessionWindows.with_gap(six)),
        "last": grouped.window(TumblingEventTimeWindows.of(ten)).evictor(CountEvictor.of(2, do_evict_after=True)),
    }
    for name, windows in joins.items():
        _collect(windows.apply(_first).name(f"join {name}"), f"join {name} sink")
    for name, windows in groups.items():
        _collect(windows.apply(both).name(f"co_group {name}"), f"co_group {name} sink")
    return env.stream_graph("joins in windows of all kinds")


class _Watching(KeyedBroadcastProcessFunction):
    """A timer per record tells what had been broadcast by then."""

    def process_element(self, value: Reading, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + value[1] % 4)
        return (value,)

    def process_broadcast_element(self, value: Reading, ctx: BroadcastContext) -> None:
        ctx.get_broadcast_state(_RULES).put(*value)

    def on_timer(self, timestamp: int, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
        yield ctx.get_current_key(), timestamp


def _broadcast() -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    rules = env.add_source(ScriptedSource(script(Random(30)))).broadcast(_RULES)
    _collect(_keyed(env, 31, 2).connect(rules).process(_Watching()).set_parallelism(2), "sink")
    return env.stream_graph("broadcast")


def _aligned() -> StreamGraph:
    """Two groups of one: a source that is ahead waits for the other; no source waits for an idle one."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(auto_watermark_interval_ms=10)
    env.settings.watermark_alignment_buffer_size = 0
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(2)).with_idleness(
        Duration.of_millis(90)
    )
    strategy = strategy.with_watermark_alignment("group", Duration.of_millis(20), Duration.of_millis(30))
    fast = [record(("a", number), 10 * number) for number in range(12)]
    slow = [entry for number in range(12) for entry in (record(("b", number), 4 * number), sleep(40 + number % 5 * 20))]
    first = env.from_source(ScriptedSource(fast, gap_ms=15), strategy, "fast")
    second = env.from_source(ScriptedSource(slow), strategy, "slow")
    keyed = first.union(second).key_by(lambda pair: pair[0], Types.STRING())
    _collect(keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(20))).reduce(_first), "sink")
    return env.stream_graph("alignment")
