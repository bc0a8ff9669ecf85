"""Window jobs as data: an assigner, a trigger, an evictor and a script, drawn at random and printed on failure.

``window_jobs`` draws combinations that Flink accepts; ``WindowJob.build`` makes the job. The laws check the output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, WatermarkEntry, idle, record, sleep, watermark
from flowsim.datastream import OutputTag, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions import AggregateFunction, ProcessAllWindowFunction, ProcessWindowFunction
from flowsim.datastream.streams.windowed_streams import AllWindowedStream, WindowedStream
from flowsim.datastream.window import (
    AnyOfTrigger,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    Evictor,
    GlobalWindows,
    NeverTrigger,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    Trigger,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    Window,
    WindowAssigner,
)
from flowsim.graph.stream_graph import StreamGraph
from flowsim.testing.strategies import keys

LATE: Final = OutputTag("late")
"""The side output of late records."""

_Windows = TypeVar("_Windows", WindowedStream[DataStream], AllWindowedStream[DataStream])
Reading = tuple[str, int]
"""A record: a key, and a number that a dynamic session uses as its gap."""


def _ms(number: int) -> Duration:
    return Duration.of_millis(number)


def _key_of(reading: object) -> str:
    assert isinstance(reading, tuple)
    return str(reading[0])


class _GapOfReading(SessionWindowTimeGapExtractor):
    def extract(self, element: object) -> int:
        assert isinstance(element, tuple)
        (_, number) = element
        assert isinstance(number, int)
        return number % 7 + 1


class _RowsOfWindow(ProcessWindowFunction[Reading, tuple[str, int, int], str, Window]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[Window], elements: Iterable[Reading]
    ) -> Iterable[tuple[str, int, int]]:
        yield key, context.window().max_timestamp(), len(list(elements))


class _RowsOfAll(ProcessAllWindowFunction[Reading, tuple[str, int, int], Window]):
    def process(
        self, context: ProcessAllWindowFunction.Context[Window], elements: Iterable[Reading]
    ) -> Iterable[tuple[str, int, int]]:
        yield "all", context.window().max_timestamp(), len(list(elements))


class _NoOddCounts(AggregateFunction):
    """Counts records; an odd count has no result, so its window does not fire (rule 10.32)."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Reading, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> tuple[str, int] | None:
        return None if accumulator % 2 else ("count", accumulator)

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


ASSIGNERS: Final[Mapping[str, Callable[[], WindowAssigner[Any, Any]]]] = {
    "tumbling": lambda: TumblingEventTimeWindows.of(_ms(10), _ms(3)),
    "sliding": lambda: SlidingEventTimeWindows.of(_ms(10), _ms(4)),
    "sliding with an offset": lambda: SlidingEventTimeWindows.of(_ms(6), _ms(3), _ms(1)),
    "sliding with gaps": lambda: SlidingEventTimeWindows.of(_ms(3), _ms(8)),
    "sessions": lambda: EventTimeSessionWindows.with_gap(_ms(4)),
    "dynamic sessions": lambda: DynamicEventTimeSessionWindows(_GapOfReading()),
    "tumbling by clock": lambda: TumblingProcessingTimeWindows.of(_ms(7)),
    "sliding by clock": lambda: SlidingProcessingTimeWindows.of(_ms(9), _ms(4)),
    "sessions by clock": lambda: ProcessingTimeSessionWindows.with_gap(_ms(5)),
    "dynamic sessions by clock": lambda: DynamicProcessingTimeSessionWindows(_GapOfReading()),
    "global": GlobalWindows.create,
    "global to the end": GlobalWindows.create_with_end_of_stream_trigger,
}
"""The assigners by name; the laws check all of them."""

TRIGGERS: Final[Mapping[str, Callable[[], Trigger[Any, Any]] | None]] = {
    "the assigner's": None,
    "event time": EventTimeTrigger.create,
    "clock": ProcessingTimeTrigger.create,
    "never": NeverTrigger,
    "count": lambda: CountTrigger.of(3),
    "every 4 ms": lambda: ContinuousEventTimeTrigger.of(_ms(4)),
    "every 6 ms by clock": lambda: ContinuousProcessingTimeTrigger.of(_ms(6)),
    "event time, purging": lambda: PurgingTrigger.of(EventTimeTrigger.create()),
    "clock, purging": lambda: PurgingTrigger.of(ProcessingTimeTrigger.create()),
    "count, purging": lambda: PurgingTrigger.of(CountTrigger.of(2)),
    "every 4 ms, purging": lambda: PurgingTrigger.of(ContinuousEventTimeTrigger.of(_ms(4))),
    "every 6 ms by clock, purging": lambda: PurgingTrigger.of(ContinuousProcessingTimeTrigger.of(_ms(6))),
    "count or timeout": lambda: ProcessingTimeoutTrigger.of(CountTrigger.of(3), _ms(8)),
    "event time or timeout": lambda: ProcessingTimeoutTrigger.of(EventTimeTrigger.create(), _ms(5), False, False),
    "timeout after the last": lambda: ProcessingTimeoutTrigger.of(PurgingTrigger.of(CountTrigger.of(4)), _ms(5), True, True),
    "two timeouts": lambda: ProcessingTimeoutTrigger.of(
        ProcessingTimeoutTrigger.of(CountTrigger.of(5), _ms(9), False, False), _ms(4), True, True
    ),
    "event time or count": lambda: AnyOfTrigger.of(EventTimeTrigger.create(), CountTrigger.of(3)),
    "every 4 ms or two counts": lambda: AnyOfTrigger.of(
        CountTrigger.of(2),
        AnyOfTrigger.of(PurgingTrigger.of(CountTrigger.of(5)), ContinuousEventTimeTrigger.of(_ms(4))),
    ),
    "every 4 ms or two timeouts, purging": lambda: PurgingTrigger.of(
        AnyOfTrigger.of(
            ContinuousEventTimeTrigger.of(_ms(4)),
            ProcessingTimeoutTrigger.of(CountTrigger.of(4), _ms(5), True, True),
            ProcessingTimeoutTrigger.of(CountTrigger.of(3), _ms(9), False, False),
        )
    ),
}  # fmt: skip
EVICTORS: Final[Mapping[str, Callable[[], Evictor] | None]] = {
    "none": None,
    "last 2": lambda: CountEvictor.of(2),
    "last 3, after": lambda: CountEvictor.of(3, True),
    "youngest 5 ms": lambda: TimeEvictor.of(_ms(5)),
    "youngest 4 ms, after": lambda: TimeEvictor.of(_ms(4), True),
}
_NEVER_MERGE: Final = (
    "never", "count or timeout", "event time or timeout", "timeout after the last", "two timeouts",
    "every 4 ms or two timeouts, purging",
)  # fmt: skip
_BY_CLOCK_ALONE: Final = ("clock", "every 6 ms by clock", "clock, purging", "every 6 ms by clock, purging")


@dataclass(frozen=True, slots=True)
class WindowJob:
    """A job with a keyed window over one script per source subtask; also a part of a random job.

    ``aggregates``: the window aggregates its records, with no result for some of them, instead of processing them.
    """

    assigner: str
    trigger: str
    evictor: str
    lateness_ms: int
    late_output: bool
    window_all: bool
    scripts: tuple[tuple[Entry, ...], ...]
    aggregates: bool = False

    def build(self) -> StreamGraph:
        """Builds the job: source -> (key) -> window -> sink, with late records to a second sink."""
        env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)
        counted = self.add_to(env).name("window")
        counted.sink_to(CollectSink()).name("sink")
        if self.late_output:
            counted.get_side_output(LATE).rebalance().sink_to(CollectSink()).name("late sink")
        return env.stream_graph("random windows")

    @property
    def settings(self) -> Mapping[str, object]:
        return {}

    def add_to(self, env: StreamExecutionEnvironment) -> DataStream:
        """Adds source and window; returns the output of the window."""
        readings = env.add_source(ScriptedSource(*self.scripts)).set_parallelism(len(self.scripts))
        assigner = ASSIGNERS[self.assigner]()
        if self.window_all:
            alone = self._furnished(readings.window_all(assigner))
            return alone.aggregate(_NoOddCounts()) if self.aggregates else alone.process(_RowsOfAll())
        keyed = self._furnished(readings.key_by(_key_of, Types.STRING()).window(assigner))
        counted = keyed.aggregate(_NoOddCounts()) if self.aggregates else keyed.process(_RowsOfWindow())
        return counted.set_parallelism(2)

    def expected(self) -> None:
        """The output depends on the order in which records and watermarks of several subtasks arrive."""

    def _furnished(self, windows: _Windows) -> _Windows:
        trigger, evictor = TRIGGERS[self.trigger], EVICTORS[self.evictor]
        windows = windows if trigger is None else windows.trigger(trigger())
        windows = windows if evictor is None else windows.evictor(evictor())
        windows = windows.allowed_lateness(self.lateness_ms)
        return windows.side_output_late_data(LATE) if self.late_output else windows


def accepted(assigner: str, trigger: str) -> bool:
    """Returns True if Flink can run this pair of assigner and trigger.

    Merging windows need a trigger that can merge. A processing-time trigger on event-time windows would fire without
    end, because their end is long past. A trigger that fires every few ms of event time would never end in a global
    window.
    """
    if "sessions" in assigner and trigger in _NEVER_MERGE:
        return False
    if assigner.startswith("global") and trigger.startswith("every 4 ms"):
        return False
    return trigger not in _BY_CLOCK_ALONE or "clock" in assigner or assigner.startswith("global")


def window_jobs() -> SearchStrategy[WindowJob]:
    """Draws window jobs that Flink accepts: out-of-order records, watermarks, and pauses that advance the clock.

    Some have one feature in particular: those of ``merging_sessions``, ``reactivated_channels`` and
    ``aggregates_without_result``.
    """
    everything = _accepted_jobs()
    return st.one_of(everything, everything, merging_sessions(), reactivated_channels(), aggregates_without_result())


@st.composite
def _accepted_jobs(draw: st.DrawFn) -> WindowJob:
    pairs = [(a, t) for a in ASSIGNERS for t in TRIGGERS if accepted(a, t)]
    assigner, trigger = draw(st.sampled_from(pairs))
    evictor = draw(st.sampled_from(sorted(EVICTORS)))
    return WindowJob(
        assigner,
        trigger,
        evictor,
        draw(st.sampled_from((0, 3, 9))),
        draw(st.booleans()),
        draw(st.integers(0, 5)) == 0,
        tuple(draw(st.lists(_scripts(), min_size=1, max_size=2))),
        evictor == "none" and draw(st.booleans()),
    )


@st.composite
def _scripts(draw: st.DrawFn) -> tuple[Entry, ...]:
    entries: list[Entry] = []
    now, mark = draw(st.integers(-20, 5)), -40
    for _ in range(draw(st.integers(4, 24))):
        now += draw(st.integers(0, 4))
        what = draw(st.integers(0, 9))
        if what < 7:
            at = now - draw(st.sampled_from((0, 0, 1, 2, 5, 12, 20)))
            entries.append(record((draw(st.sampled_from("abc")), draw(st.integers(0, 20))), at))
        elif what == 7:
            entries.append(sleep(draw(st.integers(1, 12))))
        elif now > mark:
            mark = now
            entries.append(watermark(now))
    return tuple(entries)


@st.composite
def reactivated_channels(draw: st.DrawFn) -> WindowJob:
    """Draws windows over channels that become active while their watermarks are behind that of the task."""
    low_ms = draw(st.integers(0, 9))
    high_ms = low_ms + draw(st.integers(1, 40))
    again_ms = draw(st.integers(low_ms + 1, high_ms + 20))
    # Longer than the buffer timeout, or not.
    pause_ms = draw(st.sampled_from([150, 20]))
    early, late = (_records_until(draw, bound_ms) for bound_ms in (high_ms, again_ms))
    left: list[Entry] = [*early, watermark(low_ms), idle(), sleep(3 * pause_ms), *late, watermark(again_ms)]
    right: list[Entry] = [*early, sleep(pause_ms), watermark(high_ms), sleep(pause_ms)]
    highest_ms = max(high_ms, again_ms)
    for script in (left, right):
        for number in range(draw(st.integers(0, 3))):
            more = [idle(), watermark(highest_ms + 1 + number * draw(st.integers(1, 9))), *late]
            script += [draw(st.sampled_from(more)), sleep(pause_ms)]
    assigner = draw(st.sampled_from(["tumbling", "sliding", "sessions"]))
    return WindowJob(assigner, "the assigner's", "none", 0, False, False, (_rising(left), _rising(right)))


def _records_until(draw: st.DrawFn, bound_ms: int) -> list[Entry]:
    readings = draw(st.lists(st.tuples(keys(2), st.integers(0, bound_ms + 9)), min_size=1, max_size=3))
    return [record(reading, reading[1]) for reading in readings]


@st.composite
def merging_sessions(draw: st.DrawFn) -> WindowJob:
    """Draws session windows with continuous triggers whose windows merge between two firings."""
    script: list[Entry] = []
    at_ms = 0
    for _ in range(draw(st.integers(1, 3))):
        at_ms += draw(st.integers(0, 9))
        far_ms = at_ms + draw(st.integers(4, 7))
        script += [record(("a", 0), at_ms), record(("a", 1), far_ms), watermark(at_ms + draw(st.integers(0, 3)))]
        script += [record(("a", 2), at_ms + 3), watermark(at_ms + draw(st.integers(4, 9)))]
        at_ms = far_ms
    trigger = draw(st.sampled_from(["every 4 ms", "every 4 ms, purging", "every 4 ms or two counts"]))
    lateness_ms, aggregates = draw(st.sampled_from([0, 9])), draw(st.booleans())
    return WindowJob("sessions", trigger, "none", lateness_ms, False, False, (_rising(script),), aggregates)


def _rising(script: Sequence[Entry]) -> tuple[Entry, ...]:
    """Returns the script without watermarks that are not higher than those before them."""
    highest = -1
    kept: list[Entry] = []
    for entry in script:
        if isinstance(entry, WatermarkEntry):
            if entry.timestamp <= highest:
                continue
            highest = entry.timestamp
        kept.append(entry)
    return tuple(kept)


@st.composite
def aggregates_without_result(draw: st.DrawFn) -> WindowJob:
    """Draws windows whose aggregate has no result for some of their contents (rule 10.32)."""
    assigner = draw(st.sampled_from(["tumbling", "sliding", "sessions", "tumbling by clock"]))
    trigger = draw(st.sampled_from(["the assigner's", "count", "every 4 ms"]))
    return WindowJob(
        assigner,
        trigger,
        "none",
        draw(st.sampled_from([0, 3])),
        False,
        False,
        tuple(draw(st.lists(_scripts(), min_size=1, max_size=2))),
        True,
    )
