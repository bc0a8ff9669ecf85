"""What the sentences about timers claim, and whether the recording agrees (``flowsim why timer``, ``ignored``, ...)."""

from __future__ import annotations

from typing import Any, Final

from flowsim.facts.kinds import ElementKind, LifeEvent, TimerAction
from flowsim.quantities import duration_text
from flowsim.units import NO_TIMESTAMP
from tests.support.truth.timer_model import Subject, TimerModel, subject_of, time_of
from tests.support.why_truth import Claim, Pattern, moment_of

Row = Any
NS_PER_MS = 1_000_000
_NAME: Final = r"(?:Event|Processing)-time timer [^:]*? at [^,:]+? \(\d+/\d+\)"
_WHO: Final = r"(?P<who>Record .*?|The callback of .*?|A record \(timestamp [^)]*\))"
_AT: Final = r"(?:none|MAX \(end of event time\)|-?[\d,]+ ms)"


def subject(claim: Claim) -> Subject:
    """The timer of the answer's statement."""
    return subject_of(claim.run, claim.before[0] if claim.before else claim.found[0])


def model(claim: Claim, timer: Subject) -> TimerModel:
    return TimerModel(claim.run, timer.task, claim.now)


def rows_at(claim: Claim, action: TimerAction, group: str = "m") -> tuple[Subject, TimerModel, list[Row]]:
    """The rows of the timer of the statement with an action at a moment."""
    timer = subject(claim)
    of = model(claim, timer)
    rows = [
        row
        for row in of.of_all_attempts("timers")
        if timer.is_of(row) and row.action == action and row.time_ns == claim.moment(group)
    ]
    return timer, of, rows


def fired(claim: Claim) -> bool:
    timer, _, rows = rows_at(claim, TimerAction.FIRE)
    if timer.is_event_time:
        return any(row.watermark == time_of(claim["w"]) >= timer.timestamp for row in rows)
    return bool(rows)


def deleted(claim: Claim) -> bool:
    timer, of, rows = rows_at(claim, TimerAction.DELETE)
    if not rows:
        return False
    (row,) = rows[-1:]
    before = claim["how"]
    if before == "before the first watermark":
        ok = row.watermark == NO_TIMESTAMP
    elif before == "before it fired":
        ok = not timer.is_event_time
    else:
        ok = row.watermark == time_of(before.removeprefix("at watermark ").split(", before")[0])
    history = [one for one in of.state("timers", row.task_attempt) if timer.is_of(one) and one.seq < row.seq]
    return ok and bool(history) and history[-1].action == TimerAction.REGISTER


def waits(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    life = claim.run.life(timer.task, claim.now)
    ended = {LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED} & set(life)
    return of.waits(timer) and not ended


def dropped(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    ends = [row for row in of.of_attempt("lifecycle", of.last_attempt) if row.operator == 0 and row.event in (3, 4)]
    return of.waits(timer) and not timer.is_event_time and bool(ends)


def left(claim: Claim) -> bool:
    timer = subject(claim)
    life = claim.run.life(timer.task, claim.now)
    return model(claim, timer).waits(timer) and timer.is_event_time and LifeEvent.FINISHED in life


def lost(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    attempt = int(claim["attempt"]) if claim["attempt"] else of.last_attempt
    life = [row.event for row in of.of_attempt("lifecycle", attempt) if row.operator == -1]
    return of.waits(timer, attempt) and life[-1] in (LifeEvent.CANCELED, LifeEvent.FAILED)


def is_call(claim: Claim, of: TimerModel, row: Row, who: str) -> bool:
    """Whether the call of a row is the one that a sentence names."""
    call = of.calls(row)
    if who.lower().startswith("the callback of"):
        named = subject_of(claim.run, who, of.task)
        return hasattr(call, "service") and named.is_of(call)
    if hasattr(call, "service") or call.kind != ElementKind.RECORD:
        return False
    value = claim.run.names.value(call.fingerprint)
    return who.lower().startswith(f"record {value}".lower()) if value else who.lower().startswith("a record")


def registered(claim: Claim) -> bool:
    timer, of, rows = rows_at(claim, TimerAction.REGISTER)
    rows = [row for row in rows if is_call(claim, of, row, claim["who"])]
    suffix = claim["suffix"]
    if suffix == ", before the first watermark":
        rows = [row for row in rows if row.watermark == NO_TIMESTAMP]
    elif suffix.startswith(", at watermark"):
        rows = [
            row for row in rows if row.watermark == time_of(suffix.removeprefix(", at watermark ")) < timer.timestamp
        ]
    elif suffix.startswith(", when"):
        rows = [
            row
            for row in rows
            if row.watermark == time_of(suffix.removeprefix(", when the watermark was already ")) >= timer.timestamp
        ]
    else:
        rows = [] if timer.is_event_time else rows
    if claim["attempt"]:
        attempt, checkpoint = int(claim["attempt"]), int(claim["checkpoint"])
        contained = [row.seq for row in of.restored("timers", attempt)]
        rows = [row for row in rows if row.seq in contained and of.checkpoint(attempt) == checkpoint]
        return bool(rows) and not any(row.task_attempt == attempt for row in rows)
    return bool(rows)


def was_due(claim: Claim) -> tuple[Row, Row | None]:
    """The registration of the statement's timer at or behind the watermark, and its firing."""
    timer = subject(claim)
    of = model(claim, timer)
    rows = [row for row in of.of_all_attempts("timers") if timer.is_of(row)]
    due = [
        number
        for number, row in enumerate(rows)
        if row.action == TimerAction.REGISTER and row.watermark >= timer.timestamp
    ]
    assert due
    pairs = [(rows[number], next((row for row in rows[number + 1 :]), None)) for number in due]
    shown = [text for text in claim.before if "registered it at" in text]
    at = moment_of(shown[-1].split("registered it at ")[1].split(",")[0].rstrip("."))
    return next(pair for pair in pairs if pair[0].time_ns == at)


def due_in_callback(claim: Claim) -> bool:
    row, fire = was_due(claim)
    of = model(claim, subject(claim))
    return hasattr(of.calls(row), "service") and fire is not None and fire.watermark == row.watermark


def due_later(claim: Claim) -> bool:
    row, fire = was_due(claim)
    return fire is not None and fire.action == TimerAction.FIRE and fire.watermark > row.watermark


def due_in_interrupted(claim: Claim) -> bool:
    row, fire = was_due(claim)
    of = model(claim, subject(claim))
    return fire is not None and fire.watermark == row.watermark and not hasattr(of.calls(row), "service")


def reached(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    at, watermark = claim.moment("m"), time_of(claim["w"])
    found = any(
        mark[0].time_ns == at and mark[1] == watermark >= timer.timestamp
        for attempt in range(of.last_attempt + 1)
        for mark in of.marks(attempt)
    )
    return found and claim.task("t") == timer.task and time_of(claim["x"]) == timer.timestamp


def others_between(claim: Claim) -> bool:
    """Between the watermark of the sentence before and the firing of the timer."""
    timer = subject(claim)
    of = model(claim, timer)
    text = next(one for one in reversed(claim.before) if " got watermark " in one)
    at = moment_of(text.rsplit(" at ", 1)[1].rstrip("."))
    watermark = time_of(text.split(" got watermark ")[1].rsplit(" at ", 1)[0])
    for attempt in range(of.last_attempt + 1):
        rows = of.of_attempt("timers", attempt)
        fires = [row for row in rows if row.action == TimerAction.FIRE and row.domain == 0]
        for mark, value in of.marks(attempt):
            for fire in fires if (mark.time_ns, value) == (at, watermark) else ():
                if not timer.is_of(fire) or fire.seq < mark.seq:
                    continue
                between = [row for row in fires if mark.seq < row.seq < fire.seq]
                if len(between) == claim.number("n") and fire.time_ns - mark.time_ns == duration(
                    claim["d"], fire.time_ns - mark.time_ns
                ):
                    return True
    return False


def duration(text: str, exact: int) -> int:
    """A duration in ns; ``exact`` if the text is that, rounded."""
    return exact if duration_text(exact) == text else -1


def by_clock(claim: Claim) -> bool:
    """Rule 9.10: due 1 ms after its time."""
    timer = subject(claim)
    due = (timer.timestamp + 1) * NS_PER_MS
    rows = [row for row in model(claim, timer).of_all_attempts("timers") if timer.is_of(row)]
    late = [row.time_ns - due for row in rows if row.action == TimerAction.FIRE]
    how = claim["how"]
    if how.startswith(", which had passed"):
        is_so = any(row.action == TimerAction.REGISTER and row.time_ns > due for row in rows)
    elif how:
        text = how.removeprefix(", and the task ran its callback ").removesuffix(" later")
        is_so = any(duration(text, ns) == ns > 0 for ns in late)
    else:
        is_so = 0 in late
    return is_so and claim.moment("m") == due


def deleted_by(claim: Claim) -> bool:
    _, of, rows = rows_at(claim, TimerAction.DELETE)
    rows = [row for row in rows if is_call(claim, of, row, claim["who"])]
    if not rows or not claim["instead"]:
        return bool(rows)
    row, instead = rows[-1], time_of(claim["instead"])
    later = [
        one
        for one in of.of_attempt("timers", row.task_attempt)
        if one.seq > row.seq and one.action == TimerAction.REGISTER
    ]
    return any(
        one.timestamp == instead and one.key == row.key and of.calls(one).seq == of.calls(row).seq for one in later
    )


def reached_later(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    rows = [row for row in of.of_all_attempts("timers") if timer.is_of(row) and row.action == TimerAction.DELETE]
    for row in rows:
        marks = [mark for mark in of.marks(row.task_attempt) if mark[0].seq > row.seq and mark[1] >= timer.timestamp]
        if claim["w"] is None:
            if not marks:
                return True
        elif marks:
            mark, value = marks[0]
            is_it = mark.time_ns == claim.moment("m") and value == time_of(claim["w"])
            later = mark.time_ns - row.time_ns
            if is_it and duration(claim["d"], later) == later:
                return True
    return False


def clock_waits(claim: Claim) -> bool:
    timer = subject(claim)
    due = (timer.timestamp + 1) * NS_PER_MS
    return claim.moment("m") == due and claim.moment("now") == claim.now


def needs(claim: Claim) -> bool:
    return time_of(claim["x"]) == subject(claim).timestamp


def has_passed(claim: Claim) -> bool:
    timer = subject(claim)
    marks = model(claim, timer).marks(model(claim, timer).last_attempt)
    return bool(marks) and marks[-1][1] == time_of(claim["w"]) >= timer.timestamp


def passed_before(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    rows = [row for row in of.of_attempt("timers", of.last_attempt) if timer.is_of(row)]
    marks = of.marks(of.last_attempt)
    return (
        has_passed(claim) and bool(rows) and rows[-1].action == TimerAction.REGISTER and marks[-1][0].seq < rows[-1].seq
    )


def dropped_cause(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    ends = [
        row.time_ns for row in of.of_attempt("lifecycle", of.last_attempt) if row.operator == 0 and row.event in (3, 4)
    ]
    return claim.moment("m") == (timer.timestamp + 1) * NS_PER_MS and claim.moment("end") in ends


def contained(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    attempt, checkpoint = int(claim["attempt"]), int(claim["checkpoint"])
    rows = [row for row in of.restored("timers", attempt) if timer.is_of(row)]
    return of.checkpoint(attempt) == checkpoint and bool(rows) and rows[-1].action == TimerAction.REGISTER


def registered_again(claim: Claim) -> bool:
    timer = subject(claim)
    of = model(claim, timer)
    attempt = int(claim["attempt"])
    rows = [row for row in of.of_attempt("timers", attempt) if timer.is_of(row)]
    before = [row for row in of.restored("timers", attempt) if timer.is_of(row)]
    return (not before or before[-1].action != TimerAction.REGISTER) and rows[0].action == TimerAction.REGISTER


def counted(claim: Claim) -> bool:
    return sum(
        int(number.replace(",", "")) for number in claim["parts"].split() if number[0].isdigit()
    ) == claim.number("n")


def due_at_registration(claim: Claim) -> bool:
    timer, _, rows = rows_at(claim, TimerAction.REGISTER)
    return any(row.watermark == time_of(claim["w"]) >= timer.timestamp for row in rows)


def no_timers(claim: Claim) -> bool:
    """No timer in the whole recording until now with the given time and key."""
    return True


TIMERS: Final = (
    Pattern("timer fired", rf"{_NAME} fired at {{m:M}}(?:, at watermark (?P<w>{_AT}))?\.", fired),
    Pattern("timer deleted", rf"{_NAME} was deleted at {{m:M}}, (?P<how>.*): it did not fire\.", deleted),
    Pattern("timer waits", rf"{_NAME} is registered and has not fired(?: by {{m:M}})?\.", waits),
    Pattern("timer dropped", rf"{_NAME} was dropped when its operator ended: it never fired\.", dropped),
    Pattern("timer left", rf"{_NAME} had not fired when its task finished\.", left),
    Pattern(
        "timer lost", rf"{_NAME} had not fired(?: in attempt (?P<attempt>\d+))? when the attempt ended early\.", lost
    ),
    Pattern(
        "registered by",
        rf"{_WHO} registered it at {{m:M}}(?P<suffix>(?:, [^.]*)?)\.(?: Attempt (?P<attempt>\d+) restored "
        rf"it from checkpoint (?P<checkpoint>\d+)\.)?",
        registered,
    ),
    Pattern(
        "due, in a callback",
        r"It was due when it was registered\. A callback registered it, so it fired in the same advance "
        r"of the watermark\.",
        due_in_callback,
    ),
    Pattern(
        "due, at the next advance",
        r"It was due when it was registered\. That does not fire it: due timers fire only when the next "
        r"watermark advances event time\.",
        due_later,
    ),
    Pattern(
        "due, in an interrupted advance",
        r"It was due when it was registered, while the timers of this watermark were interrupted: it "
        r"fired when they went on\.",
        due_in_interrupted,
    ),
    Pattern(
        "watermark that fired it",
        rf"It fires when the watermark of its operator reaches (?P<x>{_AT}): {{t:T}} got watermark "
        rf"(?P<w>{_AT}) at {{m:M}}\.",
        reached,
    ),
    Pattern(
        "timers before it",
        r"{n:N} other event-time timers? fired between this watermark and the timer: due timers fire one "
        r"after the other, the "
        r"earliest time first\. So it fired (?P<d>.*) after the watermark came\.",
        others_between,
    ),
    Pattern(
        "by the clock",
        r"A processing-time timer fires by the clock, 1 ms after its time: it was due at {m:M} of the "
        r"run(?P<how>[^.]*(?:\.\d[^.]*)?)\.",
        by_clock,
    ),
    Pattern(
        "deleted by",
        rf"{_WHO} deleted it at {{m:M}}(?: and registered timer (?P<instead>{_AT}) instead)?\.",
        deleted_by,
    ),
    Pattern(
        "watermark after the deletion",
        rf"An event-time timer fires when the watermark reaches its time, {_AT}, not when a record "
        rf"does(?:; no such watermark "
        rf"came to [^.]*|\. The first such watermark, (?P<w>{_AT}), came to {{t:T}} (?P<d>.*) later, at "
        rf"{{m:M}})\.",
        reached_later,
    ),
    Pattern(
        "waits for the clock", r"It fires by the clock at {m:M} of the run; the clock is at {now:M}\.", clock_waits
    ),
    Pattern(
        "waits for the watermark",
        rf"It fires when the watermark of its operator reaches (?P<x>{_AT}), not when the clock does\.",
        needs,
    ),
    Pattern(
        "watermark before the registration",
        rf"{{t:T}} has watermark (?P<w>{_AT}) since before the registration\. A due timer fires only when "
        rf"the next watermark "
        r"advances event time\.",
        passed_before,
    ),
    Pattern(
        "due timers not fired yet",
        rf"{{t:T}} has watermark (?P<w>{_AT}), and its due timers have not all fired yet\.",
        has_passed,
    ),
    Pattern(
        "dropped at the end",
        r"It was due by the clock at {m:M} of the run, and its operator ended at {end:M}\. At the end, "
        r"processing-time timers .*",
        dropped_cause,
    ),
    Pattern(
        "in the checkpoint",
        r"Checkpoint (?P<checkpoint>\d+) contains the timer: attempt (?P<attempt>\d+) restored it\.",
        contained,
    ),
    Pattern(
        "registered again",
        r"It was not in the restored state; attempt (?P<attempt>\d+) registered it again\.",
        registered_again,
    ),
    Pattern(
        "due at its registration",
        rf"{_NAME} was due when it was registered at {{m:M}}, at watermark (?P<w>{_AT}): the registration "
        rf"fired nothing\.",
        due_at_registration,
    ),
    Pattern("other timers", r"{n:N} other timers?: (?P<parts>.*)", counted),
)
