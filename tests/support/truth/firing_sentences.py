"""What the sentences about firings and deleted windows claim, and whether the recording agrees (``why fired``, ...)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from flowsim.facts.kinds import FireCause, TimerAction, WindowResult
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.truth.timer_model import TimerModel, time_of, window_of
from tests.support.truth.timer_sentences import subject
from tests.support.why_truth import Claim, Pattern, moment_of

Row = Any
Pane = tuple[TimerModel, str, tuple[int, int]]
WINDOW: Final = r"(?P<window>[Ww]indow \[-?[\d,]+, -?[\d,]+\)|[Tt]he global window)"
OF: Final = rf"{WINDOW}(?: of key (?P<key>\S+))?"
AT: Final = r"(?:none|MAX \(end of event time\)|-?[\d,]+ ms)"
_HEAD: Final = r"(?:Firing {k:N}, at|At) {m:M}: "
_TAIL: Final = r" It passed {rows:N} records? to the window function(?P<purged> and purged them)?\."
_EVERY: Final = (
    r"(?:its trigger fires every {i:N} ms|since (?P<part>window \[[^)]*\)) was merged into it, its "
    r"trigger fires every {j:N} ms from "
    r"the end of that window on)"
)
_TIMES: Final = r"(?:once, at (?P<once>-?\d+(?:\.\d+)? (?:ns|us|ms|s)),|{n:N} times? \((?P<moments>[^)]*)\))"


def pane(claim: Claim, text: str | None = None) -> Pane:
    """The window, key and task of a statement."""
    text = text or (claim.before[0] if claim.before else claim.found[0])
    window = text[: text.index(")") + 1] if "[" in text else "the global window"
    key = text.split(" of key ")[1].split(" ")[0] if " of key " in text else ""
    task = claim.run.task(text.split(" at ")[-1].rstrip(".:"))
    return TimerModel(claim.run, task, claim.now), key, window_of(window)


def rows_of(of: TimerModel, key: str, window: tuple[int, int], rows: list[Row]) -> list[Row]:
    names = of.run.names
    return [row for row in rows if (row.window_start, row.window_end) == window and names.key(row.key) == key]


def fires(claim: Claim, text: str | None = None) -> list[Row]:
    of, key, window = pane(claim, text)
    found = rows_of(of, key, window, of.of_all_attempts("window_fire"))
    return [row for row in found if row.result != WindowResult.PURGE]


def fired(claim: Claim) -> bool:
    found = fires(claim)
    if claim["once"]:
        return len(found) == 1 and found[0].time_ns == moment_of(claim["once"])
    shown = [moment_of(text) for text in claim["moments"].split(", ") if text != "..."]
    return len(found) == claim.number("n") and [row.time_ns for row in found][: len(shown)] == shown


def timer_fired(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    found = [row for row in of.of_all_attempts("timers") if timer.is_of(row) and row.action == TimerAction.FIRE]
    if claim["once"]:
        return len(found) == 1 and found[0].time_ns == moment_of(claim["once"])
    return len(found) == claim.number("n")


def params(of: TimerModel) -> Mapping[str, Any]:
    vertex = int(of.run.tasks[of.task][1])
    (found,) = [one for one in of.run.operators if one.vertex == vertex and one.kind == "window"]
    return dict(json.loads(found.params))


def parts(trigger: Mapping[str, Any] | None) -> Iterator[Mapping[str, Any]]:
    """All triggers inside a trigger."""
    if trigger is None:
        return
    yield trigger
    inner = trigger.get("of")
    for one in inner if isinstance(inner, list) else [inner] if isinstance(inner, dict) else []:
        yield from parts(one)


def kinds(of: TimerModel) -> list[str]:
    return [str(part["kind"]) for part in parts(params(of)["trigger"])]


def numbers(of: TimerModel, name: str) -> list[int]:
    return [part[name] for part in parts(params(of)["trigger"]) if name in part]


def last_ms(window: tuple[int, int]) -> int:
    return MAX_WATERMARK if window[0] == NO_TIMESTAMP else window[1] - 1


def the_fire(claim: Claim) -> Row | None:
    """The firing that a sentence describes: by its number and time; with its number of records and its result."""
    found = fires(claim)
    number = claim.number("k") - 1 if claim["k"] else 0
    row = found[number] if number < len(found) else None
    if row is None or row.time_ns != claim.moment("m") or row.rows != claim.number("rows"):
        return None
    is_purge = row.result == WindowResult.FIRE_AND_PURGE
    return row if is_purge is bool(claim["purged"]) and contents_agree(claim, row) else None


def contents_agree(claim: Claim, row: Row) -> bool:
    """Rule 10.7: records of a tumbling window since it was purged last; of others nothing is computed."""
    of, key, window = pane(claim)
    given = params(of)
    if given["assigner"] != "tumbling_event_time":
        return True
    state = of.state("window_fire", row.task_attempt)
    purges = [
        one.seq for one in rows_of(of, key, window, state) if one.seq < row.seq and one.result != WindowResult.FIRE
    ]
    cleanup = last_ms(window) + given.get("lateness_ms", 0)
    taken = [
        one
        for one in of.state("window_intake", row.task_attempt)
        if of.run.names.key(one.key) == key
        and window[0] <= one.timestamp < window[1]
        and one.watermark < cleanup
        and max(purges, default=-1) < one.seq < row.seq
    ]
    # A window that was cleaned up and opened again after a restart has only the records of the new attempt.
    return len(taken) == row.rows or of.last_attempt > 0


def by_timer(claim: Claim, cause: FireCause) -> Row | None:
    row = the_fire(claim)
    return row if row is not None and row.cause == cause else None


def reached_last(claim: Claim) -> bool:
    row, window = by_timer(claim, FireCause.EVENT_TIME_TIMER), pane(claim)[2]
    if row is None or row.watermark != time_of(claim["w"]):
        return False
    return row.watermark >= row.at == time_of(claim["x"]) == last_ms(window)


def event_time_ended(claim: Claim) -> bool:
    row = by_timer(claim, FireCause.EVENT_TIME_TIMER)
    return row is not None and row.watermark == MAX_WATERMARK == row.at


def continuous(claim: Claim) -> bool:
    row, (of, _, window) = by_timer(claim, FireCause.EVENT_TIME_TIMER), pane(claim)
    if row is None or row.watermark != time_of(claim["w"]):
        return False
    return row.watermark >= row.at == time_of(claim["x"]) < last_ms(window) and is_due(claim, of, row)


def is_due(claim: Claim, of: TimerModel, row: Row) -> bool:
    """Rules 10.21 and 10.22: at a multiple of the interval; after a merge, counted from the end of a merged window."""
    interval = claim.number("j" if claim["part"] else "i")
    if interval not in numbers(of, "interval_ms"):
        return False
    if not claim["part"]:
        return row.at % interval == 0
    _, key, _ = pane(claim)
    start, end = window_of(claim["part"])
    merges = rows_of(of, key, (start, end), of.of_all_attempts("window_merge"))
    return any(one.seq < row.seq for one in merges) and row.at >= end - 1 and (row.at - end + 1) % interval == 0


def clock_passed(claim: Claim) -> bool:
    row, window = by_timer(claim, FireCause.PROCESSING_TIME_TIMER), pane(claim)[2]
    return row is not None and row.time_ns // 1_000_000 > row.at == claim.number("x") == last_ms(window)


def continuous_clock(claim: Claim) -> bool:
    row, (of, _, _) = by_timer(claim, FireCause.PROCESSING_TIME_TIMER), pane(claim)
    return row is not None and row.time_ns // 1_000_000 > row.at == claim.number("x") and is_due(claim, of, row)


def timed_out(claim: Claim) -> bool:
    row = the_fire(claim)
    return (
        row is not None
        and row.cause != FireCause.ELEMENT
        and row.at == time_of(claim["x"])
        and "timeout" in kinds(pane(claim)[0])
    )


def late_record(claim: Claim) -> bool:
    row, (of, _, window) = by_timer(claim, FireCause.ELEMENT), pane(claim)
    if row is None or row.watermark != time_of(claim["w"]):
        return False
    lateness = params(of).get("lateness_ms", 0)
    passed = last_ms(window) == time_of(claim["x"]) <= row.watermark < last_ms(window) + lateness
    return passed and lateness == claim.number("d") and is_record(claim, of, row)


def is_record(claim: Claim, of: TimerModel, row: Row) -> bool:
    """The record of a firing: the one that was read last, with the timestamp of the trigger's call."""
    value = of.run.names.value(of.calls(row).fingerprint)
    return claim["record"].startswith(f"record {value}") and of.calls(row).timestamp == row.at


def counted(claim: Claim) -> bool:
    row, (of, _, _) = by_timer(claim, FireCause.ELEMENT), pane(claim)
    return (
        row is not None
        and claim.number("c") in numbers(of, "count")
        and is_record(claim, of, row)
        and count_agrees(claim, row)
    )


def count_agrees(claim: Claim, row: Row) -> bool:
    """A count trigger alone, without merging, fires at every n records of the window (rule 10.19)."""
    of, key, window = pane(claim)
    given = params(of)
    if given["assigner"] != "tumbling_event_time" or set(kinds(of)) - {"count", "purging"} or of.last_attempt:
        return True
    taken = [
        one
        for one in of.state("window_intake", row.task_attempt)
        if of.run.names.key(one.key) == key
        and window[0] <= one.timestamp < window[1]
        and one.seq < row.seq
        and one.watermark < last_ms(window) + given.get("lateness_ms", 0)
    ]
    return len(taken) % claim.number("c") == 0


def counted_one_of(claim: Claim) -> bool:
    row, (of, _, _) = by_timer(claim, FireCause.ELEMENT), pane(claim)
    shown = [int(text) for text in claim["counts"].split(" or ")]
    return row is not None and shown == numbers(of, "count") and is_record(claim, of, row)


def purged_before(claim: Claim) -> bool:
    found = fires(claim)
    number = sum(" to the window function" in text for text in claim.before)
    return found[number - 1].result == WindowResult.FIRE_AND_PURGE


def restart_between(claim: Claim) -> tuple[TimerModel, Row, bool]:
    """The firing before a sentence, and whether the named attempt restored a state that contains it."""
    found = fires(claim)
    of, _, _ = pane(claim)
    at = claim.moment("m")
    row = next(one for one in found if one.time_ns == at)
    attempt = int(claim["attempt"])
    assert of.checkpoint(attempt) == int(claim["checkpoint"])
    return of, row, any(one.seq == row.seq for one in of.restored("window_fire", attempt))


def snapshot_after(claim: Claim) -> bool:
    return restart_between(claim)[2]


def snapshot_before(claim: Claim) -> bool:
    return not restart_between(claim)[2]


def without_state(claim: Claim) -> bool:
    return pane(claim)[0].checkpoint(int(claim["attempt"])) < 0


def accepted_again(claim: Claim) -> bool:
    of, key, window = pane(claim)
    cleanup = last_ms(window) + params(of).get("lateness_ms", 0)
    for row in of.of_attempt("window_intake", int(claim["attempt"])):
        is_it = row.time_ns == claim.moment("m") and of.run.names.key(row.key) == key
        if is_it and window[0] <= row.timestamp < window[1] and row.watermark == time_of(claim["w"]) < cleanup:
            return True
    return False


def merge_of(claim: Claim, window: tuple[int, int], whole: tuple[int, int]) -> Row | None:
    of, key, _ = pane(claim)
    for row in rows_of(of, key, window, of.of_all_attempts("window_merge")):
        if (row.into_start, row.into_end) == whole and row.time_ns == claim.moment("m"):
            return row
    return None


def merged_into_it(claim: Claim) -> bool:
    of, key, whole = pane(claim)
    part = window_of(claim["window"])
    row = merge_of(claim, part, whole)
    if row is None:
        return False
    before = [one for one in rows_of(of, key, part, of.state("window_fire", row.task_attempt)) if one.seq < row.seq]
    before = [one for one in before if one.result != WindowResult.PURGE]
    if claim["fired"] is None:
        return not before
    return bool(before) and before[-1].time_ns == moment_of(claim["fired"]) and before[-1].rows == claim.number("rows")


def timer_again(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    attempt = int(claim["attempt"])
    rows = [row for row in of.restored("timers", attempt) if timer.is_of(row)]
    fire = [
        row
        for row in of.of_all_attempts("timers")
        if timer.is_of(row) and row.time_ns == claim.moment("m") and row.action == 2
    ]
    contains = bool(rows) and rows[-1].action == TimerAction.REGISTER
    return contains and bool(fire) and all(row.seq != fire[0].seq for row in rows)


def only_one(claim: Claim) -> bool:
    timer = subject(claim)
    of = TimerModel(claim.run, timer.task, claim.now)
    return sum(timer.is_of(row) and row.action == TimerAction.FIRE for row in of.of_all_attempts("timers")) == 1


FIRINGS: Final = (
    Pattern("window fired", rf"{OF} fired {_TIMES} at {{t:T}}\.", fired),
    Pattern(
        "timer fired, times",
        r"(?:Event|Processing)-time timer .*? at {t:T} fired (?:once, at (?P<once>-?\d+(?:\.\d+)? "
        r"(?:ns|us|ms|s))|{n:N} times? \([^)]*\))\.",
        timer_fired,
    ),
    Pattern(
        "firing: last millisecond",
        rf"{_HEAD}the watermark, (?P<w>{AT}), reached (?P<x>{AT}), its last millisecond\.{_TAIL}",
        reached_last,
    ),
    Pattern("firing: end of event time", rf"{_HEAD}event time ended: the watermark is {AT}\.{_TAIL}", event_time_ended),
    Pattern(
        "firing: continuous",
        rf"{_HEAD}the watermark, (?P<w>{AT}), reached (?P<x>{AT}); {_EVERY} of event time\.{_TAIL}",
        continuous,
    ),
    Pattern("firing: clock", rf"{_HEAD}the clock passed {{x:N}} ms, its last millisecond\.{_TAIL}", clock_passed),
    Pattern(
        "firing: continuous clock",
        rf"{_HEAD}the clock passed {{x:N}} ms; {_EVERY} of the clock\.{_TAIL}",
        continuous_clock,
    ),
    Pattern(
        "firing: time-out",
        rf"{_HEAD}its timer of (?P<x>{AT}) ran, and a trigger with a time-out fires for any timer\.{_TAIL}",
        timed_out,
    ),
    Pattern(
        "firing: late record",
        rf"{_HEAD}(?P<record>record .*?) came when the watermark, (?P<w>{AT}), had passed its last "
        rf"millisecond, "
        rf"(?P<x>{AT}), but within the allowed lateness of {{d:N}} ms: such a record fires the window "
        rf"immediately\.{_TAIL}",
        late_record,
    ),
    Pattern(
        "firing: count",
        rf"{_HEAD}with (?P<record>record .*?), the count of its trigger reached {{c:N}} records?\.{_TAIL}",
        counted,
    ),
    Pattern(
        "firing: one of several counts",
        rf"{_HEAD}with (?P<record>record .*?), one of the counts of its trigger was reached: "
        rf"(?P<counts>[^.]*)\.{_TAIL}",
        counted_one_of,
    ),
    Pattern(
        "purged before",
        r"The firing before purged the contents: only records that came after it are in the next firing\.",
        purged_before,
    ),
    Pattern(
        "snapshot after the firing",
        r"Attempt (?P<attempt>\d+) restored checkpoint (?P<checkpoint>\d+), which was taken after the "
        r"firing at {m:M}\.",
        snapshot_after,
    ),
    Pattern(
        "snapshot before the firing",
        r"Attempt (?P<attempt>\d+) restored checkpoint (?P<checkpoint>\d+), which was taken before the "
        r"firing at "
        r"{m:M}: the restart undid the firing, and the window fires again\.",
        snapshot_before,
    ),
    Pattern(
        "restart without state",
        r"The task was restarted without state: attempt (?P<attempt>\d+) knows nothing of the firing at "
        r"{m:M}\.",
        without_state,
    ),
    Pattern(
        "accepted again",
        rf"No snapshot contains the watermark of an operator\. In attempt (?P<attempt>\d+) it was "
        rf"(?P<w>{AT}) when record .*? "
        r"came at {m:M}, so the record was not late and opened the window again\.",
        accepted_again,
    ),
    Pattern(
        "merged into it",
        rf"{WINDOW} was merged into it at {{m:M}}(?:, before it had fired|\. It had fired at "
        rf"(?P<fired>-?\d+(?:\.\d+)? (?:ns|us|ms|s)), "
        r"with {rows:N} records?)\.",
        merged_into_it,
    ),
    Pattern(
        "timer fires again",
        r"Attempt (?P<attempt>\d+) restored checkpoint (?P<checkpoint>\d+), which was taken before the "
        r"firing at {m:M} and "
        r"contains the timer: it fires again\.",
        timer_again,
    ),
    Pattern(
        "one timer",
        r"It is one timer, however often .* was registered before it fired: registering an equal timer "
        r"changes nothing, .*",
        only_one,
    ),
    Pattern(
        "other firings",
        r"{n:N} other windows? or timers? fired, {again:N} of them more than once",
        lambda claim: claim.number("again") <= claim.number("n"),
    ),
)
