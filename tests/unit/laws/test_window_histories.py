"""Law window-fire on hand-made histories: one operator, one key, and the firings of each assigner and trigger.

Records are numbered 1, 2, 4, 8, ...: the exclusive or of a window's fingerprints says which of them it held.
"""

from __future__ import annotations

import json

import pytest

from flowsim.facts.kinds import FireCause, Level, WindowResult
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import WHOLE, check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

MS = 1_000_000
FIRE, PURGE = WindowResult.FIRE, WindowResult.FIRE_AND_PURGE
ROW, TIMER, CLOCK = FireCause.ELEMENT, FireCause.EVENT_TIME_TIMER, FireCause.PROCESSING_TIME_TIMER
EVENT_TIME, COUNT_2 = {"kind": "event_time"}, {"kind": "count", "count": 2}


class History:
    """What one window operator recorded. Implements ``laws.slices.Facts``."""

    level = Level.ELEMENTS

    def __init__(self, assigner: str, trigger: object = EVENT_TIME, **params: object) -> None:
        described = {"assigner": assigner, "trigger": trigger, **params}
        self.static: dict[str, list[tuple[int | str, ...]]] = {
            "tasks": [(0, 0, 0, "window (1/1)", 0, 1, 8, 1)],
            "operators": [(0, 0, "window", "window", json.dumps(described), -1, "")],
        }
        self.tables: dict[str, list[tuple[int, ...]]] = {}
        self.watermark, self.seq, self.records = NO_TIMESTAMP, 0, 0

    def rows(self, table: str) -> list[tuple[int, ...]]:
        return self.tables.get(table, [])

    def static_rows(self, table: str) -> list[tuple[int | str, ...]]:
        return self.static.get(table, [])

    def _add(self, table: str, *columns: int) -> History:
        self.tables.setdefault(table, []).append((self.seq, 0, *columns))
        self.seq += 1
        return self

    def mark(self, watermark: int) -> History:
        self.watermark = watermark
        return self._add("task_watermark", 0, 0, 1, watermark)

    def row(self, timestamp: int, now_ms: int = 0, gap: int = 0) -> History:
        number = 1 << self.records
        self.records += 1
        return self._add("window_intake", 0, now_ms * MS, 7, 70, timestamp, number, self.watermark, gap, 0)

    def merge(self, start: int, end: int, into_start: int, into_end: int) -> History:
        return self._add("window_merge", 0, 0, 7, 70, start, end, into_start, into_end, self.watermark)

    def fire(
        self,
        window: tuple[int, int],
        held: int,
        cause: FireCause,
        at: int,
        result: WindowResult = FIRE,
        now_ms: int = 0,
    ) -> History:
        """``held``: the numbers of its records, added up."""
        counted = (held.bit_count(), 0, held)
        return self._add("window_fire", 0, now_ms * MS, 7, 70, *window, self.watermark, *counted, result, cause, at)

    def drop(self, timestamp: int, number: int) -> History:
        return self._add("late_drop", 0, 0, 7, 70, timestamp, number, self.watermark, 0)

    def judged(self) -> list[Outcome]:
        """By window-fire, late-rows and lateness."""
        return check_all(self, WHOLE, [law for law in LAWS if law.id in ("window-fire", "late-rows", "lateness")])


def sliding() -> History:
    """Size 10, slide 5: 7 is in [5, 15) and [0, 10), -3 in [-5, 5) and [-10, 0).

    3 comes when [0, 10) has passed and [-5, 5) is cleaned up.
    """
    h = History("sliding_event_time", size_ms=10, slide_ms=5, lateness_ms=2)
    h.row(7).row(-3).mark(9).fire((-10, 0), 2, TIMER, -1).fire((-5, 5), 2, TIMER, 4).fire((0, 10), 1, TIMER, 9)
    h.row(3).fire((0, 10), 5, ROW, 3)
    h.mark(20).fire((5, 15), 1, TIMER, 14)
    return h.row(5).drop(5, 8).mark(MAX_WATERMARK)


def gaps() -> History:
    """Size 3, slide 8: 5 is in no window, and comes before the only record of [0, 3)."""
    return History("sliding_event_time", size_ms=3, slide_ms=8).row(5).row(1).mark(4).fire((0, 3), 2, TIMER, 2)


def before_zero() -> History:
    """Tumbling by 5 from 2 on: -6 is in [-8, -3)."""
    return History("tumbling_event_time", size_ms=5, offset_ms=2).row(-6).mark(-4).fire((-8, -3), 1, TIMER, -4)


def sessions() -> History:
    """Gap 5: 0 and 20 stand alone, 5 touches the first, 10 touches both of what lies between by way of 14."""
    h = History("session_event_time", gap_ms=5)
    h.row(0).row(20).row(5).merge(0, 5, 0, 10).row(14).row(10).merge(0, 10, 0, 19).merge(14, 19, 0, 19)
    return h.mark(18).fire((0, 19), 1 + 4 + 8 + 16, TIMER, 18).row(3).drop(3, 32).mark(24).fire((20, 25), 2, TIMER, 24)


def dynamic_sessions() -> History:
    """A gap of 10 at 0 covers what has a gap of 2 at 4; the trigger counts through the merge."""
    h = History("dynamic_session_event_time", COUNT_2)
    return h.row(4, gap=2).row(0, gap=10).merge(4, 6, 0, 10).fire((0, 10), 3, ROW, 0).row(1, gap=1)


def counted() -> History:
    """Every second record, and what was given out is gone."""
    h = History("global", {"kind": "purging", "of": COUNT_2})
    ends = (NO_TIMESTAMP, MAX_WATERMARK)
    return h.row(5).row(1).fire(ends, 3, ROW, 1, PURGE).row(2).row(9).fire(ends, 12, ROW, 9, PURGE).row(1)


def last_two() -> History:
    """A count evictor keeps two of what came."""
    h = History("global", {"kind": "count", "count": 3}, evictor={"kind": "count", "count": 2, "after": False})
    ends = (NO_TIMESTAMP, MAX_WATERMARK)
    h.row(1).row(2).row(3).fire(ends, 2 + 4, ROW, 3)
    return h.row(4).row(5).row(6).fire(ends, 16 + 32, ROW, 6)


def youngest() -> History:
    """A time evictor of 5 ms takes what is 5 ms or more behind the youngest, when the function has had it."""
    h = History("tumbling_event_time", {"kind": "count", "count": 1}, size_ms=20,
                evictor={"kind": "time", "window_ms": 5, "after": True})  # fmt: skip
    h.row(1).fire((0, 20), 1, ROW, 1).row(6).fire((0, 20), 3, ROW, 6)
    return h.row(7).fire((0, 20), 6, ROW, 7)


def continuous() -> History:
    """Every 4 ms of event time, up to the last millisecond; -3 rounds up to 4, as Java's remainder has it."""
    h = History("tumbling_event_time", {"kind": "continuous_event_time", "interval_ms": 4}, size_ms=10, offset_ms=5)
    return h.row(-3).mark(5).fire((-5, 5), 1, TIMER, 4).row(7).mark(13).fire((5, 15), 2, TIMER, 8).fire(
        (5, 15), 2, TIMER, 12
    )  # fmt: skip


def by_the_clock() -> History:
    """Windows of 10 ms of the clock, which may fire from their end on."""
    h = History("tumbling_processing_time", {"kind": "processing_time"}, size_ms=10)
    h.row(NO_TIMESTAMP, now_ms=3).row(99, now_ms=12)
    return h.fire((0, 10), 1, CLOCK, 9, now_ms=13).fire((10, 20), 2, CLOCK, 19, now_ms=20).row(1, now_ms=21)


def clock_sessions() -> History:
    """Gap 5 by the clock: 5 touches the session of 0, which was still there."""
    h = History("session_processing_time", {"kind": "processing_time"}, gap_ms=5)
    h.row(9, now_ms=0).row(9, now_ms=5).merge(0, 5, 0, 10)
    return h.fire((0, 10), 3, CLOCK, 9, now_ms=10).row(9, now_ms=10)


def timeout() -> History:
    """Count 3 or 8 ms without: the clock fires, and the count begins anew."""
    h = History("global", {"kind": "timeout", "of": {"kind": "count", "count": 3}, "interval_ms": 8,
                           "reset_on_element": False, "clear_on_timeout": True})  # fmt: skip
    ends = (NO_TIMESTAMP, MAX_WATERMARK)
    h.row(1, now_ms=1).row(1, now_ms=2).fire(ends, 3, CLOCK, 9, now_ms=10)
    return h.row(1, now_ms=11).row(1, now_ms=12).row(1, now_ms=13).fire(ends, 31, ROW, 1, now_ms=13)


def to_the_end() -> History:
    """The global window fires when the stream ends."""
    h = History("global", {"kind": "end_of_stream"})
    return h.row(5).mark(100).row(3).mark(MAX_WATERMARK).fire((NO_TIMESTAMP, MAX_WATERMARK), 3, TIMER, MAX_WATERMARK)


HISTORIES = (sliding, gaps, before_zero, sessions, dynamic_sessions, counted, last_two, youngest, continuous,
             by_the_clock, clock_sessions, timeout, to_the_end)  # fmt: skip


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_hand_made_history_satisfies_laws(history: object) -> None:
    assert callable(history)
    for outcome in history().judged():
        assert outcome.verdict is Verdict.HOLDS, outcome


@pytest.mark.parametrize("history", HISTORIES, ids=lambda history: history.__name__)
def test_missing_duplicate_or_changed_firing_violates(history: object) -> None:
    assert callable(history)
    for index in range(len(history().rows("window_fire"))):
        doubled = history()
        doubled.tables["window_fire"].insert(index, doubled.tables["window_fire"][index])
        assert doubled.judged()[0].violations >= 1
        changed = history()
        row = changed.tables["window_fire"][index]
        changed.tables["window_fire"][index] = (*row[:9], row[9] + 1, *row[10:])
        [evidence] = changed.judged()[0].evidence
        assert evidence["what"] == "a window fired with other contents"
    for table, law in (("window_merge", 0), ("late_drop", 1), ("late_drop", 2)):
        if history().rows(table):
            without = history()
            without.tables[table].pop()
            assert without.judged()[law].violations >= 1


def test_early_or_skipped_processing_time_firing_violates() -> None:
    early = by_the_clock()
    row = early.tables["window_fire"][0]
    early.tables["window_fire"][0] = (*row[:3], 9 * MS, *row[4:])
    assert [found["what"] for found in early.judged()[0].evidence] == ["a window fires before its time"]
    skipped = by_the_clock()
    skipped.tables["window_fire"].pop(0)
    assert [found["what"] for found in skipped.judged()[0].evidence] == ["a window did not fire"]


def clock_sessions_of_one_ms() -> History:
    """Gap 1 by the clock: the session of 1 touches that of 0, and would end with the current millisecond (rule 10.26)."""
    return History("session_processing_time", {"kind": "processing_time"}, gap_ms=1).row(9, now_ms=0).row(9, now_ms=1)


def test_firing_is_not_missing_where_a_merge_fails_the_job() -> None:
    laws = [law for law in LAWS if law.id == "window-fire"]
    (prefix,) = check_all(clock_sessions_of_one_ms(), "failed", laws)
    assert prefix.verdict is Verdict.HOLDS
    went_on = clock_sessions_of_one_ms().row(9, now_ms=9)
    (outcome,) = check_all(went_on, "failed", laws)
    assert [found["what"] for found in outcome.evidence] == ["a window did not fire"]


def test_unpredictable_window_is_checked_by_contents_with_reason() -> None:
    h = History("tumbling_event_time", {"kind": "custom", "class": "Mine"}, size_ms=10)
    h.row(1).row(2).fire((0, 10), 3, ROW, 2, PURGE).row(3).fire((0, 10), 4, ROW, 3)
    outcome = h.judged()[0]
    assert (outcome.verdict, outcome.reason) == (Verdict.HOLDS, "not checked: window (when it fires)")
    h.fire((0, 10), 7, ROW, 3)
    assert [found["what"] for found in h.judged()[0].evidence] == ["the window fires with other contents than it has"]


def test_windows_of_one_watermark_fire_in_order_of_time() -> None:
    h = History("tumbling_event_time", size_ms=10).row(1).row(11).mark(30)
    h.fire((10, 20), 2, TIMER, 19).fire((0, 10), 1, TIMER, 9)
    assert [(found["what"], found["seq"]) for found in h.judged()[0].evidence] == [
        ("windows fire in the wrong order", 4)
    ]
