"""Every window assigner beside the real one, record by record (rules 10.1-10.6)."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.datastream.building.window_operator_builder import describe_window
from flowsim.errors import BadInput
from flowsim.operators.windowing.assigners.session_windows import (
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    ProcessingTimeSessionWindows,
)
from flowsim.operators.windowing.assigners.sliding_windows import SlidingEventTimeWindows, SlidingProcessingTimeWindows
from flowsim.operators.windowing.assigners.tumbling_windows import (
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
    WindowStagger,
)
from flowsim.operators.windowing.assigners.window_assigner import GlobalWindows, WindowAssigner
from flowsim.operators.windowing.windows import TimeWindow, window_from
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.flink.machine import Differential
from tests.support.operators.scripted_context import written

Record = tuple[int, int, int]
"""Element (the gap of a dynamic session), timestamp, processing time."""

lengths = st.one_of(st.integers(1, 20), st.integers(1, 5000), st.integers(-2, 0), st.just(86_400_000))
near_zero = st.one_of(st.integers(-60, 60), st.integers(-10_000, 10_000), st.integers(0, 2**41))
times = st.one_of(near_zero, near_zero, st.just(NO_TIMESTAMP), st.integers(MAX_WATERMARK - 100, MAX_WATERMARK))
"""Also where windows end behind the greatest timestamp; only sliding windows leave the least ones out."""
extremes = st.one_of(times, st.integers(NO_TIMESTAMP, NO_TIMESTAMP + 100), st.integers(NO_TIMESTAMP, MAX_WATERMARK))
KINDS = [
    "tumbling_event_time", "tumbling_processing_time", "sliding_event_time", "sliding_processing_time",
    "session_event_time", "session_processing_time", "dynamic_session_event_time", "dynamic_session_processing_time",
    "global", "global_end_of_stream",
]  # fmt: skip


class Context:
    """Processing time as the record says, and chance that answers what the real one happened to draw."""

    def __init__(self) -> None:
        self.now = 0
        self.drawn = 0.0

    def get_current_processing_time(self) -> int:
        return self.now

    def random(self) -> Random:
        return Drawing(self.drawn)


class Drawing(Random):
    def __init__(self, drawn: float) -> None:
        super().__init__(0)
        self.drawn = drawn

    def random(self) -> float:
        return self.drawn


class TheElement:
    """The gap of a record is the record."""

    def extract(self, element: object) -> int:
        assert isinstance(element, int)
        return element


def ours(kind: str, size: int, slide: int, offset: int, stagger: WindowStagger) -> WindowAssigner:
    match kind:
        case "tumbling_event_time":
            return TumblingEventTimeWindows(size, offset, stagger)
        case "tumbling_processing_time":
            return TumblingProcessingTimeWindows(size, offset, stagger)
        case "sliding_event_time":
            return SlidingEventTimeWindows(size, slide, offset)
        case "sliding_processing_time":
            return SlidingProcessingTimeWindows(size, slide, offset)
        case "session_event_time":
            return EventTimeSessionWindows(size)
        case "session_processing_time":
            return ProcessingTimeSessionWindows(size)
        case "dynamic_session_event_time":
            return DynamicEventTimeSessionWindows(TheElement())
        case "dynamic_session_processing_time":
            return DynamicProcessingTimeSessionWindows(TheElement())
    return GlobalWindows(end_of_stream=kind == "global_end_of_stream")


def assigned(assigner: WindowAssigner, record: Record, context: Context) -> str:
    element, timestamp, context.now = record
    try:
        windows = assigner.assign_windows(element, timestamp, context)
    except BadInput:
        return "refused"
    return f"[{','.join(map(written, windows))}]"


def record_of(kind: str) -> st.SearchStrategy[Record]:
    # Flink never comes to an end where a sliding window would begin before the least timestamp.
    when = times if kind.startswith("sliding") else extremes
    return st.tuples(st.one_of(st.integers(-1, 50), extremes), when, when.filter(lambda now: now != NO_TIMESTAMP))


@pytest.mark.parametrize("kind", KINDS)
def test_windows_of_records_equal_flinks(differential: Differential, kind: str) -> None:
    real = differential.flink.java.flowsim.differential.Assigners

    @differential.settings(25)
    @given(
        lengths, lengths, st.one_of(st.just(0), st.integers(-30, 30), st.integers(-5000, 5000)),
        st.sampled_from(WindowStagger), st.lists(record_of(kind), min_size=8, max_size=30),
    )  # fmt: skip
    def compare(size: int, slide: int, offset: int, stagger: WindowStagger, records: list[Record]) -> None:
        # A record in thousands of windows says no more than one in hundreds.
        slide = max(slide, size // 300) if slide > 0 else slide
        script = "\n".join(" ".join(map(str, record)) for record in records)
        about, *theirs = real.run(f"{kind} {size} {slide} {offset} {stagger.value}", script).split("\n")
        with differential.comparing(kind, commands=len(records) + 1):
            if about.startswith("!"):
                assert about == "!IllegalArgumentException"
                with pytest.raises(BadInput):
                    ours(kind, size, slide, offset, stagger)
                return
            assigner, context = ours(kind, size, slide, offset, stagger), Context()
            drawn = theirs.pop()
            if stagger is WindowStagger.RANDOM and drawn != "null":
                context.drawn = (int(drawn) + 0.5) / size
            trigger = type(assigner.get_default_trigger(None)).__name__
            assert f"{str(assigner.is_event_time()).lower()} {trigger}" == about
            mine = [assigned(assigner, record, context) for record in records]
            assert mine == ["refused" if answer.startswith("!") else answer for answer in theirs]

    compare()


def test_every_assigner_is_described_by_its_kind() -> None:
    for kind in KINDS:
        assigner = ours(kind, 10, 5, 0, WindowStagger.ALIGNED)
        described = describe_window(assigner, assigner.get_default_trigger(None), 0, False)["assigner"]
        assert described == ("global" if kind.startswith("global") else kind)


def test_window_starts_equal_flinks(differential: Differential) -> None:
    """Any long for a timestamp and an offset: differences and ends wrap around as Java's do."""
    real = differential.flink.java.flowsim.differential.Assigners
    sizes = st.one_of(st.integers(1, 100), st.integers(1, MAX_WATERMARK))

    @differential.settings(25)
    @given(st.lists(st.tuples(extremes, extremes, sizes), min_size=8, max_size=30))
    def compare(questions: list[tuple[int, int, int]]) -> None:
        theirs = real.starts("\n".join(" ".join(map(str, question)) for question in questions)).split("\n")
        with differential.comparing("TimeWindow.getWindowStartWithOffset", commands=len(questions)):
            mine = []
            for timestamp, offset, size in questions:
                start = TimeWindow.get_window_start_with_offset(timestamp, offset, size)
                mine.append(f"{start} {window_from(start, size).max_timestamp()}")
            assert mine == theirs

    compare()
