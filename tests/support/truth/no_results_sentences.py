"""What ``flowsim why no-output`` claims about sinks of jobs without windows, checked against the recording."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent, RestartAction, TimerAction
from tests.support.truth.async_queues import ENTRY, is_entry_so
from tests.support.truth.recorded_run import Row
from tests.support.truth.task_states import DOING, is_state
from tests.support.why_truth import Claim, Pattern, moment_of


def sinks(claim: Claim) -> list[tuple[int, Row]]:
    return [
        (task, operator)
        for task, row in claim.run.tasks.items()
        for operator in claim.run.operators
        if operator.vertex == int(row[1]) and operator.name == claim["op"]
    ]


def count(claim: Claim) -> bool:
    """The records that the sink has received in the attempts of its tasks; in a chain those that the one before emitted."""
    run, total = claim.run, 0
    wanted = 0 if claim["n"] is None else claim.number("n")
    for task, operator in sinks(claim):
        counts = [row for row in run.until("operator_counts", task, claim.now) if row.operator == operator.operator]
        if operator.input_operator < 0:
            total += len(run.until("received", task, claim.now, kind=ElementKind.RECORD))
        elif counts:
            total += counts[-1].records_in
        else:
            rows = run.until(
                "async_elements", task, claim.now, operator=operator.input_operator, action=AsyncAction.EMIT
            )
            total += sum(row.rows for row in rows)
    at = claim["by"]
    assert at is None or moment_of(at) == claim.now
    for number, name in re.findall(r"attempt (\d+)(?: of (.+? \(\d+/\d+\)))?", claim["attempt"] or ""):
        of = [task for task, _ in sinks(claim) if name in ("", run.names.short_task(task))]
        assert {run.attempt(task, claim.now) for task in of} == {int(number)}
    assert bool(claim["attempt"]) is any(
        row.action == RestartAction.RESTART and row.task_id == task for task, _ in sinks(claim) for row in run.restarts
    )
    return total == wanted


def unknown_count(claim: Claim) -> bool:
    """No final counters of an operator in a chain yet."""
    return all(
        not [row for row in claim.run.until("operator_counts", task, claim.now) if row.operator == operator.operator]
        or len(sinks(claim)) > 1
        for task, operator in sinks(claim)
        if operator.input_operator >= 0
    )


def upstream(claim: Claim) -> set[int]:
    """The vertices from which records reach the sink of the statement."""
    found = {one.vertex for one in claim.run.operators if claim.before[0].startswith(f"{one.name} has received")}
    edges = list(claim.run.edges.values())
    while more := {one.source_vertex for one in edges if one.target_vertex in found} - found:
        found |= more
    return found


def nothing_open(claim: Claim) -> bool:
    """No record is unread, and no async queue has an element, before the sink."""
    run, vertices = claim.run, upstream(claim)
    tasks = [task for task, row in run.tasks.items() if int(row[1]) in vertices]
    for channel in (one for task in tasks for one in run.received_by(task)):
        of = {"channel": channel.channel, "kind": ElementKind.RECORD}
        sent = run.until("sent", channel.source_task, claim.now, **of)
        read = run.until("received", channel.target_task, claim.now, **of)
        if len([row for row in read if row.position >= 0]) < len(sent):
            return False
    return not any(
        run.queue(task, operator.operator, claim.now)
        for task in tasks
        for operator in run.operators
        if operator.kind == "async_wait" and operator.vertex == int(run.tasks[task][1])
    )


def other_sinks(claim: Claim) -> bool:
    """Each other sink, with the rows that it received in the attempts at the moment; 0 stands for an unknown number."""
    run = claim.run
    listed = dict(re.findall(r"(.+?): ([\d,]+) rows?(?:, |$)", claim["list"]))
    sinks = [one for one in run.operators if one.kind == "sink" and not claim.before[0].startswith(f"{one.name} has")]
    assert set(listed) <= {one.name for one in sinks}
    for operator in sinks:
        tasks = [task for task, row in run.tasks.items() if int(row[1]) == operator.vertex]
        if operator.input_operator < 0 and operator.name in listed:
            rows = [row for task in tasks for row in run.until("received", task, claim.now, kind=ElementKind.RECORD)]
            if len(rows) != int(listed[operator.name].replace(",", "")):
                return False
    return True


def job_failed(claim: Claim) -> bool:
    failure = claim.run.recording.manifest.failure
    assert failure is not None
    return failure.cause.rstrip(".") == claim["cause"] and (failure.task or None) == claim["where"]


def job_ended(claim: Claim) -> bool:
    """A task was canceled at the end of the run, which no failure ended."""
    wanted = "canceled" if "canceled" in claim["what"] else "stopped"
    ends = [
        row
        for task in claim.run.tasks
        for rows in claim.run.attempts("lifecycle", task)
        for row in rows
        if row.event == LifeEvent.CANCELED
    ]
    assert claim["m"] is None or max(row.time_ns for row in ends) == claim.moment("m")
    return bool(ends) and claim.run.recording.manifest.status.value == wanted


def plain_state(claim: Claim) -> bool:
    return is_state(claim.run, claim.task(), claim.now, claim["doing"])


def in_queue(claim: Claim) -> bool:
    run = claim.run
    for task, row in run.tasks.items():
        for operator in run.operators:
            if operator.kind != "async_wait" or operator.vertex != int(row[1]):
                continue
            name = run.names.short_task(task)
            if claim["op"] not in (name, f"{operator.name} in {name}"):
                continue
            queue = run.queue(task, operator.operator, claim.now)
            is_first = len(queue) == claim.number("n") and queue[0][0].entry == claim.number("e")
            if is_first and is_entry_so(run, task, operator.operator, claim):
                return True
    return False


def open_timers(claim: Claim, domain: int) -> list[tuple[int, dict[tuple[int, ...], Row]]]:
    """The timers of each operator that are registered and have not fired; those of a restored state are older."""
    found = []
    for task in claim.run.tasks:
        open_: dict[int, dict[tuple[int, ...], Row]] = {}
        for row in claim.run.until("timers", task, claim.now):
            timer = row.domain, row.timestamp, row.key, row.service
            if row.action == TimerAction.REGISTER:
                open_.setdefault(row.operator, {})[timer] = row
            else:
                open_.get(row.operator, {}).pop(timer, None)
        for timers in open_.values():
            of_domain = {timer: row for timer, row in timers.items() if row.domain == domain}
            if of_domain:
                found.append((task, of_domain))
    return found


def event_timers(claim: Claim) -> bool:
    return any(len(timers) == claim.number("n") for _, timers in open_timers(claim, 0))


def clock_timers(claim: Claim) -> bool:
    """The first timer does next what the sentence predicts."""
    run = claim.run
    for task, timers in open_timers(claim, 1):
        first = min(timers.values(), key=lambda row: (row.timestamp, row.seq))
        if len(timers) != claim.number("n") or first.timestamp != claim.number("ts"):
            continue
        assert claim.moment("m") == first.timestamp * 1_000_000
        same = {"domain": 1, "timestamp": first.timestamp, "key": first.key, "operator": first.operator}
        later = [row for row in run.after("timers", task, claim.now, **same) if row.action != TimerAction.REGISTER]
        if claim["fires"]:
            return bool(later) and later[0].action == TimerAction.FIRE and later[0].time_ns == claim.moment("fires")
        if claim["end"]:
            return not later and run.end(task, claim.now) == claim.moment("end")
        return bool(claim["never"]) and not later
    return False


TIMES = r"(?P<attempt> in (?:attempt \d+ (?:\(of 0 to \d+\)|of .+?)))?(?: by (?P<by>-?\d+(?:\.\d+)? (?:ns|us|ms|s)))?"
NO_RESULTS: Sequence[Pattern] = (
    Pattern("count of rows", rf"(?P<op>.+?) has (?:received|emitted) (?:no row|{{n:N}} rows?){TIMES}\.", count),
    Pattern(
        "unknown count",
        r"The recording does not show how many rows (?P<op>.+?) has (?:received|emitted)(?: by {m:M})?\.",
        unknown_count,
    ),
    Pattern("nothing open", r"nothing is open before it: what was read has been processed", nothing_open),
    Pattern("other sinks", r"the other sinks: (?P<list>.+)", other_sinks),
    Pattern(
        "failed job",
        r"The job failed(?: in (?P<where>.+?\(\d+/\d+\)))?: (?P<cause>.+)\. "
        r"What was open then is lost: failed tasks finish nothing\.",
        job_failed,
    ),
    Pattern(
        "ended job",
        r"(?P<what>The job was canceled|The time of the run was up)(?: at {m:M})?, before the end of its data: its tasks "
        r"finished nothing that was open then\.",
        job_ended,
    ),
    Pattern("state", rf"{{t:T}} (?P<doing>{DOING})\.", plain_state),
    Pattern("queue", rf"(?P<op>.+) has {{n:N}} elements? in its queue: {ENTRY}\.", in_queue),
    Pattern(
        "event-time timers",
        r"(?P<op>.+) waits with {n:N} event-time timers?\. The first one, .+, fires when the watermark of the "
        r"operator reaches it, not "
        r"when the clock does\.",
        event_timers,
    ),
    Pattern(
        "processing-time timers",
        r"(?P<op>.+) waits with {n:N} processing-time timers?: the first one, {ts:N} ms.*?, which is {m:M} of the "
        r"run, (?:fires at "
        r"{fires:M}|is deleted at {gone:M}|does not fire before the task ends, at {end:M}|(?P<never>does not fire "
        r"in the recording))\.",
        clock_timers,
    ),
)
