"""The parts of the duration of a checkpoint as sentences, and the causes of the longest one (section 12)."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import WITHOUT_POSITION, BufferKind, BufferSide, ElementKind
from flowsim.history.channel_flow import flow_of
from flowsim.history.checkpoint_path import CheckpointSteps, Part, PathPart
from flowsim.history.task_states import state_of
from flowsim.history.time_shares import Spent, time_between
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text, duration_text
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waiting import wait_and_causes
from flowsim.why.waits.state_texts import shares_text
from flowsim.why.waits.waits_for_output import flow_text

LEAST_NS: Final = NS_PER_MS
"""A shorter part has no further causes: Flink measures in ms."""


def part_text(facts: RunFacts, part: PathPart) -> str:
    """What a checkpoint waited for, as a clause."""
    task = facts.task(part.task)
    match part.part:
        case Part.TRIGGER:
            return f"its trigger waited in the mailbox of {task}"
        case Part.BARRIER if part.channel is not None:
            return f"its barrier was in {facts.from_(part.channel)} to {task}"
        case Part.TIMEOUT:
            return f"{task} waited for its other barriers, until the timeout of the alignment"
        case Part.PREPARE:
            return f"{task} prepared its snapshot"
        case Part.IGNORED:
            return f"{task} had its last barrier, and took no snapshot: it had taken that of a newer checkpoint"
        case Part.SYNC:
            return f"{task} copied its state, the synchronous part"
        case Part.ASYNC:
            return f"{task} had taken its snapshot and not acknowledged it"
        case Part.ACKNOWLEDGE:
            return f"the acknowledgement of {task} was on its way"
        case _:
            return "the job completed it"


def part_line(facts: RunFacts, part: PathPart) -> str:
    """A part with its times, as a line."""
    times = f"{facts.moment(part.begin_ns)} to {facts.moment(part.end_ns)}, {duration_text(part.length_ns)}"
    return f"{times}: {part_text(facts, part)}"


def part_causes(facts: RunFacts, steps: CheckpointSteps, part: PathPart) -> list[Cause]:
    """Why a part took its time."""
    if part.length_ns < LEAST_NS:
        return []
    task, begin, end = facts.task(part.task), facts.moment(part.begin_ns), facts.moment(part.end_ns)
    place = None if part.row is None else place_of(part.row)
    match part.part:
        case Part.TRIGGER:
            took = (
                f"{task} took its snapshot at {end}" if part.is_over else f"{task} had not taken its snapshot by {end}"
            )
            text = f"A trigger is a mail, which a task runs between two actions: triggered at {begin}, {took}."
            return [Cause(text, ("12.45", "3.11"), place), *_spent(facts, part)]
        case Part.BARRIER if part.channel is not None:
            return [*_behind(facts, steps, part, part.channel), *_spent(facts, part)]
        case Part.TIMEOUT:
            text = (
                f"Its barriers are aligned at first: {task} read the first one at {begin}, and took its snapshot without the "
                f"others at {end}, after the aligned-checkpoint-timeout."
            )
            return [Cause(text, ("12.20",), place)]
        case Part.PREPARE:
            text = f"{task} began its part at {begin}: before the barrier, its operators emit what the snapshot must not contain."
            return [Cause(text, ("12.6",), place), *_spent(facts, part)]
        case Part.IGNORED:
            text = f"{task} had taken the snapshot of a newer checkpoint when the last barrier of this one came, at {begin}."
            return [Cause(text, ("12.5",), place)]
        case Part.SYNC:
            text = f"The synchronous part runs in the thread of {task}, from {begin} to {end}: it processes nothing meanwhile."
            return [Cause(text, ("12.6",), place)]
        case Part.ASYNC:
            end_text = f"it acknowledged the checkpoint at {end}" if part.is_over else "no acknowledgement came"
            text = (
                f"After its snapshot at {begin}, {task} writes its state in the asynchronous part, beside its work and for one "
                f"checkpoint at a time; {end_text}."
            )
            return [Cause(text, ("12.6", "12.67"), place)]
        case _:
            return []


def _behind(facts: RunFacts, steps: CheckpointSteps, part: PathPart, channel: Channel) -> list[Cause]:
    """The elements before a barrier that the receiver had not read when it was written, and what became of them."""
    sent, received = steps.sent(channel), steps.received(channel)
    if sent is None:
        return []
    sender, receiver = facts.task(channel.source_task), facts.task(channel.target_task)
    unread = sent["position"] - _position(steps, channel, sent["time_ns"])
    overtaken = 0 if received is None else sent["position"] - received["position"]
    text = f"{sender} wrote the barrier to channel #{channel.channel} at {facts.moment(sent['time_ns'])}, when {receiver} had "
    text += f"not read {count_text(unread, 'element')} before it." if unread else "read everything before it."
    later = duration_text(part.length_ns)
    if received is None:
        read = unread - (sent["position"] - _position(steps, channel, part.end_ns))
        text += f" By {facts.moment(part.end_ns)} it had read {read:,} of them, and not the barrier."
    elif overtaken:
        first = "" if overtaken == unread else f" read {count_text(unread - overtaken, 'element')} first, and"
        which = "all" if overtaken == unread else f"{overtaken:,}"
        text += f" The barrier overtook {which} of them: {receiver}{first} read it {later} later."
    elif unread:
        text += (
            f" It passes no element: {receiver} read all of them first, and the barrier {later} after it was written."
        )
    else:
        text += f" It read the barrier {later} later."
    return [
        Cause(
            text,
            ("12.18", "12.91") if _is_unaligned(sent, received) else ("12.11",),
            place_of(sent if received is None else received),
            _flow_lines(facts, channel, sent["time_ns"]),
            channel.channel,
        )
    ]


def _is_unaligned(sent: Row, received: Row | None) -> bool:
    return ElementKind.UNALIGNED_BARRIER in (sent["kind"], sent["kind"] if received is None else received["kind"])


def _flow_lines(facts: RunFacts, channel: Channel, time_ns: int) -> tuple[str, ...]:
    """Where the elements of a channel were when a barrier was written to it."""
    at = facts.until(time_ns)
    return (f"when it was written: {flow_text(at, flow_of(at, channel), of_sender=True)}",) if facts.is_full else ()


def _position(steps: CheckpointSteps, channel: Channel, time_ns: int) -> int:
    """The number of elements of a channel that its receiver had read at a time."""
    rows = steps.received_rows(channel).equal(channel=channel.channel)
    last = rows.where((rows["time_ns"] <= time_ns) & (rows["position"] >= 0)).last()
    return 0 if last is None else last["position"] + (last["kind"] not in WITHOUT_POSITION)


def _spent(facts: RunFacts, part: PathPart) -> list[Cause]:
    """What the task did in the time of a part, and the causes of what took most of it."""
    if not facts.is_full:
        return []
    time = time_between(facts, part.task, part.begin_ns, part.end_ns)
    most = max(time.shares, key=lambda spent: time.shares[spent])
    longest = time.longest(most)
    if longest is None:
        return []
    read = facts.until(part.begin_ns).whole.rows("received", part.task).equal(kind=ElementKind.RECORD)
    read = read.where((read["time_ns"] > part.begin_ns) & (read["time_ns"] <= part.end_ns))
    read = read.before(part.row["seq"]) if part.is_over and part.row is not None else read
    records = f", and read {count_text(len(read), 'record')}" if facts.graph.tasks[part.task].inputs else ""
    text = f"Meanwhile, {facts.task(part.task)} was {shares_text(time)}{records}."
    rules: tuple[str, ...] = ("3.28",)
    if part.part is Part.BARRIER and most is not Spent.IDLE:
        text += " It handles a barrier only between two elements."
        rules = ("3.28", "3.11")
    left = _left_cause(facts, part) if most is Spent.IDLE else []
    if left:
        return [Cause(text, rules), *left]
    then = facts.until(longest.middle_ns)
    causes = wait_and_causes(then, state_of(then, part.task))
    if causes:
        text += f" What follows is about {facts.moment(longest.middle_ns)}."
    return [Cause(text, rules), *causes]


def _left_cause(facts: RunFacts, part: PathPart) -> list[Cause]:
    """When a barrier for which its receiver waited left its sender; empty if that is not recorded."""
    if part.channel is None or part.channel.local:
        return []
    out = facts.until(part.begin_ns).whole.rows("buffers", part.channel.source_task)
    out = out.equal(channel=part.channel.channel, side=BufferSide.SENT)
    left = out.where((out["kind"] != BufferKind.DATA) & (out["time_ns"] >= part.begin_ns)).first()
    if left is None or left["time_ns"] > part.end_ns:
        return []
    text = (
        f"The barrier left the queue of {facts.task(part.channel.source_task)} "
        f"{duration_text(left['time_ns'] - part.begin_ns)} after it was written, and "
        f"{facts.task(part.task)} read it {duration_text(part.end_ns - left['time_ns'])} after that."
    )
    return [Cause(text, ("6.15",), place_of(left), (), part.channel.channel)]
