"""What ``flowsim why late`` claims about a result that was emitted behind the watermark, checked against the recording."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, FireCause, TimeDomain, TimerAction
from tests.support.truth.event_time_rules import PENDING, ms_of, run_of, way
from tests.support.truth.recorded_run import Row
from tests.support.why_truth import Claim


def _sent(claim: Claim) -> Row:
    """The result as its task sent it."""
    return way(claim, sum(text.startswith(PENDING) for text in claim.before) - 1)[2]


def _before(claim: Claim, table: str, sent: Row, **values: int) -> list[Row]:
    """The rows of the attempt that sent the result, before it."""
    return [row for row in run_of(claim).until(table, sent.task, sent.time_ns, **values) if row.seq < sent.seq]


def late_firing(claim: Claim) -> bool:
    """Rules 10.11, 10.12: the last firing before the result was for a record, behind the end of the window."""
    sent = _sent(claim)
    fire = _before(claim, "window_fire", sent)[-1]
    intake = [row for row in _before(claim, "window_intake", sent) if row.seq < fire.seq][-1]
    assert (fire.window_start, fire.window_end) == (claim.number("a"), claim.number("b"))
    assert intake.watermark == fire.watermark == ms_of(claim["w"]) >= fire.window_end - 1 == sent.timestamp
    return bool(fire.cause == FireCause.ELEMENT and intake.key == fire.key)


def overdue_timer(claim: Claim) -> bool:
    """Rule 9.7: the timer was registered at or behind the watermark, and the next one fired it."""
    sent, moment = _sent(claim), claim.moment("m")
    timers = _before(claim, "timers", sent, domain=TimeDomain.EVENT_TIME)
    fired = [row for row in timers if row.action == TimerAction.FIRE][-1]
    same = [
        row for row in timers if (row.key, row.timestamp, row.operator) == (fired.key, fired.timestamp, fired.operator)
    ]
    registered = [row for row in same if row.action == TimerAction.REGISTER][-1]
    assert fired.timestamp == sent.timestamp == ms_of(claim["at"])
    assert registered.time_ns == moment
    assert registered.watermark == ms_of(claim["w"]) >= registered.timestamp
    return bool(fired.watermark == ms_of(claim["next"]) > registered.watermark)


def of_record(claim: Claim) -> bool:
    """The task read a record with the timestamp of the result, after it had sent a watermark above it, and then nothing."""
    sent = _sent(claim)
    record = _before(claim, "received", sent, kind=ElementKind.RECORD)[-1]
    between = [
        row
        for row in (*_before(claim, "window_fire", sent), *_before(claim, "timers", sent, action=TimerAction.FIRE))
        if row.seq > record.seq
    ]
    marks = _before(claim, "sent", record, channel=sent.channel, kind=ElementKind.WATERMARK)
    return not between and record.timestamp == sent.timestamp == ms_of(claim["at"]) < marks[-1].timestamp
