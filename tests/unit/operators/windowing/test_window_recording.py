"""The recorded facts of a window operator, and those of each of its faults."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

import tests.support.faults  # noqa: F401  registers the faults
from flowsim.facts.kinds import FireCause, Level, WindowResult
from flowsim.facts.schema import TABLES
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.windowing.aligned_window_operator import create_window_operator
from flowsim.operators.windowing.assigners.session_windows import (
    DynamicEventTimeSessionWindows,
    EventTimeSessionWindows,
)
from flowsim.operators.windowing.assigners.tumbling_windows import TumblingEventTimeWindows
from flowsim.operators.windowing.assigners.window_assigner import GlobalWindows
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger
from flowsim.operators.windowing.triggers.nested_triggers import PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import EventTimeTrigger
from flowsim.operators.windowing.triggers.trigger import TriggerContext, TriggerResult
from flowsim.operators.windowing.window_contents import ListContents, ReducingContents, WindowContents
from flowsim.operators.windowing.window_functions import PassThroughWindowFunction
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import Window
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import Emitted, ManualClock, OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.encoding import fingerprint
from flowsim.values.java_hash_code import key_hash
from flowsim.values.keys import key_fingerprint

KEY = (key_hash("a"), key_fingerprint("a"))
STREAM: list[tuple[object, int | None]] = [("a1", 1), ("a2", 3)]


def tracing(recorder: MemoryRecorder) -> Callable[[ManualClock], TaskTrace]:
    return lambda clock: TaskTrace(7, clock, recorder)


def window_operator(
    lateness: int = 0, late_tag: OutputTag | None = None, contents: WindowContents | None = None
) -> WindowOperator:
    return create_window_operator(
        TumblingEventTimeWindows(10), contents or ListContents(), PassThroughWindowFunction(), None, lateness, late_tag
    )


def run(
    operator: WindowOperator, *late: tuple[object, int | None], faults: Iterable[str] = ()
) -> tuple[MemoryRecorder, list[Emitted]]:
    """Two rows, the watermark that fires their window, then rows that come after it, then the next window's end."""
    recorder = MemoryRecorder(Level.FULL)
    with OneInputOperatorHarness(
        operator, key_selector=lambda value: str(value)[0], trace=tracing(recorder), faults=faults
    ) as harness:
        harness.process_elements(STREAM)
        harness.process_watermark(9)
        harness.process_elements(late)
        harness.process_watermark(19)
        return recorder, [emitted for emitted in harness.output if emitted[0] != "wm"]


def columns(recorder: MemoryRecorder, table: str, *names: str) -> list[tuple[int, ...]]:
    places = [TABLES[table].names.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in recorder.rows(table)]


def account(*rows: tuple[object, int | None]) -> tuple[int, int, int]:
    """Rows, fingerprint_sum and fingerprint_xor of these records."""
    total = xor = 0
    for value, timestamp in rows:
        total += fingerprint(timestamp, value) >> 31
        xor ^= fingerprint(timestamp, value)
    return (len(rows), total, xor)


def fires(recorder: MemoryRecorder) -> list[tuple[int, ...]]:
    return columns(
        recorder, "window_fire", "window_start", "window_end", "watermark", "rows", "fingerprint_sum", "fingerprint_xor"
    )


def test_intake_and_firings_are_recorded_with_their_records() -> None:
    late = ("a3", 4)
    for contents in (ListContents(), ReducingContents(lambda first, second: [first, second])):
        recorder, _ = run(window_operator(5, None, contents), late)
        assert columns(recorder, "window_intake", "task", "operator", "key_hash", "key", "timestamp", "watermark") == [
            (7, 0, *KEY, 1, NO_TIMESTAMP), (7, 0, *KEY, 3, NO_TIMESTAMP), (7, 0, *KEY, 4, 9),
        ]  # fmt: skip
        assert columns(recorder, "window_intake", "fingerprint") == [(fingerprint(t, v),) for v, t in (*STREAM, late)]
        assert fires(recorder) == [(0, 10, 9, *account(*STREAM)), (0, 10, 9, *account(*STREAM, late))]
        assert recorder.rows("late_drop") == []
        assert recorder.static_rows("keys") == [(7, KEY[1], KEY[0], "STRING", '"a"')]


def test_late_drop_is_recorded_with_side_output() -> None:
    for tag, side in ((OutputTag("late"), 1), (None, 0)):
        recorder, _ = run(window_operator(0, tag), ("a3", 4))
        found = columns(
            recorder, "late_drop", "key_hash", "key", "timestamp", "fingerprint", "watermark", "side_output"
        )
        assert found == [(*KEY, 4, fingerprint(4, "a3"), 9, side)]


def test_seq_orders_intake_timer_and_firing() -> None:
    recorder, _ = run(window_operator())
    by_seq = sorted(
        (row[0], table) for table in ("window_intake", "timers", "window_fire") for row in recorder.rows(table)
    )
    names = ["window_intake", "timers", "window_intake", "timers", "window_fire"]
    assert [table for _, table in by_seq] == names


def test_recorded_run_emits_same_as_unrecorded_run() -> None:
    _, recorded = run(window_operator(5), ("a3", 4), ("a4", 12))
    with OneInputOperatorHarness(window_operator(5), key_selector=lambda value: str(value)[0]) as harness:
        harness.process_elements(STREAM)
        harness.process_watermark(9)
        harness.process_elements([("a3", 4), ("a4", 12)])
        harness.process_watermark(19)
        assert [emitted for emitted in harness.output if emitted[0] != "wm"] == recorded


def test_window_loses_row_fires_with_one_record_less() -> None:
    recorder, emitted = run(window_operator(), faults=["window_loses_row"])
    assert len(recorder.rows("window_intake")) == 2
    assert fires(recorder) == [(0, 10, 9, *account(("a1", 1)))]
    assert emitted == [("rec", ["a1"], 9)]


def test_window_fires_early_fires_before_watermark() -> None:
    recorder, emitted = run(window_operator(), faults=["window_fires_early"])
    assert fires(recorder) == [(0, 10, NO_TIMESTAMP, *account(("a1", 1))), (0, 10, 9, *account(*STREAM))]
    assert emitted == [("rec", ["a1"], 9), ("rec", ["a1", "a2"], 9)]


def test_late_row_kept_fires_expired_window() -> None:
    recorder, emitted = run(window_operator(), ("a3", 4), faults=["late_row_kept"])
    assert recorder.rows("late_drop") == []
    assert fires(recorder)[1] == (0, 10, 9, *account(("a3", 4)))
    assert emitted[1] == ("rec", ["a3"], 9)


def test_late_row_lost_early_drops_record_in_time() -> None:
    recorder, emitted = run(window_operator(), faults=["late_row_lost_early"])
    assert columns(recorder, "late_drop", "timestamp", "watermark") == [(3, NO_TIMESTAMP)]
    assert fires(recorder) == [(0, 10, 9, *account(("a1", 1)))]
    assert emitted == [("rec", ["a1"], 9)]


@pytest.mark.parametrize("fault", ["window_loses_row", "window_fires_early", "late_row_kept", "late_row_lost_early"])
def test_fault_changes_output_of_unrecorded_run(fault: str) -> None:
    outputs = []
    for faults in ((), (fault,)):
        operator = WindowOperator(
            TumblingEventTimeWindows(10), ListContents(), PassThroughWindowFunction(), EventTimeTrigger()
        )
        with OneInputOperatorHarness(operator, key_selector=lambda value: "a", faults=faults) as harness:
            harness.process_elements(STREAM)
            harness.process_watermark(9)
            harness.process_element("a3", 4)
            outputs.append(harness.take_output())
    assert outputs[0] != outputs[1]


def recorded_firings(recorder: MemoryRecorder) -> list[tuple[int, ...]]:
    return columns(recorder, "window_fire", "rows", "fingerprint_xor", "result", "cause", "at")


def play(operator: WindowOperator, *rows: tuple[object, int | None], faults: Iterable[str] = ()) -> MemoryRecorder:
    """These rows, then the end of event time."""
    recorder = MemoryRecorder(Level.FULL)
    with OneInputOperatorHarness(
        operator, key_selector=lambda value: str(value)[0], trace=tracing(recorder), faults=faults
    ) as harness:
        harness.process_elements(rows)
        harness.process_watermark(MAX_WATERMARK)
    return recorder


class Extractor:
    """The gap that a row says; asked once for each."""

    def __init__(self) -> None:
        self.asked = 0

    def extract(self, element: object) -> int:
        self.asked += 1
        return int(str(element)[1:])


def with_sessions(contents: WindowContents | None = None, extractor: Extractor | None = None) -> WindowOperator:
    assigner = EventTimeSessionWindows(5) if extractor is None else DynamicEventTimeSessionWindows(extractor)
    return create_window_operator(assigner, contents or ListContents(), PassThroughWindowFunction())


class Purging(EventTimeTrigger):
    """Purges at a1, and fires and purges at others."""

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.PURGE if element == "a1" else TriggerResult.FIRE_AND_PURGE


def test_firing_is_recorded_with_cause_and_result() -> None:
    """A timer's firing has the timer's time, a record's the record's timestamp; a purge alone is recorded as well."""
    one, two = ("a1", 1), ("a2", 3)
    numbers = [fingerprint(t, v) for v, t in (one, two)]
    operator = create_window_operator(
        TumblingEventTimeWindows(10), ListContents(), PassThroughWindowFunction(), Purging()
    )
    assert recorded_firings(play(operator, one, two)) == [
        (1, numbers[0], WindowResult.PURGE, FireCause.ELEMENT, 1),
        (1, numbers[1], WindowResult.FIRE_AND_PURGE, FireCause.ELEMENT, 3),
    ]
    both = (2, numbers[0] ^ numbers[1], WindowResult.FIRE, FireCause.EVENT_TIME_TIMER, 9)
    assert recorded_firings(play(window_operator(), one, two)) == [both]


@pytest.mark.parametrize("contents", [ListContents(), ReducingContents(lambda first, second: None)])
def test_merge_is_recorded_with_absorbed_windows_and_all_records(contents: WindowContents) -> None:
    """Also where the fold has no result: the records of the window are recorded."""
    rows = [("a1", 0), ("a2", 8), ("a3", 4)]
    recorder = play(with_sessions(contents), *rows)
    merges = columns(recorder, "window_merge", "key", "window_start", "window_end", "into_start", "into_end")
    assert sorted(merges) == [(KEY[1], 0, 5, 0, 13), (KEY[1], 8, 13, 0, 13)]
    assert fires(recorder) == [(0, 13, MAX_WATERMARK, *account(*rows))]


def test_extracted_gap_is_recorded_at_intake_and_extracted_once() -> None:
    extractor = Extractor()
    recorder = play(with_sessions(extractor=extractor), ("a3", 0), ("a7", 20))
    assert columns(recorder, "window_intake", "timestamp", "gap") == [(0, 3), (20, 7)]
    assert columns(play(with_sessions(), ("a3", 0)), "window_intake", "timestamp", "gap") == [(0, 0)]
    assert extractor.asked == 2


def test_session_loses_rows_loses_contents_of_one_merged_window() -> None:
    recorder = play(with_sessions(), ("a1", 0), ("a2", 8), ("a3", 4), faults=["session_loses_rows"])
    assert fires(recorder) == [(0, 13, MAX_WATERMARK, *account(("a2", 8), ("a3", 4)))]


@pytest.mark.parametrize("lateness", [0, 3])
def test_window_fires_twice_fires_at_its_end_twice(lateness: int) -> None:
    recorder = play(window_operator(lateness), ("a1", 1), ("a2", 12), faults=["window_fires_twice"])
    first, second = (0, 10, MAX_WATERMARK, *account(("a1", 1))), (10, 20, MAX_WATERMARK, *account(("a2", 12)))
    assert fires(recorder) == [first, first, second]


def test_purge_forgotten_keeps_records_of_first_purge() -> None:
    counting = create_window_operator(
        GlobalWindows(), ListContents(), PassThroughWindowFunction(), PurgingTrigger(CountTrigger(2))
    )
    recorder = play(counting, ("a1", 1), ("a2", 2), ("a3", 3), ("a4", 4), faults=["purge_forgotten"])
    assert columns(recorder, "window_fire", "rows", "result") == [
        (2, WindowResult.FIRE_AND_PURGE), (4, WindowResult.FIRE_AND_PURGE),
    ]  # fmt: skip
