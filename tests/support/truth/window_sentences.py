"""What the sentences about deleted windows, and timers of windows, claim, and whether the recording agrees."""

from __future__ import annotations

from typing import Any, Final

from flowsim.facts.kinds import TimerAction, WindowResult
from flowsim.units import MAX_WATERMARK
from tests.support.truth.firing_sentences import AT, OF, WINDOW, kinds, last_ms, merge_of, pane, params, rows_of
from tests.support.truth.timer_model import TimerModel, time_of, window_of
from tests.support.truth.timer_sentences import is_call, subject
from tests.support.why_truth import Claim, Pattern

Row = Any


def merged(claim: Claim) -> bool:
    return merge_of(claim, window_of(claim["window"]), window_of(claim["whole"])) is not None


def opened_by(claim: Claim) -> bool:
    of, key, window = pane(
        claim, claim.before[0].split(" was merged into ")[0] + " at " + claim.before[0].split(" at ")[-1]
    )
    rows = rows_of(of, key, window, of.of_all_attempts("window_merge"))
    return any(claim["record"].startswith(f"Record {of.run.names.value(of.calls(row).fingerprint)}") for row in rows)


def cleaned(claim: Claim) -> bool:
    of, key, window = pane(claim)
    given = params(of)
    domain = 0 if given["assigner"].endswith("event_time") else 1
    cleanup = last_ms(window) + (given.get("lateness_ms", 0) if domain == 0 else 0)
    rows = [
        row for row in rows_of(of, key, window, of.state("timers")) if row.timestamp == cleanup and row.domain == domain
    ]
    found = [row for row in rows if row.action == TimerAction.FIRE and row.time_ns == claim.moment("m")]
    return bool(found) and rows[-1].action == TimerAction.FIRE


def cleanup_time(claim: Claim) -> bool:
    of, key, window = pane(claim)
    lateness, rows = params(of).get("lateness_ms", 0), cleanup_rows(claim)
    due = time_of(claim["x"])
    if claim.number("d") != lateness or due != last_ms(window) + lateness:
        return False
    if claim["w"] is not None:
        return bool(rows) and rows[-1].action == TimerAction.FIRE and rows[-1].watermark == time_of(claim["w"]) >= due
    # Rule 10.7: the timer is registered after the firing of a record, which may take time.
    later = [
        row for row in rows_of(of, key, window, of.run.all("timers", of.task, claim.now)) if row.time_ns > claim.now
    ]
    shown = rows[-1:] or [row for row in later if row.timestamp == due][:1]
    return bool(shown) and shown[0].action == TimerAction.REGISTER


def clock_cleanup(claim: Claim) -> bool:
    return claim.number("x") == last_ms(pane(claim)[2])


def fired_before(claim: Claim) -> bool:
    of, key, window = pane(claim)
    found = [row for row in rows_of(of, key, window, of.state("window_fire")) if row.result != WindowResult.PURGE]
    if claim["n"] is None:
        return not found
    return len(found) == claim.number("n") and found[-1].time_ns == claim.moment("m")


def cleanup_rows(claim: Claim) -> list[Row]:
    of, key, window = pane(claim)
    given = params(of)
    domain = 0 if given["assigner"].endswith("event_time") else 1
    cleanup = last_ms(window) + (given.get("lateness_ms", 0) if domain == 0 else 0)
    return [
        row for row in rows_of(of, key, window, of.state("timers")) if (row.timestamp, row.domain) == (cleanup, domain)
    ]


def still_there(claim: Claim) -> bool:
    """Its cleanup timer has not fired since its last record."""
    rows = cleanup_rows(claim)
    return not rows or rows[-1].action != TimerAction.FIRE


def cleanup_deleted(claim: Claim) -> bool:
    rows, of = cleanup_rows(claim), pane(claim)[0]
    if not rows or rows[-1].action != TimerAction.DELETE or rows[-1].time_ns != claim.moment("m"):
        return False
    return rows[-1].timestamp == time_of(claim["x"]) and is_call(claim, of, rows[-1], claim["who"])


def without_effect(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    rows = [row for row in of.of_all_attempts("timers") if timer.is_of(row) and row.action == TimerAction.FIRE]
    found = [row for row in rows if row.time_ns == claim.moment("m")]
    later = of.of_all_attempts("window_fire")
    return any(
        not any(of.calls(one).seq == row.seq for one in rows_of(of, timer.key, timer.window, later)) for row in found
    )


def timer_of_merged(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    rows = rows_of(of, timer.key, window_of(claim["window"]), of.of_all_attempts("window_merge"))
    return any(
        (row.into_start, row.into_end) == window_of(claim["whole"]) and row.time_ns == claim.moment("m") for row in rows
    )


def empty_window(claim: Claim) -> bool:
    """All records of the window came before a purge."""
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    purges = [
        row
        for row in rows_of(of, timer.key, timer.window, of.of_all_attempts("window_fire"))
        if row.result != WindowResult.FIRE
    ]
    return bool(purges)


def cleanup_timer(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    lateness = params(of).get("lateness_ms", 0) if timer.is_event_time else 0
    return timer.timestamp == last_ms(timer.window) + lateness == time_of(claim["x"])


def did_not_fire(claim: Claim) -> bool:
    of = TimerModel(claim.run, subject(claim).task, claim.now)
    return set(claim["kinds"].split(", ")) <= set(kinds(of))


def timers_of_merged(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    rows = rows_of(of, timer.key, timer.window, of.of_all_attempts("window_merge"))
    deletes = [row for row in of.of_all_attempts("timers") if timer.is_of(row) and row.action == TimerAction.DELETE]
    return any(of.calls(row).seq == of.calls(one).seq for row in rows for one in deletes)


def stored_timer(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    deletes = [row for row in of.of_all_attempts("timers") if timer.is_of(row) and row.action == TimerAction.DELETE]
    return any(hasattr(of.calls(row), "service") for row in deletes)


WINDOWS: Final = (
    Pattern("window merged", rf"{OF} was merged into (?P<whole>window \[[^)]*\)) at {{m:M}} at {{t:T}}\.", merged),
    Pattern(
        "record that merged",
        r"(?P<record>Record .*?) opened a window that overlaps or touches it, so all of them became "
        r"one\. .*",
        opened_by,
    ),
    Pattern("window cleaned up", rf"{OF} was cleaned up at {{m:M}} at {{t:T}}\.", cleaned),
    Pattern(
        "cleanup time",
        rf"It is cleaned up when the watermark reaches (?P<x>{AT}), its last millisecond plus the allowed "
        rf"lateness of "
        rf"{{d:N}} ms(?:; it was (?P<w>{AT}))?\.",
        cleanup_time,
    ),
    Pattern(
        "cleanup by the clock",
        r"A processing-time window is cleaned up when the clock passes its last millisecond, {x:N} ms\.",
        clock_cleanup,
    ),
    Pattern(
        "fired before the cleanup",
        r"It had (?:never fired|fired {n:N} times?, the last time at {m:M})\. The cleanup itself emits "
        r"nothing\.",
        fired_before,
    ),
    Pattern("window not deleted", rf"{OF} has not been deleted(?: by {{m:M}})? at {{t:T}}\.", still_there),
    Pattern(
        "cleanup timer deleted",
        rf"(?P<who>.*?) deleted its cleanup timer of (?P<x>{AT}) at {{m:M}}, because the trigger cleared "
        rf"its own "
        r"timer of the same time\. Only another record of the window registers it again\.",
        cleanup_deleted,
    ),
    Pattern(
        "never cleaned up",
        r"It is never cleaned up: its cleanup time is MAX, for which there is no timer\.",
        lambda claim: last_ms(pane(claim)[2]) == MAX_WATERMARK,
    ),
    Pattern(
        "timer without effect",
        r"(?:Event|Processing)-time timer .*? at {t:T} fired at {m:M} without an effect\.",
        without_effect,
    ),
    Pattern(
        "timer of a merged window",
        rf"{WINDOW} was merged into (?P<whole>window \[[^)]*\)) at {{m:M}}: a timer of a window that was "
        rf"merged "
        r"into another one is ignored\.",
        timer_of_merged,
    ),
    Pattern(
        "timer of an empty window",
        r"The trigger was called, but the window had no contents: nothing is passed to the window "
        r"function\.",
        empty_window,
    ),
    Pattern(
        "cleanup timer",
        rf"It is the timer that cleans the window up, at (?P<x>{AT}): that emits nothing\.",
        cleanup_timer,
    ),
    Pattern(
        "trigger did not fire",
        r"The trigger of the window \((?P<kinds>[^)]*)\) did not fire for this timer\.",
        did_not_fire,
    ),
    Pattern(
        "timers of a merged window",
        rf"{WINDOW} was merged into (?P<whole>window \[[^)]*\)), so its timers were deleted; the larger "
        rf"window has "
        r"timers of its own\.",
        timers_of_merged,
    ),
    Pattern(
        "stored timer deleted",
        rf"{WINDOW} was cleaned up by that timer: the trigger deletes the timer that it had stored\.",
        stored_timer,
    ),
)
