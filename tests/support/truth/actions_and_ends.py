"""Sentences about mails, timers, restarts and the end of a task (sections 3, 4 and 12)."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

from flowsim.facts.kinds import (
    ActionPhase,
    CheckpointAction,
    CheckpointStep,
    ElementKind,
    LifeEvent,
    MailAction,
    RestartAction,
    TimerAction,
)
from flowsim.quantities import duration_text
from flowsim.units import NS_PER_MS
from tests.support.truth.recorded_run import RecordedRun
from tests.support.truth.task_states import ENDS_BEFORE, ends_before
from tests.support.why_truth import Claim, Pattern

COMPLETE = (
    r"(?: The recording does not show that checkpoint \d+ is complete" + ENDS_BEFORE + r"\."
    r"| It is notified at {at:M} that checkpoint {done:N} is complete\.)?"
)


def firing(claim: Claim) -> bool:
    """All these timers fire in the open action, and no element is read before the last one."""
    run, task, now = claim.run, claim.task(), claim.now
    due = claim.number("n" if claim["n"] else "n2")
    begun = [
        row for row in run.frames(task, now) if row.phase == ActionPhase.BEGIN and row.time_ns == claim.moment("m")
    ]
    for action in begun:
        ends = [
            row.seq
            for row in run.all("actions", task, now)
            if row.phase == ActionPhase.END and row.action == action.action
        ]
        end = ends[0] if ends else 2**62
        fires = [
            row for row in run.all("timers", task, now) if row.action == TimerAction.FIRE and action.seq < row.seq < end
        ]
        domains = (0 if claim["mark"] else 1,)
        same = [row for row in fires if row.domain in domains]
        marks = {row.watermark for row in same if row.time_ns <= now}
        for mark in marks:
            of_mark = [row for row in same if row.watermark == mark]
            so_far = [row for row in of_mark if row.time_ns <= now]
            read = [row for row in run.after("received", task, now) if row.seq < of_mark[-1].seq]
            if len(so_far) == claim.number("k") and len(of_mark) >= due and not read:
                return True
    return False


def mails(claim: Claim) -> bool:
    """So many of the mails in the mailbox run only after the action."""
    run, task, now = claim.run, claim.task(), claim.now
    actions = [
        row for row in run.frames(task, now) if row.phase == ActionPhase.BEGIN and row.time_ns == claim.moment("m")
    ]
    put = run.until("mails", task, now, action=MailAction.PUT)
    ran = {row.mail for row in run.until("mails", task, now, action=MailAction.RUN)}
    waiting = [row for row in put if row.mail not in ran]
    later = {row.mail: row.seq for row in run.after("mails", task, now, action=MailAction.RUN)}
    for action in actions:
        ends = [
            row.seq
            for row in run.after("actions", task, now)
            if row.phase == ActionPhase.END and row.action == action.action
        ]
        if not ends:
            return len(waiting) >= claim.number("n")
        held = [row for row in waiting if later.get(row.mail, 2**62) > ends[0]]
        if len(held) >= claim.number("n"):
            return True
    return False


def snapshot(claim: Claim) -> bool:
    rows = claim.run.after("snapshots", claim.task(), claim.now, checkpoint=claim.number("c"), operator=0)
    return (rows[0].requested_ns, rows[0].time_ns) == (claim.moment("a"), claim.moment("b")) and rows[
        0
    ].requested_ns <= claim.now


def ended_early(claim: Claim) -> bool:
    run, task, now = claim.run, claim.task(), claim.now
    event = LifeEvent.FAILED if claim["verb"] == "failed" else LifeEvent.CANCELED
    ends = [row for row in run.until("lifecycle", task, now, operator=-1) if row.event == event]
    assert [row.time_ns for row in ends] == [claim.moment("m")]
    failures = [row for row in run.restarts if row.action != RestartAction.RESTART and row.time_ns <= ends[0].time_ns]
    if claim["because"]:
        other = claim.task("because")
        assert any(row.task_id == other for row in failures)
    if claim["whole"]:
        assert any(row.task_id < 0 for row in failures)
    following = [
        row
        for row in run.restarts
        if row.action == RestartAction.RESTART and row.task_id == task and row.attempt == run.attempt(task, now) + 1
    ]
    if claim["restart"]:
        assert (following[0].attempt, following[0].time_ns) == (claim.number("attempt"), claim.moment("restart"))
        return following[0].checkpoint == (claim.number("c") if claim["c"] else -1)
    assert not following
    if claim["due"]:
        return any(
            row.action == RestartAction.FAILURE
            and row.time_ns + row.delay_ms * NS_PER_MS == claim.moment("due") > run.last_ns
            and duration_text(row.delay_ms * NS_PER_MS) == claim["later"]
            for row in failures
        )
    if claim["final"]:
        return any(row.action == RestartAction.GIVE_UP for row in failures)
    wanted = {"with the run, whose time was up": "stopped", "with the job, which was canceled": "canceled"}
    status = run.recording.manifest.status.value
    return status == wanted[claim["why"]] if claim["why"] else status not in wanted.values()


def failure_line(claim: Claim) -> bool:
    """A failure of that number ended attempts, and its recorded cause is in the line."""
    number = claim.number("f")
    causes = [one.cause for one in claim.run.recording.manifest.failures if one.failure == number]
    return any(row.failure == number for row in claim.run.restarts) and causes[0][:60] in claim["cause"]


def not_processed_end(claim: Claim) -> bool:
    """The task does not end before the consumers have got the end of the data (rule 4.15)."""
    run, task, now = claim.run, claim.task(), claim.now
    sent = [row.channel for row in run.until("sent", task, now, kind=ElementKind.END_OF_DATA)]
    waiting = [
        channel
        for channel in sent
        if not run.until(
            "received", run.channels[channel].target_task, now, channel=channel, kind=ElementKind.END_OF_DATA
        )
    ]
    finished = [
        row.time_ns for row in run.all("lifecycle", task, now) if row.event == LifeEvent.FINISHED and row.operator == -1
    ]
    arrived = [
        run.after("received", run.channels[one].target_task, now, channel=one, kind=ElementKind.END_OF_DATA)
        for one in waiting
    ]
    return (len(waiting), len(sent)) == (claim.number("n"), claim.number("all")) and (
        not finished or all(rows and rows[0].time_ns <= finished[0] for rows in arrived)
    )


def unprocessed_channel(claim: Claim) -> bool:
    channel = claim.run.channels[claim.number("ch")]
    received = claim.run.until(
        "received", channel.target_task, claim.now, channel=channel.channel, kind=ElementKind.END_OF_DATA
    )
    return claim.task() == channel.target_task and not received


def needs_checkpoint(claim: Claim) -> bool:
    """The task finishes only after it is notified that a checkpoint that it took is complete (rules 4.15, 4.16)."""
    run, task, now = claim.run, claim.task(), claim.now
    steps = run.all("checkpoint_steps", task, now)
    complete = [row for row in steps if row.step == CheckpointStep.NOTIFY_COMPLETE and row.time_ns > now]
    finished = [
        row for row in run.all("lifecycle", task, now) if row.event == LifeEvent.FINISHED and row.operator == -1
    ]
    if claim["taken"]:
        taken = [
            row for row in steps if row.step == CheckpointStep.SYNC_START and row.checkpoint == claim.number("taken")
        ]
        assert taken[0].time_ns == claim.moment("m")
        assert (taken[0].time_ns <= now) is (claim["verb"] == "took")
    if claim["done"]:
        assert any(row.checkpoint == claim.number("done") and row.time_ns == claim.moment("at") for row in complete)
    if not claim["done"]:
        assert ends_before(claim, None if "no such" in claim.found[0] else task)
    # Without a later notification it does not finish; one at the same time as the moment may have come just before.
    return not finished or (bool(complete) and complete[0].time_ns <= finished[0].time_ns)


def in_progress(claim: Claim) -> bool:
    """Rule 12.3: so many tasks have not acknowledged the checkpoint, which ends as the sentence predicts."""
    run, number = claim.run, claim.number("c")
    of = [row for row in run.checkpoints if row.checkpoint == number]
    triggered = [row for row in of if row.action == CheckpointAction.TRIGGERED]
    assert triggered[0].time_ns == claim.moment("m") <= claim.now
    # A task that had finished acknowledges nothing: it counts from the beginning.
    later = len([row for row in acknowledged(run, number) if row.time_ns > claim.now])
    assert claim.number("all") == triggered[0].tasks
    assert claim.number("n") >= later
    assert claim["end"] != "complete" or claim.number("n") == later
    ends = {CheckpointAction.COMPLETED: "complete", CheckpointAction.ABORTED: "aborted"}
    found = [(ends[row.action], row.time_ns) for row in of if row.action in ends]
    assert all(at > claim.now for _, at in found)
    return found == ([(claim["end"], claim.moment("at"))] if claim["end"] else [])


def acknowledged(run: RecordedRun, checkpoint: int) -> list[SimpleNamespace]:
    return [
        SimpleNamespace(task=row.task_id, time_ns=row.time_ns)
        for row in run.checkpoints
        if row.checkpoint == checkpoint and row.action == CheckpointAction.ACKNOWLEDGED
    ]


def task_of_checkpoint(claim: Claim) -> bool:
    run, task, now = claim.run, claim.task(), claim.now
    number = int(claim.before[-1].split("Checkpoint ")[1].split(" ")[0])
    taken = run.until("checkpoint_steps", task, now, checkpoint=number, step=CheckpointStep.SYNC_START)
    assert [row.time_ns for row in taken] == ([claim.moment("taken")] if claim["taken"] else [])
    later = [row.time_ns for row in acknowledged(run, number) if row.task == task and row.time_ns > now]
    if claim["at"]:
        return later == [claim.moment("at")]
    return not later and ends_before(claim, task)


def acknowledgements(claim: Claim) -> bool:
    """All consumers have read the end of the data, and nothing but mails follows."""
    run, task, now = claim.run, claim.task(), claim.now
    steps = run.until("checkpoint_steps", task, now, step=CheckpointStep.NOTIFY_COMPLETE, checkpoint=claim.number("c"))
    ends = run.until("sent", task, now, kind=ElementKind.END_OF_DATA)
    read = [
        run.until(
            "received", run.channels[row.channel].target_task, now, channel=row.channel, kind=ElementKind.END_OF_DATA
        )
        for row in ends
    ]
    return steps[0].time_ns == claim.moment("m") and bool(ends) and all(read)


def blocking(claim: Claim) -> bool:
    """Some attempt of the producer has finished before the task starts."""
    run = claim.run
    starts = [row.time_ns for row in run.all("lifecycle", claim.task(), claim.now)]
    ends = [
        row.time_ns
        for rows in run.attempts("lifecycle", claim.task("s"))
        for row in rows
        if row.event == LifeEvent.FINISHED
    ]
    return not starts or any(end <= starts[0] for end in ends)


def together(claim: Claim) -> bool:
    starts = [
        run_[0].time_ns if (run_ := claim.run.all("lifecycle", claim.task(name), claim.now)) else None
        for name in ("t", "s")
    ]
    return starts[0] == starts[1]


ACTIONS: Sequence[Pattern] = (
    Pattern(
        "firing timers",
        r"{t:T} is inside one action since {m:M}: (?:one watermark, (?P<mark>.+?), makes {n:N} timers? due"
        r"|(?P<n2>[\d,]+) processing-time timers? fire in it), of which {k:N} (?:has|have) fired so far\. Until "
        r"the last one has fired, "
        r"the task reads no record and runs no other mail(?: of priority below {p:N})?: a timer never fires while a record is "
        r"processed, and a record is never processed while a timer fires\. Interruptible timers let mails in between\.",
        firing,
    ),
    Pattern(
        "mails",
        r"{n:N} mails? waits? in the mailbox of {t:T} until the action that began at {m:M} has ended: only one "
        r"action runs at a time\.",
        mails,
    ),
    Pattern("snapshot", r"a snapshot of {t:T} for checkpoint {c:N}, requested at {a:M}, taken at {b:M}", snapshot),
)


LIFE: Sequence[Pattern] = (
    Pattern(
        "ended early",
        r"{t:T} (?P<verb>was canceled|failed) at {m:M}(?:, because (?:{because:T} failed|(?P<whole>the job failed as a whole)))?"
        r"(?:\. Attempt {attempt:N} starts (?:without state|from checkpoint {c:N}) at {restart:M}(?:, after a delay of {d:D})?\."
        r"|\. Attempt {next:N} is due at {due:M}, after a delay of {later:D}; the run ends before it starts\."
        r"|(?P<final>, and no restart followed: the job failed\. What was open then is lost\.)"
        r"|(?: (?P<why>with the run, whose time was up|with the job, which was canceled)"
        r"|, and the recording shows no restart of it): what was open then is lost\.)",
        ended_early,
    ),
    Pattern("cause of a failure", r"failure {f:N}: (?P<cause>.+)", failure_line),
    Pattern(
        "consumers of the end",
        r"{t:T} ends only when its consumers have processed EndOfData: {n:N} channels? of {all:N} (?:has|have) "
        r"not delivered it\.",
        not_processed_end,
    ),
    Pattern("consumer of the end", r"channel #{ch:N} to {t:T}", unprocessed_channel),
    Pattern(
        "final checkpoint",
        r"{t:T} ends only when the first checkpoint that it takes after the end of its data, or a later one, is complete\."
        r"(?: The recording shows no such checkpoint(?: before the attempt of {none_t:T} ends at {none_at:M})?\."
        r"| It (?P<verb>took|takes) checkpoint {taken:N} at {m:M}\.)?" + COMPLETE,
        needs_checkpoint,
    ),
    Pattern(
        "checkpoint in progress",
        r"Checkpoint {c:N} is in progress since {m:M}: {n:N} of {all:N} tasks? (?:has|have) not acknowledged it so far\. "
        r"(?:It is (?P<end>complete|aborted) at {at:M}|The recording does not show how it ends)\.",
        in_progress,
    ),
    Pattern(
        "task of a checkpoint",
        r"{t:T}: (?:no snapshot so far|snapshot taken at {taken:M}), (?:acknowledges it at {at:M}|no acknowledgement in the "
        r"recording" + ENDS_BEFORE + r")",
        task_of_checkpoint,
    ),
    Pattern(
        "acknowledgements",
        r"{t:T} was notified at {m:M} that checkpoint {c:N} is complete, and its consumers have read EndOfData: it ends when the "
        r"acknowledgements of EndOfData have arrived\.",
        acknowledgements,
    ),
    Pattern(
        "savepoint of a stop",
        r"{t:T} ends only when savepoint {s:N}, with which the job is stopped, is complete\.(?P<taken>)(?P<verb>)"
        + COMPLETE,
        needs_checkpoint,
    ),
    Pattern(
        "blocking exchange",
        r"{t:T} reads a blocking exchange: it starts when {s:T} has finished and the whole partition is written\.",
        blocking,
    ),
    Pattern("starts together", r"{t:T} starts together with {s:T}, which sends to it\.", together),
)
