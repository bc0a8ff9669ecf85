"""Sentences about what a task does at a moment (rule 3.28)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    ElementKind,
    LifeEvent,
    WaitKind,
)
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.quantities import duration_text
from tests.support.truth.recorded_run import ENDS, RecordedRun
from tests.support.why_truth import MACROS, Claim, Pattern

TEXTS = {
    "waits for input": "idle",
    "waits for output between two elements (soft back pressure)": "soft",
    "waits for a buffer inside an element (hard back pressure)": "hard",
    "waits inside an element for a mail of its operator (it yields)": "yield",
    "waits inside an element, without the checkpoint lock": "lock",
    "is restored, and waits for the in-flight data of its checkpoint": "restoring",
    "has reached the end of its input, and waits until it may end": "final",
    "has reached the end of its input, and waits until its snapshots are written": "snapshots",
    "has finished": "finished",
    "was canceled": "canceled",
    "has failed": "failed",
    "has not started": "not started",
    "is busy": "busy",
}
DOING = "|".join(text.replace("(", r"\(").replace(")", r"\)") for text in TEXTS)


ENDS_BEFORE = r"(?P<before> before the attempt of {ends:T} ends at {ends_at:M})?"


def ends_before(claim: Claim, task: int | None = None) -> bool:
    """The attempt that a sentence says to end is ended by a failure at that time; if it says nothing, it is not."""
    early = (LifeEvent.CANCELED, LifeEvent.FAILED)
    if claim["before"] is None:
        of = [row.event for row in claim.run.all("lifecycle", task, claim.now)] if task is not None else []
        return not set(early) & set(of)
    of_task = claim.task("ends")
    rows = claim.run.all("lifecycle", of_task, claim.now)
    return task in (None, of_task) and any(
        row.event in early and row.time_ns == claim.moment("ends_at") for row in rows
    )


def no_more_input(run: RecordedRun, task: int, now: int) -> bool:
    """Nothing is read any more in this attempt; a source emits no record, but its timers and calls may."""
    inside = ("records_in", "async_wait", "keyed")
    later = list(run.after("received", task, now))
    if run.received_by(task):
        return not later
    vertex = int(run.tasks[task][1])
    is_alone = sum(one.vertex == vertex for one in run.operators) == 1
    return not (is_alone and inside and run.after("sent", task, now, kind=ElementKind.RECORD))


def is_state(run: RecordedRun, task: int, now: int, text: str) -> bool:
    """Whether a task does what a text says."""
    kind = TEXTS[text]
    life = run.life(task, now)
    ended = {"finished": LifeEvent.FINISHED, "canceled": LifeEvent.CANCELED, "failed": LifeEvent.FAILED}
    if kind in ended:
        return ended[kind] in life
    if kind == "not started":
        return not life
    if not life or set(life) & set(ENDS):
        return False
    frames = run.frames(task, now)
    top = frames[-1] if frames else None
    is_wait = top is not None and top.phase == ActionPhase.WAIT
    is_inside = any(frame.phase == ActionPhase.BEGIN for frame in frames)
    works = not is_wait or top.kind in (WaitKind.COST, WaitKind.YIELD)
    match kind:
        case "busy":
            return works
        case "hard":
            return is_wait and top.kind == WaitKind.BUFFER and is_inside and run.output_is_full(task, now)
        case "yield":
            return is_wait and top.kind == WaitKind.MAIL and is_inside
        case "lock":
            return is_wait and top.kind == WaitKind.LOCK and is_inside
        case "soft":
            return is_wait and not is_inside and run.output_is_full(task, now)
        case "restoring":
            return is_wait and not is_inside and LifeEvent.RUNNING not in life
        case "snapshots":
            return is_wait and top.kind == WaitKind.CHECKPOINT
        case "final":
            return is_wait and not is_inside and no_more_input(run, task, now)
        case _:
            return is_wait and not is_inside and LifeEvent.RUNNING in life


def waits(claim: Claim) -> bool:
    """The task waits in this way, and does nothing from the begin to the end of the wait."""
    run, task = claim.run, claim.task()
    begin = claim.moment("a")
    end = claim.moment("b") if claim["b"] else None
    inner = run.after("actions", task, claim.now)
    return (
        is_state(run, task, claim.now, claim["doing"])
        and begin == run.until("actions", task, claim.now)[-1].time_ns
        and end == run.next_action(task, claim.now)
        and (end is None or duration_text(end - begin) == claim["d"])
        and (end is None or not inner or inner[0].time_ns >= end or begin <= claim.now <= end)
    )


def does_not_wait(claim: Claim) -> bool:
    if claim["m"] is not None and claim.moment("m") != claim.now:
        return False
    return is_state(claim.run, claim.task(), claim.now, claim["doing"])


def shares(claim: Claim) -> bool:
    task = claim.subject if claim.before else None
    columns = ("busy_ns", "idle_ns", "soft_backpressured_ns", "hard_backpressured_ns")
    for of in [task] if task is not None else claim.run.tasks:
        rows = [row for rows in claim.run.attempts("task_times", of) for row in rows]
        sums = [sum(getattr(row, column) for row in rows) for column in columns]
        ending = _ending(claim.run, of) if claim["e"] else 0
        shown = [sums[0] - ending, *sums[1:], *([ending] if claim["e"] else [])]
        names = "bishe"[: len(shown)]
        if sum(sums) and [f"{value / sum(sums):.0%}" for value in shown] == [claim[name] for name in names]:
            return True
    return False


def _ending(run: RecordedRun, task: int) -> int:
    """The time in ns of the waits between actions that are neither for input nor for output: the task waits to end."""
    waits = 0
    for rows, life in zip(run.attempts("actions", task), run.attempts("lifecycle", task), strict=True):
        running = next((row.seq for row in life if row.operator == -1 and row.event == LifeEvent.RUNNING), None)
        open_actions, ended = 0, next((row.time_ns for row in life if row.operator == -1 and row.event in ENDS), None)
        for row, following in zip(rows, [*rows[1:], None], strict=True):
            open_actions += {ActionPhase.BEGIN: 1, ActionPhase.END: -1}.get(row.phase, 0)
            is_outer = row.phase == ActionPhase.WAIT and not open_actions and row.priority != OUTPUT_FULL
            if (
                is_outer
                and row.kind in (WaitKind.MAIL, WaitKind.LOCK, WaitKind.CHECKPOINT)
                and running is not None
                and row.seq > running
            ):
                until = following.time_ns if following is not None else ended
                waits += (row.time_ns if until is None else until) - row.time_ns
    idle = sum(row.idle_ns for rows in run.attempts("task_times", task) for row in rows)
    return waits - idle


def busy(claim: Claim) -> bool:
    run, task, work = claim.run, claim.task(), claim["work"]
    begun = [frame for frame in run.frames(task, claim.now) if frame.phase == ActionPhase.BEGIN]
    kind = begun[-1].kind if begun else None
    wanted = {
        "is between two actions": None,
        "opens its operators": ActionKind.LIFE_CYCLE,
        "closes its operators or outputs": ActionKind.LIFE_CYCLE,
        "runs a mail": ActionKind.MAIL,
        "works in another thread that holds the checkpoint lock": ActionKind.LOCK_HOLDER,
    }.get(work, ActionKind.DEFAULT_ACTION)
    if (kind, is_state(run, task, claim.now, "is busy")) != (wanted, True):
        return False
    if work in ("processes its input", "emits records"):
        assert bool(run.received_by(task)) is (work == "processes its input")
    if work == "finishes its operators":
        assert any(row.event == LifeEvent.FINISH for row in run.until("lifecycle", task, claim.now))
    # Rule 3.28, and the task before it in the chain waits for its output.
    return not claim["bottleneck"] or any("back pressure)" in text for text in claim.before)


def last_record(claim: Claim) -> bool:
    read = claim.run.until("received", claim.subject, claim.now, kind=ElementKind.RECORD)
    return len(read) == claim.number("n") and read[-1].time_ns == claim.moment("m")


def cost(claim: Claim) -> bool:
    """The busy time of all attempts over the records that they read while they ran; to the digits that are shown."""
    task = claim.subject
    busy_ns = sum(row.busy_ns for rows in claim.run.attempts("task_times", task) for row in rows)
    counts = [
        row.records_in for rows in claim.run.attempts("operator_counts", task) for row in rows if row.operator == 0
    ]
    ran = {
        row.task_attempt: row.seq
        for rows in claim.run.attempts("lifecycle", task)
        for row in rows
        if row.operator == -1 and row.event == LifeEvent.RUNNING
    }
    received = [row for rows in claim.run.attempts("received", task) for row in rows if row.kind == ElementKind.RECORD]
    restored = sum(row.task_attempt not in ran or row.seq < ran[row.task_attempt] for row in received)
    assert restored == (claim.number("restored") if claim["restored"] else 0)
    each = busy_ns // (sum(counts) - restored)
    value, unit = claim["d"].split(" ")[:2]
    shown = float(value) * {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[unit] if "min" not in claim["d"] else each
    return sum(counts) - restored == claim.number("n") and abs(shown - each) <= max(1, each / 1000)


def chained(claim: Claim) -> bool:
    names, vertex = claim["names"].split(", "), int(claim.run.tasks[claim.subject][1])
    return (
        claim.number("n") == len(names) and [one.name for one in claim.run.operators if one.vertex == vertex] == names
    )


def longest(claim: Claim) -> bool:
    """The number and length of all waits of the kind of the statement, of which none is longer; of kinds that need no output."""
    found = re.search(f"(?P<doing>{DOING}) from", claim.before[0])
    if found is None or TEXTS[found["doing"]] not in ("hard", "yield", "lock"):
        return found is not None
    run, task = claim.run, run_task(claim)
    rows = run.all("actions", task, claim.now)
    lengths = []
    inside, stack = TEXTS[found["doing"]], []
    for row, after in pairwise(rows):
        if row.phase in (ActionPhase.BEGIN, ActionPhase.WAIT):
            stack.append(row)
        else:
            stack.pop()
        top = stack[-1] if stack else None
        kinds = {"hard": WaitKind.BUFFER, "yield": WaitKind.MAIL, "lock": WaitKind.LOCK}
        is_inside = any(frame.phase == ActionPhase.BEGIN for frame in stack)
        if top is not None and top.phase == ActionPhase.WAIT and top.kind == kinds[inside] and is_inside:
            lengths.append(after.time_ns - row.time_ns)
    at = run.until("actions", task, claim.now)[-1].time_ns
    end = run.next_action(task, claim.now)
    if end is None or rows[-1].phase in (ActionPhase.BEGIN, ActionPhase.WAIT):
        return end is None or end - at >= max(lengths, default=0)
    return (claim.number("n"), claim["d"], end - at) == (len(lengths), duration_text(sum(lengths)), max(lengths))


def run_task(claim: Claim) -> int:
    return claim.run.task(claim.before[0].split(") ")[0] + ")")


def idle_timeout(claim: Claim) -> bool:
    """The operator has that timeout, and does not become idle before the task works again (rule 8.4)."""
    run = claim.run
    tasks = [run.task(found) for text in claim.before for found in re.findall(rf"^({MACROS['T']}) waits", text)]
    for task in tasks:
        vertex = int(run.tasks[task][1])
        for operator in run.operators:
            if operator.vertex != vertex or operator.name != claim["op"]:
                continue
            timeouts = re.findall(r'"idle_ms": (\d+)', operator.params)
            marks = run.after("generated_watermark", task, claim.now, operator=operator.operator)
            until = run.next_action(task, claim.now)
            idle = [row for row in marks if row.kind == ElementKind.STATUS and (until is None or row.time_ns < until)]
            if [duration_text(int(ms) * 1_000_000) for ms in timeouts] == [claim["d"]] and not idle:
                return True
    return False


def deadlocked(claim: Claim) -> bool:
    at = claim.moment("m")
    return any(
        row.event == LifeEvent.DEADLOCKED and row.time_ns == at
        for task in claim.run.tasks
        for rows in claim.run.attempts("lifecycle", task)
        for row in rows
    )


def is_true(claim: Claim) -> bool:
    """A sentence about a rule, without a fact of the run."""
    return True


STATES: Sequence[Pattern] = (
    Pattern("wait", rf"{{t:T}} (?P<doing>{DOING}) from {{a:M}} (?:to (?P<b>\S+ (?:ns|us|ms|s)), {{d:D}}|on)\.", waits),
    Pattern("no wait", rf"{{t:T}} does not wait(?: at {{m:M}})?: it (?P<doing>{DOING})\.", does_not_wait),
    Pattern(
        "shares",
        r"in the whole run: busy (?P<b>\d+%), waiting for input (?P<i>\d+%), soft back pressure (?P<s>\d+%), hard back "
        r"pressure (?P<h>\d+%)(?:, waiting to end (?P<e>\d+%))?",
        shares,
    ),
    Pattern(
        "longest wait",
        r"this is the longest of {n:N} waits? of this kind, {d:D} in all; --at TIME asks about another moment",
        longest,
    ),
    Pattern("deadlock", r"the job deadlocked at {m:M}: no task of it could run", deadlocked),
    Pattern(
        "busy",
        r"{t:T} is busy: it (?P<work>[\w ]+), and does not wait for output\."
        r"(?P<bottleneck> It is the bottleneck: the first task below the back-pressured ones that is not "
        r"back-pressured itself\.)?",
        busy,
    ),
    Pattern(
        "chain of a busy task",
        r"its chain runs {n:N} operators in one thread, one after the other: (?P<names>.+)",
        chained,
    ),
    Pattern("last record", r"the last record it read is number {n:N}, at {m:M}", last_record),
    Pattern(
        "cost",
        r"in the whole run it was busy for {d:D} per record, for {n:N} records?"
        r"(?:, besides {restored:N} of restored in-flight data)?",
        cost,
    ),
    Pattern(
        "idle timeout",
        r"The idle timeout of (?P<op>.+), (?P<d>.+?), does not run meanwhile: time in "
        r"which a task waits for output does not count\.",
        idle_timeout,
    ),
)
