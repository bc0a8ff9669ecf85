"""The jobs of the properties: each in a few lines, with the source and settings that a test draws."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import RecordEntry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import (
    KeyedProcessFunction,
    OutputTag,
    ProcessJoinFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.window import EventTimeSessionWindows, TimeWindow, TumblingEventTimeWindows
from tests.support.jobs.fault_matrix import asked_and_answered

WINDOW_MS = 10
LATE = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT()]))

Pair = tuple[str, int]
Fired = tuple[str, int, list[int], int]
"""Key, start of the window, its numbers in order of arrival, the watermark at that moment."""


def environment(settings: dict[str, int]) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().configure(**settings)


class RunningCount(KeyedProcessFunction):
    """Emits a key with how often it came so far."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: tuple[object, ...], ctx: KeyedProcessFunction.Context) -> Iterable[Pair]:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield str(value[0]), count


class Contents(ProcessWindowFunction[Pair, Fired, str, TimeWindow]):
    """Emits everything that is known of a window when it fires."""

    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Pair]
    ) -> Iterable[Fired]:
        yield key, context.window().start, [pair[1] for pair in elements], context.current_watermark()


def becomes_idle(settings: dict[str, int]) -> StreamExecutionEnvironment:
    """A source with a strategy that becomes idle between two of its records."""
    env = environment(settings)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(3))
    strategy = strategy.with_idleness(Duration.of_millis(250))
    script = [record(("a", 1), 3), record(("b", 2), 12), sleep(1250), record(("a", 3), 40), sleep(250)]
    env.from_source(ScriptedSource(script), strategy, "ticks").rebalance().map(lambda pair: pair)
    return env


def asks_twice(settings: dict[str, int]) -> StreamExecutionEnvironment:
    """Two async operators in one chain, an unordered one that tries again and an ordered one, both soon full."""
    env = environment({**settings, "parallelism": 1})
    asked_and_answered(env).rebalance().map(lambda answer: answer)
    return env


def sessions_and_counts(settings: dict[str, int]) -> StreamExecutionEnvironment:
    """Sessions that merge, and windows of two records each; several keys in one subtask have timers."""
    env = environment({**settings, "parallelism": 1})
    times = [("a", 1), ("b", 2), ("a", 9), ("c", 3), ("a", 5), ("b", 4)]
    script = [record((key, number), at) for number, (key, at) in enumerate(times)]
    keyed = env.add_source(ScriptedSource([*script, watermark(30), record(("a", 9), 40)])).key_by(
        lambda pair: pair[0], Types.STRING()
    )
    sessions = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(5))).allowed_lateness(1)
    sessions.process(Contents()).name("sessions")
    keyed.count_window(2).reduce(lambda first, second: second).name("counts")
    return env


def word_count(lines: list[str], settings: dict[str, int]) -> StreamExecutionEnvironment:
    env = environment(settings)
    words = env.from_collection(lines).rebalance().flat_map(str.split).map(lambda word: (word, 1))
    words.key_by(lambda pair: pair[0], Types.STRING()).process(RunningCount()).name("counts")
    return env


def windows(source: ScriptedSource, lateness_ms: int, settings: dict[str, int]) -> StreamExecutionEnvironment:
    """Ends: ``windows`` and ``late``."""
    env = environment(settings)
    fired = (
        env.add_source(source)
        .key_by(lambda pair: pair[0], Types.STRING())
        .window(TumblingEventTimeWindows.of(Duration.of_millis(WINDOW_MS)))
        .allowed_lateness(lateness_ms)
        .side_output_late_data(LATE)
        .process(Contents())
        .name("windows")
    )
    fired.get_side_output(LATE).sink_to(CollectSink()).name("late")
    return env


class Pairs(ProcessJoinFunction):
    """Emits both records."""

    def process_element(self, left: Pair, right: Pair, ctx: ProcessJoinFunction.Context) -> Iterable[tuple[Pair, Pair]]:
        yield left, right


def interval_join(
    sources: tuple[ScriptedSource, ScriptedSource], bounds_ms: tuple[int, int], settings: dict[str, int]
) -> StreamExecutionEnvironment:
    """Two sources joined by how far apart their records are; end: ``pairs``."""
    env = environment(settings)
    left, right = (env.add_source(source).key_by(lambda pair: pair[0], Types.STRING()) for source in sources)
    lower, upper = (Duration.of_millis(bound) for bound in bounds_ms)
    left.interval_join(right).between(lower, upper).process(Pairs()).name("pairs")
    return env


def window_join(sources: tuple[ScriptedSource, ScriptedSource], settings: dict[str, int]) -> StreamExecutionEnvironment:
    """Two sources joined by key in windows of 10 ms; end: ``joined``."""
    env = environment(settings)
    left, right = (env.add_source(source) for source in sources)
    keyed = left.join(right).where(lambda pair: pair[0], Types.STRING()).equal_to(lambda pair: pair[0])
    windowed = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    windowed.apply(lambda first, second: (first[0], second[1])).name("joined")
    return env


def exchange(source: ScriptedSource, how: str, settings: dict[str, int]) -> StreamExecutionEnvironment:
    """One exchange by ``hash``, ``rebalance`` or ``broadcast``; end: ``arrived``."""
    env = environment(settings)
    stream = env.add_source(source)
    match how:
        case "hash":
            routed = stream.key_by(lambda pair: pair[0], Types.STRING())
        case "rebalance":
            routed = stream.rebalance()
        case _:
            routed = stream.broadcast()
    routed.map(lambda pair: pair).name("arrived")
    return env


def two_exchanges(source: ScriptedSource, settings: dict[str, int]) -> StreamExecutionEnvironment:
    """Rebalance, then hash, then all to one; end: ``counts``."""
    env = environment(settings)
    spread = env.add_source(source).rebalance().map(lambda pair: (pair[0], pair[1] + 1))
    counted = spread.key_by(lambda pair: pair[0], Types.STRING()).process(RunningCount())
    counted.map(lambda pair: pair).set_parallelism(1).name("counts")
    return env


def tagged(source: ScriptedSource) -> ScriptedSource:
    """The same script; every value ``(key, number)`` also says which subtask sent it, and as which of its records."""
    scripts = []
    for subtask, script in enumerate(source.scripts):
        entries, sent = [], 0
        for entry in script:
            if isinstance(entry, RecordEntry):
                assert isinstance(entry.value, tuple)
                entries.append(record((*entry.value, subtask, sent), entry.timestamp))
                sent += 1
            else:
                entries.append(entry)
        scripts.append(entries)
    return ScriptedSource(*scripts, gap_ms=source.gap_ms)


def records_of(source: ScriptedSource) -> list[object]:
    """The values of all subtasks, one subtask after the other."""
    return [entry.value for script in source.scripts for entry in script if isinstance(entry, RecordEntry)]
