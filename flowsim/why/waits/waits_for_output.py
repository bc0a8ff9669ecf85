"""Why a task waits for output: its buffer pool, the full channel, its credits, and the receiver (sections 5.E and 6)."""

from __future__ import annotations

from typing import Final

from flowsim.history.buffer_pools import PoolState, channel_at, output_pools
from flowsim.history.channel_flow import ChannelFlow, flow_of, is_requested
from flowsim.history.task_states import Doing, TaskState
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.waits.blocked_channels import blocked_sender

_IS: Final = ("is", "are")
_HOLD: Final = ("holds", "hold")
_MOST_LISTED: Final = 4


def output_causes(facts: RunFacts, state: TaskState) -> tuple[list[Cause], int | None]:
    """The causes, and the task that has to work before this one can continue; None if that is unknown."""
    pools = [pool for pool in output_pools(facts, state.task) if not pool.is_available]
    if not pools:
        return [], None
    pool = min(pools, key=lambda one: (not one.full, one.free))
    place = None if state.since is None else place_of(state.since)
    flows = [flow_of(facts, channel) for channel in _channels(facts, pool)]
    blocked = _blocked(facts, pool, flows)
    name = facts.names.pool(pool.pool.pool)
    lines = tuple(flow_text(facts, flow, of_sender=True) for flow in flows)
    used = sum(pool.used.values())
    if pool.full and blocked is not None:
        text, rules = _full_channel(facts, pool, blocked, flows)
        rules = (*rules, "5.1") if len(pools) > 1 else rules
    else:
        overdraft = max(0, used - pool.size)
        extra = f" and {overdraft:,} of {count_text(pool.pool.overdraft, 'overdraft buffer')}" if overdraft else ""
        text = f"The {name} has no free buffer: {min(used, pool.size):,} of {pool.size:,}{extra} are in use."
        rules = ("5.33", "5.36")
        if used < pool.size:
            text += _exhausted(facts, pool)
            rules = ("5.36", "5.38")
    if state.doing is Doing.HARD:
        text += " The task is inside an element, so it runs no mail until it gets a buffer."
        rules = (*rules, "5.42")
    else:
        rules = (*rules, "4.6")
    causes = [Cause(text, rules, place, lines, None if blocked is None else blocked.channel.channel)]
    if blocked is None:
        return causes, None
    return [*causes, *_credit_cause(facts, blocked)], blocked.channel.target_task


def flow_text(facts: RunFacts, flow: ChannelFlow, of_sender: bool) -> str:
    """The counts as one line."""
    channel = flow.channel
    name = f"channel #{channel.channel} to {facts.task(channel.target_task)}" if of_sender else facts.from_(channel)
    elements = f"{count_text(flow.in_flight, 'element')} sent and not read"
    if not facts.has("buffers"):
        return f"{name}: {elements}"
    if channel.local:
        return f"{name}: a local channel; {elements}"
    parts = [f"{count_text(flow.queued, 'buffer')} in the sender's queue"]
    if flow.credits is not None:
        parts.append(count_text(flow.credits, "credit"))
    if flow.wire:
        parts.append(f"{flow.wire:,} on the wire")
    parts.append(f"{count_text(flow.held, 'buffer')} at the receiver")
    return f"{name}: {', '.join(parts)}; {elements}"


def _is_shared(facts: RunFacts, pool: PoolState) -> bool:
    """Whether all subpartitions share the buffers of a pool (rule 5.2)."""
    return facts.graph.edges[pool.pool.edge].partitioner == "BROADCAST"


def _full_channel(
    facts: RunFacts, pool: PoolState, blocked: ChannelFlow, flows: list[ChannelFlow]
) -> tuple[str, tuple[str, ...]]:
    """The channel at its limit, and its rules."""
    name, limit = facts.names.pool(pool.pool.pool), f"{pool.pool.per_channel:,}"
    held = count_text(pool.used[pool.full[0]], "buffer")
    receiver = facts.task(blocked.channel.target_task)
    if len(flows) > 1 and _is_shared(facts, pool):
        text = (
            f"The {name} is not available: its channels share {held}, which count for the first channel, and the limit for one "
            f"channel is {limit}. A shared buffer is free when the last channel has released it; the longest queue is that to "
            f"{receiver}."
        )
        return text, ("5.12", "5.35")
    others = [flow for flow in flows if flow is not blocked and not flow.unsent]
    verb = "is" if len(others) == 1 else "are"
    empty = f", although {count_text(len(others), 'other queue')} of it {verb} empty" if others else ""
    text = f"The {name} is not available: {receiver} has {held} of it, and the limit for one channel is {limit}{empty}."
    if len(flows) > 1:
        text += " One channel at its limit blocks the task for all its channels."
    return text, ("5.35",)


def _exhausted(facts: RunFacts, pool: PoolState) -> str:
    """The pools of other tasks that hold the segments of the task manager, as a sentence."""
    held = {
        other.pool: last["requested"]
        for other in facts.graph.pools.values()
        if other.task_manager == pool.pool.task_manager and other.pool != pool.pool.pool
        if (last := facts.rows("segments", other.task).equal(pool=other.pool).last()) is not None and last["requested"]
    }
    most = sorted(held, key=lambda one: (-held[one], one))[:_MOST_LISTED]
    listed = ", ".join(f"{facts.names.pool(one)} {held[one]:,}" for one in most)
    return f" The network memory of its task manager has no free segment either; most are held by: {listed}."


def _channels(facts: RunFacts, pool: PoolState) -> list[Channel]:
    return [channel for channel in facts.graph.sent_by(pool.pool.task) if channel.edge == pool.pool.edge]


def _blocked(facts: RunFacts, pool: PoolState, flows: list[ChannelFlow]) -> ChannelFlow | None:
    """The channel that holds the buffers: at its limit, or with the longest queue."""
    if pool.full and not _is_shared(facts, pool):
        channel = channel_at(facts, pool.pool, pool.full[0])
        return next((flow for flow in flows if flow.channel == channel), None)
    return max(flows, key=lambda flow: (flow.queued, flow.held), default=None)


def _credit_cause(facts: RunFacts, flow: ChannelFlow) -> list[Cause]:
    channel = flow.channel
    receiver, sender = facts.task(channel.target_task), facts.task(channel.source_task)
    blocked = blocked_sender(facts, channel)
    if blocked is not None:
        text, rules, row = blocked
        return [Cause(text, rules, place_of(row), channel=channel.channel)]
    if channel.local:
        text = f"{sender} and {receiver} are in one task manager: {receiver} reads the queue of {sender}, and has not read on."
        return [Cause(text, ("6.17",), channel=channel.channel)]
    if not is_requested(facts, channel):
        text = f"{receiver} has not requested this channel so far, so {sender} sends nothing on it."
        return [Cause(text, ("12.92",), channel=channel.channel)]
    last = facts.rows("credits", channel.source_task).equal(channel=channel.channel).last()
    place = None if last is None else place_of(last)
    if flow.credits:
        text = f"{sender} has {count_text(flow.credits, 'credit')} of {receiver}, so it can send its buffers."
        return [Cause(text, ("6.10", "6.15"), place, channel=channel.channel)]
    coming = (
        f" {count_text(flow.announced, 'credit')} of {receiver} {_IS[flow.announced != 1]} on the way."
        if flow.announced
        else ""
    )
    text = (
        f"{sender} has no credit of {receiver}: {count_text(flow.held, 'buffer')} at {receiver} {_HOLD[flow.held != 1]} data of "
        f"this channel, and {flow.wire:,} {_IS[flow.wire != 1]} on the wire.{coming} {receiver} announces a credit when "
        "it has used up the data of a buffer."
    )
    return [Cause(text, ("6.5", "6.8", "6.11"), place, channel=channel.channel)]
