"""Sentences about queues of async operators (section 11)."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from flowsim.facts.kinds import (
    ActionPhase,
    AsyncAction,
    ElementKind,
    MailAction,
    WaitKind,
)
from tests.support.truth.recorded_run import RecordedRun, Row
from tests.support.truth.task_states import ENDS_BEFORE, ends_before
from tests.support.why_truth import Claim, Pattern

ENTRY = (
    r"element {e:N}: (?:(?P<mark>watermark .+, which no element behind it passes)"
    r"|(?:a )?record.*?, (?:(?P<how>failed at|complete since) {done:M}|(?P<asked>not asked yet)|called at {called:M}"
    r"(?: \(call {call:N}\))?(?:, to be called again since {retry:M})?(?:, timed out at {late:M} without an outcome)?"
    r", (?:no result in the recording" + ENDS_BEFORE + r"|(?P<outcome>result|error|timeout) at {until:M})))"
)


def async_queue(claim: Claim, task: int) -> list[list[Row]]:
    return claim.run.queue(task, claim.run.operator(claim["op"], task).operator, claim.now)


def tasks_with(run: RecordedRun, name: str) -> list[int]:
    vertices = {one.vertex for one in run.operators if one.name == name}
    return [task for task, row in run.tasks.items() if int(row[1]) in vertices]


def queue_size(claim: Claim) -> bool:
    return any(len(async_queue(claim, task)) == claim.number("n") for task in tasks_with(claim.run, claim["op"]))


def capacity_of(operator: Row) -> int:
    return int(json.loads(operator.params)["capacity"])


def full_queue(claim: Claim) -> bool:
    """The task reads nothing before an element has left the queue."""
    run, now = claim.run, claim.now
    for task in tasks_with(run, claim["op"]):
        operator = run.operator(claim["op"], task)
        if len(async_queue(claim, task)) != claim.number("n") or capacity_of(operator) != claim.number("cap"):
            continue
        left = run.after("async_elements", task, now, operator=operator.operator, action=AsyncAction.EMIT)
        read = run.after("received", task, now)
        if not read or (left and left[0].seq < read[0].seq):
            return claim.number("n") >= claim.number("cap")
    return False


def next_to_leave(claim: Claim) -> bool:
    run, now = claim.run, claim.now
    for task in tasks_with(run, claim["op"]):
        operator = run.operator(claim["op"], task)
        queue = async_queue(claim, task)
        left = run.after("async_elements", task, now, operator=operator.operator, action=AsyncAction.EMIT)
        is_entry = bool(queue) and (
            left[0].entry == claim.number("e") if left else any(one[0].entry == claim.number("e") for one in queue)
        )
        if (
            is_entry
            and ('"ordered"' in operator.params.split('"mode": ')[1][:12])
            is (claim["order"] == "order of the records: only the first element can make a place")
            and is_entry_so(run, task, operator.operator, claim)
        ):
            return True
    return False


def is_entry_so(run: RecordedRun, task: int, operator: int, claim: Claim) -> bool:
    """The same for one of several subtasks."""
    try:
        return entry_is_so(run, task, operator, claim)
    except AssertionError:
        return False


def entry_is_so(run: RecordedRun, task: int, operator: int, claim: Claim) -> bool:
    """The state of one element and of its call, as far as a sentence has it."""
    now, number = claim.now, claim.number("e")
    steps = next(steps for steps in run.queue(task, operator, now) if steps[0].entry == number)
    later = [row for row in run.after("async_elements", task, now, operator=operator) if row.entry == number]
    ended = (AsyncAction.COMPLETE, AsyncAction.FAIL)
    done = [row for row in steps if row.action in ended]
    if claim["mark"]:
        return steps[0].kind == ElementKind.WATERMARK
    calls = [row for row in steps if row.action == AsyncAction.INVOKE]
    if claim["done"]:
        return (
            bool(done)
            and done[-1].time_ns == claim.moment("done")
            and (done[-1].action == AsyncAction.FAIL) is (claim["how"] == "failed at")
        )
    if claim["asked"]:
        return not calls
    assert not done
    assert calls
    assert calls[-1].time_ns == claim.moment("called")
    assert calls[-1].attempt == (claim.number("call") if claim["call"] else 1)
    retries = [row for row in steps if row.action == AsyncAction.RETRY and row.seq > calls[-1].seq]
    assert bool(retries) is bool(claim["retry"])
    assert not retries or retries[-1].time_ns == claim.moment("retry")
    timeouts = [row for row in steps if row.action == AsyncAction.TIMEOUT]
    assert [row.time_ns for row in timeouts] == ([claim.moment("late")] if claim["late"] else [])
    outcomes = [row for row in later if row.action in (*ended, AsyncAction.TIMEOUT)]
    if not outcomes:
        return claim["until"] is None and ends_before(claim, task)
    names = {AsyncAction.COMPLETE: "result", AsyncAction.FAIL: "error", AsyncAction.TIMEOUT: "timeout"}
    return (claim["outcome"], claim.moment("until")) == (names[AsyncAction(outcomes[0].action)], outcomes[0].time_ns)


def entry_line(claim: Claim) -> bool:
    run = claim.run
    for task in run.tasks:
        vertex = int(run.tasks[task][1])
        for operator in run.operators:
            if operator.vertex != vertex or operator.kind != "async_wait":
                continue
            if not any(steps[0].entry == claim.number("e") for steps in run.queue(task, operator.operator, claim.now)):
                continue
            if is_entry_so(run, task, operator.operator, claim):
                return True
    return False


def timed_out(claim: Claim) -> bool:
    """Rule 11.17: after the timeout there is no second one; a call that retries is another thing."""
    for task in tasks_with(claim.run, claim["op"]):
        operator = claim.run.operator(claim["op"], task)
        late = []
        for steps in claim.run.queue(task, operator.operator, claim.now):
            timeouts = [row for row in steps if row.action == AsyncAction.TIMEOUT]
            if timeouts and not any(row.action in (AsyncAction.COMPLETE, AsyncAction.FAIL) for row in steps):
                late.append(timeouts[0])
        if len(late) == claim.number("n") and late and late[0].time_ns == claim.moment("m"):
            again = claim.run.after(
                "async_elements", task, claim.now, operator=operator.operator, action=AsyncAction.TIMEOUT
            )
            return not {row.entry for row in late} & {row.entry for row in again}
    return False


def yields(claim: Claim) -> bool:
    """Mails that run inside the open yield have at least its priority."""
    run = claim.run
    for task in tasks_with(run, claim["op"]):
        open_ = [
            row for row in run.frames(task, claim.now) if row.phase == ActionPhase.WAIT and row.kind == WaitKind.YIELD
        ]
        if not open_ or open_[-1].priority != claim.number("p"):
            continue
        resumes = [
            row
            for row in run.after("actions", task, claim.now)
            if row.phase == ActionPhase.RESUME and row.action == open_[-1].action
        ]
        end = resumes[0].seq if resumes else 2**62
        priorities = [
            row.priority for row in run.after("mails", task, claim.now, action=MailAction.RUN) if row.seq < end
        ]
        return all(priority >= claim.number("p") for priority in priorities)
    return False


def ended_input(claim: Claim) -> bool:
    """No record comes any more, and the action does not end before the queue is empty (rule 11.19)."""
    run = claim.run
    for task in tasks_with(run, claim["op"]):
        operator = run.operator(claim["op"], task).operator
        if async_queue(claim, task) and not run.after(
            "async_elements", task, claim.now, operator=operator, action=AsyncAction.PUT
        ):
            begun = [row for row in run.frames(task, claim.now) if row.phase == ActionPhase.BEGIN]
            ends = [
                row.seq
                for row in run.after("actions", task, claim.now)
                if row.phase == ActionPhase.END and begun and row.action == begun[0].action
            ]
            emitted = run.after("async_elements", task, claim.now, operator=operator, action=AsyncAction.EMIT)
            if not ends or (
                len(emitted) >= len(async_queue(claim, task)) and all(row.seq < ends[0] for row in emitted)
            ):
                return True
    return False


def more_elements(claim: Claim) -> bool:
    """The sentence of the list has a number of elements, channels or tasks, of which eight are listed."""
    counts = [int(number.replace(",", "")) for number in re.findall(r"(?<![\w.])\d[\d,]*(?= )", claim.before[-1])]
    if claim.number("n") + 8 in counts:
        return True
    return any(
        len(claim.run.queue(task, operator.operator, claim.now)) == claim.number("n") + 8
        for task, row in claim.run.tasks.items()
        for operator in claim.run.operators
        if operator.vertex == int(row[1]) and operator.kind == "async_wait"
    )


ASYNC: Sequence[Pattern] = (
    Pattern(
        "open calls",
        r"(?P<op>.+) has {n:N} elements? in its queue; (?:the task runs each result as a mail|its emitter emits each result)\.",
        queue_size,
    ),
    Pattern(
        "full queue",
        r"The queue of (?P<op>.+) is full: it holds {n:N} of at most {cap:N} elements?\. (?:The next element of "
        r"the task waits for a place "
        r"inside the call of .+, so the task reads no input|The next element that is restored waits for a place, "
        r"so the task is not "
        r"RUNNING yet)\.",
        full_queue,
    ),
    Pattern(
        "next to leave",
        r"(?P<op>.+) emits results in the (?P<order>order of the records: only the first element can make a "
        r"place|order of completion, "
        rf"up to the next watermark: the first result makes a place)\. The next one is {ENTRY}\.",
        next_to_leave,
    ),
    Pattern("element", ENTRY, entry_line),
    Pattern("more elements", r"and {n:N} more", more_elements),
    Pattern(
        "timeout passed",
        r"The timeout of {n:N} elements? of (?P<op>.+) has passed, the first one at {m:M}, and the function's "
        r"timeout gave no outcome "
        r"that counts\. No second timeout follows: only a result, or an error, ends the wait\.",
        timed_out,
    ),
    Pattern(
        "yield",
        r"Meanwhile the task runs mails of priority {p:N} or above, such as results of (?P<op>.+)\. Mails of "
        r"lower priority wait: those of "
        r"the task, such as the trigger of a checkpoint, and timers of the operators before it\. The calls run "
        r"outside the task's "
        r"thread; the thread itself calls the function, one record after the other\.",
        yields,
    ),
    Pattern(
        "end of async input",
        r"The input of (?P<op>.+) has ended: the task waits until the results of its queue are emitted\.",
        ended_input,
    ),
)
