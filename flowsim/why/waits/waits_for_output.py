"""Why a task waits for output: its buffer pool, the full channel, its credits, and the receiver (sections 5.E and 6)."""

from __future__ import annotations

from typing import Final

from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.waits.channel_flow import ChannelFlow, PoolState, channel_at, flow_of, flow_text, output_pools
from flowsim.why.waits.task_state import Doing, TaskState

_HAS: Final = ("has", "have")


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
        others = [flow for flow in flows if flow is not blocked and not flow.queued]
        empty = (
            f", although {count_text(len(others), 'other queue')} of it {'is' if len(others) == 1 else 'are'} empty"
            if others
            else ""
        )
        text = (
            f"The {name} is not available: {facts.task(blocked.channel.target_task)} has "
            f"{count_text(pool.used[pool.full[0]], 'buffer')} of it, "
            f"and the limit for one channel is {pool.pool.per_channel:,}{empty}."
        )
        if len(flows) > 1:
            text += " One channel at its limit blocks the task for all its channels."
        rules = ("5.35", "5.1") if len(pools) > 1 else ("5.35",)
    else:
        overdraft = max(0, used - pool.size)
        extra = f" and {overdraft:,} of {count_text(pool.pool.overdraft, 'overdraft buffer')}" if overdraft else ""
        text = f"The {name} has no free buffer: {min(used, pool.size):,} of {pool.size:,}{extra} are in use."
        rules = ("5.33", "5.36")
    if state.doing is Doing.HARD:
        text += " The task is inside an element, so it runs no mail until it gets a buffer."
        rules = (*rules, "5.42")
    else:
        rules = (*rules, "4.6")
    causes = [Cause(text, rules, place, lines, None if blocked is None else blocked.channel.channel)]
    if blocked is None:
        return causes, None
    return [*causes, *_credit_cause(facts, blocked)], blocked.channel.target_task


def _channels(facts: RunFacts, pool: PoolState) -> list[Channel]:
    return [channel for channel in facts.graph.sent_by(pool.pool.task) if channel.edge == pool.pool.edge]


def _blocked(facts: RunFacts, pool: PoolState, flows: list[ChannelFlow]) -> ChannelFlow | None:
    """The channel that holds the buffers: at its limit, or with the longest queue."""
    if pool.full:
        channel = channel_at(facts, pool.pool, pool.full[0])
        return next((flow for flow in flows if flow.channel == channel), None)
    return max(flows, key=lambda flow: (flow.queued, flow.held), default=None)


def _credit_cause(facts: RunFacts, flow: ChannelFlow) -> list[Cause]:
    channel = flow.channel
    receiver, sender = facts.task(channel.target_task), facts.task(channel.source_task)
    if channel.local:
        text = f"{sender} and {receiver} are in one task manager: {receiver} reads the queue of {sender}, and has not read on."
        return [Cause(text, ("6.17",), channel=channel.channel)]
    last = facts.rows("credits", channel.source_task).equal(channel=channel.channel).last()
    place = None if last is None else place_of(last)
    if flow.credits:
        text = f"{sender} has {count_text(flow.credits, 'credit')} of {receiver}, so its buffers are on their way."
        return [Cause(text, ("6.10",), place, channel=channel.channel)]
    text = (
        f"{sender} has no credit of {receiver}: each buffer that {receiver} has for this channel holds data "
        f"({flow.held:,}) or expects data that is on the wire ({flow.wire:,}). {receiver} announces a credit when it has used "
        "up the data of a buffer."
    )
    return [Cause(text, ("6.5", "6.8", "6.11"), place, channel=channel.channel)]
