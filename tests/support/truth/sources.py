"""Sentences about sources without a record (rule 4.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowsim.facts.kinds import (
    ElementKind,
    LifeEvent,
    RestartAction,
)
from flowsim.trace.time import event_time, span_text
from tests.support.truth.recorded_run import RecordedRun, Row
from tests.support.truth.task_states import ENDS_BEFORE, ends_before, no_more_input
from tests.support.why_truth import Claim, Pattern

ATTEMPT = r"(?: in attempt (?P<attempt>\d+) \(of 0 to (?P<last>\d+)\))?"


def records_of(run: RecordedRun, task: int, now: int, *, later: bool = False) -> list[Row]:
    rows = run.after if later else run.until
    return rows("sent", task, now, kind=ElementKind.RECORD)


def of_attempt(claim: Claim) -> bool:
    """An attempt that is named is that of the moment."""
    if claim["attempt"] is None:
        return not any(
            row.task_id == claim.task() and row.action == RestartAction.RESTART for row in claim.run.restarts
        )
    last = max(
        row.attempt for row in claim.run.restarts if row.task_id == claim.task() and row.action == RestartAction.RESTART
    )
    return (claim.number("attempt"), claim.number("last")) == (claim.run.attempt(claim.task(), claim.now), last)


def source_alone(claim: Claim) -> bool:
    run, task, now = claim.run, claim.task(), claim.now
    emitted, later = records_of(run, task, now), records_of(run, task, now, later=True)
    assert of_attempt(claim)
    assert (claim["m"] is None) is (not emitted)
    assert not emitted or claim.moment("m") == emitted[-1].time_ns
    if claim["next"]:
        assert later[0].time_ns == claim.moment("next")
    if claim["end"]:
        ends = [
            row.time_ns
            for row in run.all("lifecycle", task, now)
            if row.event == LifeEvent.FINISHED and row.operator == -1
        ]
        assert ends == [claim.moment("end")]
    return bool(later) is bool(claim["next"])


def source_chained(claim: Claim) -> bool:
    run, task, now = claim.run, claim.task(), claim.now
    assert of_attempt(claim)
    rows = [row for table in ("sent", "async_elements", "window_intake") for row in run.until(table, task, now)]
    if claim["m"]:
        assert any(row.time_ns == claim.moment("m") for row in rows)
        assert not any(
            row.time_ns > claim.moment("m")
            for row in rows
            if getattr(row, "kind", 0) == ElementKind.RECORD and getattr(row, "action", 0) == 0
        )
    if claim["total"]:
        counts = [row.records_out for row in run.all("operator_counts", task, now) if row.operator == 0]
        assert counts == [claim.number("total")]
    return True


def no_more_records(claim: Claim) -> bool:
    """An operator behind the source may still emit: timers, and results of calls."""
    run, task = claim.run, claim.task()
    counts = [row for row in run.all("operator_counts", task, claim.now) if row.operator == 0]
    return of_attempt(claim) and no_more_input(run, task, claim.now) and len(counts) <= 1


def paused(claim: Claim) -> bool:
    """The source emits no record before alignment resumes it (rule 8.23)."""
    run, now = claim.run, claim.now
    for task in run.tasks:
        rows = [row for row in run.until("alignment", task, now) if row.split == -1]
        if not rows or not rows[-1].paused or rows[-1].time_ns != claim.moment("m"):
            continue
        resumed = [row for row in run.after("alignment", task, now) if row.split == -1 and not row.paused]
        sent = run.after("sent", task, now, kind=ElementKind.RECORD)
        return rows[-1].watermark > rows[-1].limit and (not sent or (bool(resumed) and resumed[0].seq < sent[0].seq))
    return False


def limit(claim: Claim) -> bool:
    """The limit of the pause is that watermark and the drift of the group; when the paused source continues."""
    run = claim.run
    for task in run.tasks:
        rows = [row for row in run.until("alignment", task, claim.now) if row.split == -1]
        if not rows or not rows[-1].paused:
            continue
        params = next(
            one.params for one in run.operators if one.vertex == int(run.tasks[task][1]) and one.operator == 0
        )
        drift_ms = int(re.findall(r'"max_drift_ms": (\d+)', params)[0])
        if (claim["mark"], claim["drift"]) != (event_time(rows[-1].limit - drift_ms), span_text(drift_ms)):
            continue
        later = [row for row in run.after("alignment", task, claim.now) if row.split == -1 and not row.paused]
        if claim["next"] is None:
            found = not later and ends_before(claim, task)
        else:
            found = bool(later) and later[0].time_ns == claim.moment("next")
        if found:
            break
    else:
        return False
    if claim["t"]:
        marks = run.until("generated_watermark", claim.task(), claim.now, kind=ElementKind.WATERMARK)
        assert any(row.time_ns == claim.moment("m") and event_time(row.timestamp) == claim["mark"] for row in marks)
    return True


def group_line(claim: Claim) -> bool:
    marks = claim.run.until("generated_watermark", claim.task(), claim.now, kind=ElementKind.WATERMARK, split=-1)
    return not marks or event_time(marks[-1].timestamp) in claim["mark"]


ALIGNMENT: Sequence[Pattern] = (
    Pattern(
        "paused",
        r"Watermark alignment has paused .+ since {m:M}: the watermark that it compared was .+, above the limit of .+\.",
        paused,
    ),
    Pattern(
        "limit of a group",
        r"That limit was the lowest watermark reported in group '.+', (?P<mark>.+?), plus the allowed drift of "
        r"(?P<drift>.+?)(?:\. {t:T} had this "
        r"watermark since {m:M})?\. While a source waits for its group, its idle timeout does not run; (?:the "
        r"recording does not show "
        r"that it continues" + ENDS_BEFORE + r"|it continues at {next:M})\.",
        limit,
    ),
    Pattern("source of a group", r"{t:T}: (?P<mark>(?:no watermark|watermark .+))", group_line),
)

SOURCES: Sequence[Pattern] = (
    Pattern(
        "source alone",
        rf"{{t:T}} is a source(?: and has no record to read)?{ATTEMPT}: (?:it emitted its last record at "
        rf"{{m:M}}|it has emitted no "
        r"record so far)(?:; the next one comes at {next:M}|, and there is no other one until its end at {end:M})?\.",
        source_alone,
    ),
    Pattern(
        "source in a chain",
        rf"{{t:T}} is a source(?: and has no record to read)?{ATTEMPT}: (?:the last one that the recording shows "
        rf"was (?:sent to|queued "
        r"by|processed by) .+? at {m:M}|the recording does not show what it emitted so far, because .+ took it in the same task)"
        r"(?:; the next one was .+ at {next:M}|; it emitted {total:N} records? in all(?: in attempt \d+ \(of 0 to \d+\))?)?\.",
        source_chained,
    ),
    Pattern("source ended", rf"{{t:T}} has ended its data{ATTEMPT}: it emits no more records\.", no_more_records),
)
