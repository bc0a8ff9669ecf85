"""Sentences about buffers and credits (sections 5.E and 6)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowsim.facts.kinds import (
    ActionKind,
    ActionPhase,
    BufferKind,
    BufferSide,
    CreditKind,
    WaitKind,
)
from tests.support.truth.blocked_channels import SENT_EVENT, behind_event, is_blocked, not_requested, sends_nothing
from tests.support.truth.recorded_run import Row
from tests.support.why_truth import Claim, Pattern


def pool_of(claim: Claim) -> Row:
    return claim.run.pools[claim.number("pool")]


def frees(claim: Claim, task: int) -> bool:
    """The task reads or writes nothing before a segment comes back to one of its pools; mails may run."""
    later = claim.run.after("actions", task, claim.now)
    waited = [
        row.time_ns
        for row in later
        if (row.phase == ActionPhase.BEGIN and row.kind == ActionKind.DEFAULT_ACTION)
        or (row.phase == ActionPhase.RESUME and row.kind == WaitKind.BUFFER)
    ]
    pools = {pool.pool for pool in claim.run.pools.values() if pool.task == task and pool.kind == 0}
    moved = [row.time_ns for row in claim.run.after("segments", task, claim.now) if row.pool in pools]
    return not waited or (bool(moved) and moved[0] <= waited[0])


def full_channel(claim: Claim) -> bool:
    run, pool = claim.run, pool_of(claim)
    used, _ = run.segments(pool, claim.now)
    receiver = claim.task("r")
    (channel,) = [one for one in run.sent_by(pool.task) if one.edge == pool.edge and one.target_task == receiver][:1]
    # The channel may be one of several to the same task.
    subpartitions = [
        one.subpartition for one in run.sent_by(pool.task) if one.edge == pool.edge and one.target_task == receiver
    ]
    return (
        any(used[subpartition] == claim.number("n") for subpartition in subpartitions)
        and claim.number("limit") == pool.per_channel <= claim.number("n")
        and channel.edge == pool.edge
        and frees(claim, pool.task)
    )


def shared_channels(claim: Claim) -> bool:
    run, pool = claim.run, pool_of(claim)
    used, _ = run.segments(pool, claim.now)
    return (
        run.edges[pool.edge].partitioner == "BROADCAST"
        and max(used.values()) == claim.number("n") >= claim.number("limit") == pool.per_channel
        and frees(claim, pool.task)
    )


def no_free_buffer(claim: Claim) -> bool:
    run, pool = claim.run, pool_of(claim)
    used, last = run.segments(pool, claim.now)
    total = sum(used.values())
    overdraft = claim.number("o") if claim["o"] else 0
    assert last is not None
    return (
        last.free == 0
        and (claim.number("n"), claim.number("size")) == (min(total, last.size), last.size)
        and overdraft == max(0, total - last.size)
        and (claim["all"] is None or claim.number("all") == pool.overdraft)
        and bool(claim["memory"]) is (total < last.size)
        and (not claim["memory"] or holders(claim, pool))
        and frees(claim, pool.task)
    )


def holders(claim: Claim, pool: Row) -> bool:
    """Each pool that is named is another one of the task manager, and has requested so many segments."""
    run = claim.run
    for number, held in re.findall(r"pool (\d+) \(.*?\) ([\d,]+)(?:, |\.$)", claim["memory"]):
        other = run.pools[int(number)]
        _, last = run.segments(other, claim.now)
        if last is None or last.requested != int(held.replace(",", "")) or other.task_manager != pool.task_manager:
            return False
    return True


def channels_between(claim: Claim, sender: str, receiver: str) -> list[Row]:
    run = claim.run
    return [one for one in run.sent_by(run.task(claim[sender])) if one.target_task == run.task(claim[receiver])]


def no_credit(claim: Claim) -> bool:
    """No data leaves before the sender gets a credit (rule 6.11)."""
    run, now = claim.run, claim.now
    for channel in channels_between(claim, "s", "r"):
        counts = run.credits(channel, now), run.held(channel, now), run.on_the_wire(channel, now)
        if counts == (0, claim.number("held"), claim.number("wire")):
            sent = run.after(
                "buffers", channel.source_task, now, channel=channel.channel, side=BufferSide.SENT, kind=BufferKind.DATA
            )
            got = run.after("credits", channel.source_task, now, channel=channel.channel)
            return not sent or (bool(got) and got[0].seq < sent[0].seq)
    return False


def some_credit(claim: Claim) -> bool:
    """The channel is not blocked: the next data leave without a request to resume it (rule 5.27)."""
    run, now = claim.run, claim.now
    for channel in channels_between(claim, "s", "r"):
        if run.credits(channel, now) == claim.number("n") > 0:
            resumed = run.after("credits", channel.source_task, now, channel=channel.channel, kind=CreditKind.RESUMED)
            if not resumed or not sends_nothing(run, channel, now):
                return True
    return False


def output_behind_event(claim: Claim) -> bool:
    return behind_event(claim, channels_between(claim, "a", "r"))


def output_not_requested(claim: Claim) -> bool:
    return not_requested(claim.run, channels_between(claim, "s", "r"), claim.now)


def is_local(claim: Claim) -> bool:
    return any(channel.local for channel in channels_between(claim, "s", "r"))


def blocked_output(claim: Claim) -> bool:
    return any(
        is_blocked(claim.run, channel, claim.number("c"), claim.now) for channel in channels_between(claim, "s", "r")
    )


def flow_line(claim: Claim) -> bool:
    run, now, channel = claim.run, claim.now, claim.run.channels[claim.number("ch")]
    assert claim.task() == (channel.target_task if claim["way"] == "to" else channel.source_task)
    if claim["local"]:
        return bool(channel.local) and run.unread(channel, now) == claim.number("n")
    ours = run.until("buffers", channel.source_task, now, channel=channel.channel, kind=BufferKind.DATA)
    read = run.of_reader("buffers", channel, now, kind=BufferKind.DATA)
    gone = sum(row.side in (BufferSide.SENT, BufferSide.SKIPPED) and row.whole == 1 for row in read)
    queued = sum(row.side == BufferSide.QUEUED for row in ours) - gone
    found = [
        queued == claim.number("q"),
        run.held(channel, now) == claim.number("h"),
        run.unread(channel, now) == claim.number("n"),
        run.on_the_wire(channel, now) == (claim.number("w") if claim["w"] else 0),
        not channel.local,
        run.credits(channel, now) == claim.number("c"),
    ]
    return all(found)


OUTPUTS: Sequence[Pattern] = (
    Pattern(
        "full channel",
        r"The output pool {pool:N} \(to .+?\) is not available: {r:T} has {n:N} buffers? of it, and the limit for one channel is "
        r"{limit:N}(?:, although {k:N} other queues? of it (?:is|are) empty)?\.(?: One channel at its limit "
        r"blocks the task for all "
        r"its channels\.)?(?: The task is inside an element, so it runs no mail until it gets a buffer\.)?",
        full_channel,
    ),
    Pattern(
        "shared buffers",
        r"The output pool {pool:N} \(to .+?\) is not available: its channels share {n:N} buffers?, which count "
        r"for the first channel, "
        r"and the limit for one channel is {limit:N}\. A shared buffer is free when the last channel has released "
        r"it; the longest "
        r"queue is that to {r:T}\.(?: The task is inside an element, so it runs no mail until it gets a buffer\.)?",
        shared_channels,
    ),
    Pattern(
        "no free buffer",
        r"The output pool {pool:N} \(to .+?\) has no free buffer: {n:N} of {size:N}(?: and {o:N} of {all:N} "
        r"overdraft buffers?)? are in "
        r"use\.(?P<memory> The network memory of its task manager has no free segment either; most are held by: "
        r".+?\.)?(?: The task "
        r"is inside an element, so it runs no mail until it gets a buffer\.)?",
        no_free_buffer,
    ),
    Pattern(
        "no credit",
        r"{s:T} has no credit of {r:T}: {held:N} buffers? at .+ holds? data of this channel, and {wire:N} "
        r"(?:is|are) on the wire\."
        r"(?: {way:N} credits? of .+? (?:is|are) on the way\.)? .+ announces a credit when it has used up the data of a buffer\.",
        no_credit,
    ),
    Pattern("credits", r"{s:T} has {n:N} credits? of {r:T}, so it can send its buffers\.", some_credit),
    Pattern("output behind an event", SENT_EVENT, output_behind_event),
    Pattern(
        "output not requested",
        r"{r:T} has not requested this channel so far, so {s:T} sends nothing on it\.",
        output_not_requested,
    ),
    Pattern(
        "local", r"{s:T} and {r:T} are in one task manager: .+ reads the queue of .+, and has not read on\.", is_local
    ),
    Pattern(
        "output blocked by alignment",
        r"{r:T} has blocked the channel since it read the barrier of checkpoint {c:N} at {m:M}: until its "
        r"alignment ends, {s:T} sends "
        r"nothing on it\.",
        blocked_output,
    ),
    Pattern(
        "channel",
        r"channel #{ch:N} (?P<way>to|from) {t:T}: (?:(?P<local>a local channel)|{q:N} buffers? in the sender's queue, {c:N} "
        r"credits?(?:, {w:N} on the wire)?, {h:N} buffers? at the receiver); {n:N} elements? sent and not read",
        flow_line,
    ),
)
