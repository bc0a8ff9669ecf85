"""The windows of a record (rules 10.1-10.6)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from random import Random

import pytest

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
from flowsim.operators.windowing.assigners.window_assigner import (
    GlobalWindows,
    WindowAssigner,
    is_merging,
    refuse_trigger_that_cannot_merge,
)
from flowsim.operators.windowing.triggers.continuous_triggers import ContinuousEventTimeTrigger
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.trigger import Trigger
from flowsim.operators.windowing.windows import GLOBAL_WINDOW
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.types import Types


class Subtask:
    """The clock and the chance of one subtask."""

    def __init__(self, now: int = 0, seed: int = 0) -> None:
        self.now = now
        self.chance = Random(seed)

    def get_current_processing_time(self) -> int:
        return self.now

    def random(self) -> Random:
        return self.chance


class ItsLength:
    """A gap as long as the record."""

    def extract(self, element: object) -> int:
        assert isinstance(element, str)
        return len(element)


class Answers:
    """Returns the given gap."""

    def __init__(self, gap: object) -> None:
        self.gap = gap

    def extract(self, element: object) -> int:
        return self.gap  # type: ignore[return-value]  # what is refused when it is no int


def windows(
    assigner: WindowAssigner, timestamp: int | None, subtask: Subtask | None = None, element: object = "x"
) -> Sequence[tuple[int, int]]:
    assigned = assigner.assign_windows(element, timestamp, subtask or Subtask())
    return [(window.start, window.end) for window in assigned]


def test_record_gets_the_tumbling_window_around_its_timestamp() -> None:
    assigner = TumblingEventTimeWindows(10, 3)
    assert [windows(assigner, at) for at in (-8, 2, 3, 12)] == [[(-17, -7)], [(-7, 3)], [(3, 13)], [(3, 13)]]


def test_negative_offset_shifts_windows_to_earlier_starts() -> None:
    assert windows(TumblingEventTimeWindows(10, -3), 8) == [(7, 17)]
    # Java's difference from a negative offset wraps around here; from the same offset above 0 it would not.
    at = MAX_WATERMARK - 1
    assert windows(TumblingEventTimeWindows(13, -5), at) == [(at - 8, NO_TIMESTAMP + 3)]
    assert windows(TumblingEventTimeWindows(13, 8), at) == [(at - 11, NO_TIMESTAMP)]


def test_sliding_windows_are_assigned_newest_first() -> None:
    assert windows(SlidingEventTimeWindows(10, 3), 11) == [(9, 19), (6, 16), (3, 13)]
    assert windows(SlidingEventTimeWindows(10, 5, 2), -1) == [(-3, 7), (-8, 2)]


def test_slide_above_size_leaves_gaps() -> None:
    assigner = SlidingEventTimeWindows(2, 5)
    assert [windows(assigner, at) for at in (4, 5, 6, 7)] == [[], [(5, 7)], [(5, 7)], []]


def test_windows_before_smallest_timestamp_are_left_out() -> None:
    """Where Flink counts on from the other end of time."""
    first = NO_TIMESTAMP
    assert windows(SlidingEventTimeWindows(10, 4, 2), first + 10) == [
        (first + 10, first + 20), (first + 6, first + 16), (first + 2, first + 12),
    ]  # fmt: skip
    assert windows(SlidingEventTimeWindows(50, 1000, 500), first + 100) == []
    assert windows(SlidingEventTimeWindows(50, 10), first + 40) == []


def test_processing_time_windows_use_clock_and_need_no_timestamp() -> None:
    clock = Subtask(now=12)
    assert windows(TumblingProcessingTimeWindows(10, 3), None, clock) == [(3, 13)]
    assert windows(SlidingProcessingTimeWindows(10, 5), 777, clock) == [(10, 20), (5, 15)]
    assert windows(ProcessingTimeSessionWindows(7), None, clock) == [(12, 19)]
    assert windows(DynamicProcessingTimeSessionWindows(ItsLength()), None, clock, "four") == [(12, 16)]


def test_session_starts_at_timestamp_and_lasts_for_gap() -> None:
    assert windows(EventTimeSessionWindows(5), -2) == [(-2, 3)]
    assert windows(DynamicEventTimeSessionWindows(ItsLength()), 10, element="three") == [(10, 15)]


def test_session_accepts_record_without_timestamp_and_others_refuse() -> None:
    """Rule 10.2: the other event-time windows refuse it."""
    assert windows(EventTimeSessionWindows(5), None) == [(NO_TIMESTAMP, NO_TIMESTAMP + 5)]
    for assigner in (TumblingEventTimeWindows(5), SlidingEventTimeWindows(5, 5)):
        for nothing in (None, NO_TIMESTAMP):
            with pytest.raises(BadInput, match="the record has no timestamp"):
                windows(assigner, nothing)


@pytest.mark.parametrize("gap", [0, -1, None, 1.5, True])
def test_invalid_dynamic_gap_is_refused_with_record(gap: object) -> None:
    for assigner in (DynamicEventTimeSessionWindows(Answers(gap)), DynamicProcessingTimeSessionWindows(Answers(gap))):
        with pytest.raises(
            BadInput, match=rf"expected the gap extractor to return 1 to .* ms, got {gap} for 'the record'"
        ):
            windows(assigner, 0, element="the record")


def test_global_window_takes_every_record() -> None:
    for assigner in (GlobalWindows(), GlobalWindows(end_of_stream=True)):
        assert list(assigner.assign_windows("x", None, Subtask())) == [GLOBAL_WINDOW]
        assert not assigner.is_event_time()


def test_natural_stagger_is_set_by_first_record() -> None:
    """Rule 10.3: whatever the timestamp of that record, and only that record decides."""
    assigner, subtask = TumblingEventTimeWindows(10, 1, WindowStagger.NATURAL), Subtask(now=1004)
    assert windows(assigner, 0, subtask) == [(-5, 5)]
    subtask.now = 1009
    assert windows(assigner, 5, subtask) == [(5, 15)]


def test_natural_stagger_wraps_around() -> None:
    assert WindowStagger.NATURAL.stagger_offset(NO_TIMESTAMP + 5, 1000, Random(0)) == 197


def test_random_stagger_uses_random_of_subtask() -> None:
    def starts(seed: int) -> set[int]:
        assigner, subtask = TumblingProcessingTimeWindows(1000, 0, WindowStagger.RANDOM), Subtask(0, seed)
        found = set()
        for subtask.now in (0, 400, 999, 5000):
            ((start, _),) = windows(assigner, None, subtask)
            found.add(start % 1000)
        return found

    assert starts(3) == starts(3) == {int(Random(3).random() * 1000)}
    assert starts(4) != starts(3)


def test_copies_of_assigner_have_own_staggers() -> None:
    pattern = TumblingEventTimeWindows(10, 0, WindowStagger.NATURAL)
    first, second = copy.deepcopy(pattern), copy.deepcopy(pattern)
    assert windows(first, 0, Subtask(now=3)) == [(-7, 3)]
    assert windows(second, 0, Subtask(now=8)) == [(-2, 8)]


@pytest.mark.parametrize(("size", "offset"), [(0, 0), (-1, 0), (10, 10), (10, -10)])
def test_invalid_tumbling_size_or_offset_is_refused(size: int, offset: int) -> None:
    for kind in (TumblingEventTimeWindows, TumblingProcessingTimeWindows):
        with pytest.raises(BadInput, match=r"\|offset\| < size, got size"):
            kind(size, offset)


@pytest.mark.parametrize(("size", "slide", "offset"), [(0, 5, 0), (10, 0, 0), (10, 5, 5), (10, 5, -5), (10, -5, 0)])
def test_invalid_sliding_size_slide_or_offset_is_refused(size: int, slide: int, offset: int) -> None:
    for kind in (SlidingEventTimeWindows, SlidingProcessingTimeWindows):
        with pytest.raises(BadInput, match=r"\|offset\| < slide, got size"):
            kind(size, slide, offset)


def test_more_than_ten_million_windows_per_record_are_refused() -> None:
    SlidingEventTimeWindows(10_000_000, 1)
    SlidingProcessingTimeWindows(10_000_001, 1)
    with pytest.raises(BadInput, match="choose a longer slide"):
        SlidingEventTimeWindows(10_000_001, 1)


def test_session_gap_of_zero_is_refused() -> None:
    for kind in (EventTimeSessionWindows, ProcessingTimeSessionWindows):
        with pytest.raises(BadInput, match="a gap of at least 1 ms, got 0 ms"):
            kind(0)


def test_default_trigger_has_time_domain_of_assigner() -> None:
    extractor = ItsLength()
    event_time: list[WindowAssigner] = [
        TumblingEventTimeWindows(1), SlidingEventTimeWindows(1, 1), EventTimeSessionWindows(1),
        DynamicEventTimeSessionWindows(extractor),
    ]  # fmt: skip
    processing_time: list[WindowAssigner] = [
        TumblingProcessingTimeWindows(1), SlidingProcessingTimeWindows(1, 1), ProcessingTimeSessionWindows(1),
        DynamicProcessingTimeSessionWindows(extractor),
    ]  # fmt: skip
    for assigner in event_time:
        assert (type(assigner.get_default_trigger(None)), assigner.is_event_time()) == (EventTimeTrigger, True)
    for assigner in processing_time:
        assert (type(assigner.get_default_trigger(None)), assigner.is_event_time()) == (ProcessingTimeTrigger, False)
    assert type(GlobalWindows().get_default_trigger(None)) is NeverTrigger
    assert type(GlobalWindows(end_of_stream=True).get_default_trigger(None)) is EndOfStreamTrigger
    assert [is_merging(assigner) for assigner in (*event_time, *processing_time)] == [False, False, True, True] * 2


@pytest.mark.parametrize(
    "trigger",
    [
        NeverTrigger(), EndOfStreamTrigger(), DeltaTrigger(1, lambda one, other: 0, Types.LONG()),
        ProcessingTimeoutTrigger(CountTrigger(1), 5), PurgingTrigger(ProcessingTimeoutTrigger(CountTrigger(1), 5)),
    ],
    ids=lambda trigger: type(trigger).__name__,
)  # fmt: skip
def test_sessions_with_trigger_that_cannot_merge_are_refused(trigger: Trigger) -> None:
    """Rule 10.24: when the job is built, not at the first merge."""
    for assigner in (EventTimeSessionWindows(1), DynamicProcessingTimeSessionWindows(ItsLength())):
        with pytest.raises(BadInput, match=rf"the trigger {type(trigger).__name__} cannot: use one"):
            refuse_trigger_that_cannot_merge(assigner, trigger)
    refuse_trigger_that_cannot_merge(TumblingEventTimeWindows(1), trigger)
    for other in (EventTimeTrigger(), PurgingTrigger(CountTrigger(2)), ContinuousEventTimeTrigger(3)):
        refuse_trigger_that_cannot_merge(EventTimeSessionWindows(1), other)
