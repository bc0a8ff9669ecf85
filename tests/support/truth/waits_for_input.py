"""Sentences about unread elements and alignment (sections 5.D, 7 and 12)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.kinds import (
    BufferKind,
    BufferSide,
    ElementKind,
    LifeEvent,
)
from tests.support.truth.blocked_channels import BARRIERS, SENT_EVENT, behind_event, is_blocked, not_requested
from tests.support.truth.recorded_run import Row
from tests.support.truth.task_states import DOING, ENDS_BEFORE, ends_before, is_state
from tests.support.why_truth import Claim, Pattern


def aligns(claim: Claim) -> bool:
    run, task, checkpoint = claim.run, claim.task(), claim.number("c")
    blocked = [channel for channel in run.received_by(task) if is_blocked(run, channel, checkpoint, claim.now)]
    first = min(
        row.time_ns for row in run.until("received", task, claim.now, timestamp=checkpoint) if row.kind in BARRIERS
    )
    return len(blocked) == claim.number("n") and first == claim.moment("m")


def barrier_of_channel(claim: Claim) -> bool:
    run, channel = claim.run, claim.run.channels[claim.number("ch")]
    barriers = [
        row
        for row in run.until("received", channel.target_task, claim.now, channel=channel.channel)
        if row.kind in BARRIERS
    ]
    if claim["m"] is None:
        checkpoint = int(claim.before[-1].split("aligns checkpoint ")[1].split(" ")[0])
        return not any(row.timestamp == checkpoint for row in barriers)
    return barriers[-1].time_ns == claim.moment("m")


def unread(claim: Claim) -> list[Row]:
    """The channels of a sender with so many elements that were not read."""
    run = claim.run
    receivers = [claim.task("x")] if "x" in claim.found.re.groupindex else list(run.tasks)
    channels = [one for one in run.sent_by(claim.task("s")) if one.target_task in receivers]
    return [one for one in channels if run.unread(one, claim.now) == claim.number("n")]


def arriving(claim: Claim) -> bool:
    channels = unread(claim)
    assert channels
    where, run, now = claim["where"], claim.run, claim.now
    return any(
        ("in buffers of" in where) is (run.held(one, now) > 0 or bool(one.local))
        and ("on the wire" in where) is (run.on_the_wire(one, now) > 0)
        for one in channels
    )


def not_selected(claim: Claim) -> bool:
    """The next element that the task reads comes from another input; barriers may overtake (rule 12.91)."""
    run = claim.run
    for channel in unread(claim):
        later = [row for row in run.after("received", channel.target_task, claim.now) if row.kind not in BARRIERS]
        if not later or run.channels[later[0].channel].input != channel.input:
            return arriving(claim)
    return False


def state_of_receiver(claim: Claim) -> bool:
    receiver = claim.run.names.short_task(claim.task("x"))
    places = (f"in buffers of {receiver}", "in buffers of the sender")
    assert "in buffers of " not in claim["where"] or any(place in claim["where"] for place in places)
    return is_state(claim.run, claim.task("x"), claim.now, claim["doing"]) and bool(unread(claim))


def unread_behind_barrier(claim: Claim) -> bool:
    return any(is_blocked(claim.run, channel, claim.number("c"), claim.now) for channel in unread(claim))


def unread_behind_event(claim: Claim) -> bool:
    return behind_event(claim, unread(claim))


def unread_not_requested(claim: Claim) -> bool:
    return not_requested(claim.run, unread(claim), claim.now)


def waits_for_credit(claim: Claim) -> bool:
    return any(claim.run.credits(channel, claim.now) == 0 for channel in unread(claim))


def unflushed(claim: Claim) -> bool:
    """Nothing is sent before the time that the sentence predicts."""
    run = claim.run
    for channel in unread(claim):
        later = run.after(
            "buffers",
            channel.source_task,
            claim.now,
            channel=channel.channel,
            side=BufferSide.SENT,
            kind=BufferKind.DATA,
        )
        predicted = claim.moment("m") if claim["m"] else None
        if (later[0].time_ns if later else None) == predicted:
            assert predicted is not None or ends_before(claim, channel.source_task)
            return run.on_the_wire(channel, claim.now) == 0 == run.held(channel, claim.now)
    return False


def all_read(claim: Claim) -> bool:
    run, task = claim.run, claim.task()
    assert any(text.startswith(f"{run.names.short_task(task)} ") for text in claim.before)
    channels = run.received_by(task)
    if claim["some"]:
        checkpoint = int(claim.before[-1].split("aligns checkpoint ")[1].split(" ")[0])
        channels = [one for one in channels if not is_blocked(run, one, checkpoint, claim.now)]
    return all(run.unread(channel, claim.now) == 0 for channel in channels)


def read_channel(claim: Claim) -> bool:
    run, channel = claim.run, claim.run.channels[claim.number("ch")]
    sent = [
        row
        for row in run.until("sent", channel.source_task, claim.now, channel=channel.channel)
        if row.kind not in (8, 9)
    ]
    return (
        len(sent) == claim.number("n")
        and (channel.source_task, claim.task("x")) == (claim.task("s"),) * 2
        and run.unread(channel, claim.now) == 0
        and is_state(run, claim.task("x"), claim.now, claim["doing"])
    )


def some_ended(claim: Claim) -> bool:
    """The task ends only after the end of its last channel."""
    run, task = claim.run, claim.task()
    assert claim.before[-1].startswith(f"{run.names.short_task(task)} ")
    channels = run.received_by(task)
    open_ = [one for one in channels if not run.has_ended(one, claim.now)]
    finished = [
        row.time_ns
        for row in run.all("lifecycle", task, claim.now)
        if row.operator == -1 and row.event == LifeEvent.FINISHED
    ]
    read = [
        run.after("received", task, claim.now, channel=one.channel, kind=ElementKind.END_OF_PARTITION) for one in open_
    ]
    return (
        len(channels) - len(open_) == claim.number("n")
        and (claim["all"] is None or len(channels) >= claim.number("all"))
        and bool(open_)
        and all(not finished or (rows and rows[0].time_ns <= finished[0]) for rows in read)
    )


def not_read_on(claim: Claim) -> bool:
    """Nothing but the receiver keeps the elements: no alignment, no missing credit, no event before them."""
    run, now = claim.run, claim.now
    for channel in unread(claim):
        if channel.local or run.edges[channel.edge].exchange == "BLOCKING":
            return True
        last = run.until("credits", channel.source_task, now, channel=channel.channel)
        if last and run.credits(channel, now) > 0:
            return True
    return False


def arrival(name: str, text: str, check: object) -> Pattern:
    return Pattern(name, rf"{{n:N}} elements? of {{s:T}} waits? {text}", check)  # type: ignore[arg-type]


INPUTS: Sequence[Pattern] = (
    Pattern(
        "everything read",
        r"{t:T} has read everything that was sent to it(?P<some> on the channels without a barrier)?\.",
        all_read,
    ),
    Pattern(
        "read channel",
        rf"channel #{{ch:N}} from {{s:T}}: {{x:T}} (?P<doing>{DOING}), {{n:N}} elements? sent, all read",
        read_channel,
    ),
    Pattern(
        "some channels ended",
        r"{n:N} channels? of {all:N} of {t:T} (?:has|have) ended\. The task ends only when all its channels have "
        r"ended, so it waits for "
        r"the others\.",
        some_ended,
    ),
    arrival(
        "behind a barrier",
        r"(?P<where>.+): the barrier of checkpoint {c:N}, which .+ read at {m:M}, blocks the channel until the alignment ends\.",
        unread_behind_barrier,
    ),
    arrival(
        "not selected", r"(?P<where>.+), but the operator does not select this input at the moment\.", not_selected
    ),
    arrival("receiver works", rf"(?P<where>(?:in|on|for) .+), and {{x:T}} (?P<doing>{DOING})\.", state_of_receiver),
    arrival("behind an event", rf"(?P<where>in the sender's queue)\. {SENT_EVENT}", unread_behind_event),
    arrival("not requested", r"(?P<where>.+): {x:T} has not requested this channel so far\.", unread_not_requested),
    arrival("on the wire", r"(?P<where>.*on the wire.*) to {x:T}\.", arriving),
    arrival("for a credit", r"(?P<where>.+) for a credit of {x:T}\.", waits_for_credit),
    arrival(
        "unflushed",
        r"in a buffer that is neither full nor flushed, so {x:T} cannot read it: a flush comes with the buffer "
        r"timeout \(.+\), with an "
        r"event, or at the end of the data\.(?: The buffer is sent at {m:M}\.| The buffer is not sent"
        + ENDS_BEFORE
        + r"\.)?",
        unflushed,
    ),
    arrival("not read on", r"(?P<where>.+?)(?::|, and) {x:T} has not read on\.", not_read_on),
    Pattern(
        "aligns",
        r"{t:T} aligns checkpoint {c:N} since {m:M}: it has blocked {n:N} channels? on which the barrier came, "
        r"and reads (?:it|them) "
        r"again when the barrier has come on {k:N} other channels?, or the checkpoint is aborted\.",
        aligns,
    ),
    Pattern(
        "barrier of a channel",
        r"channel #{ch:N} from {t:T}: (?:barrier at {m:M}|no barrier so far)",
        barrier_of_channel,
    ),
)
