"""Why a task has no input: what its channels contain, and what their senders do."""

from __future__ import annotations

from flowsim.facts.kinds import BufferKind, BufferSide, ElementKind
from flowsim.history.barriers import blocking_barrier
from flowsim.history.channel_flow import ChannelFlow, counted, flow_of, is_requested
from flowsim.history.task_states import STUCK, Doing, TaskState, is_at_end_of_input, state_of
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text, duration_text
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.restarts import before_end
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.blocked_channels import alignment_cause, blocked_sender
from flowsim.why.waits.source import source_causes
from flowsim.why.waits.state_texts import state_text
from flowsim.why.waits.waits_for_output import flow_text
from flowsim.why.waits.waits_in_element import open_call_causes

_FIRST_ASKED = (*STUCK, Doing.BUSY, Doing.NOT_STARTED, Doing.RESTORING, Doing.IDLE)
"""Of several senders, the one that explains most."""


def input_causes(facts: RunFacts, state: TaskState) -> tuple[list[Cause], int | None]:
    """The causes, and the task that has to work before this one can continue; None if there is none."""
    calls = open_call_causes(facts, state.task)
    if not facts.graph.tasks[state.task].inputs:
        return [*source_causes(facts, state.task), *calls], None
    causes, following = _channel_causes(facts, state)
    return [*causes, *calls], following


def _channel_causes(facts: RunFacts, state: TaskState) -> tuple[list[Cause], int | None]:
    flows = [flow_of(facts, channel) for channel in facts.received_by(state.task)]
    blocked, others = _aligned(facts, flows)
    causes: list[Cause] = []
    if blocked:
        causes = [alignment_cause(facts, blocked, [flow.channel for flow in others])]
        flows = others
        if not flows:
            return causes, None
    under_way = [flow for flow in flows if flow.in_flight > 0]
    if under_way:
        flow = max(under_way, key=lambda one: (one.held > 0, one.in_flight))
        causes.append(arrival_cause(facts, flow, flows))
        if flow.held > 0:
            unread = [one.channel for one in flows if not one.in_flight and not has_ended(facts, one.channel)]
            return causes, unread[0].source_task if unread else None
        sender = state_of(facts, flow.channel.source_task)
        return causes, sender.task if sender.doing in (*STUCK, Doing.BUSY) else None
    found, following = _no_sender_has_sent(facts, state, flows, bool(blocked))
    return [*causes, *found], following


def _aligned(facts: RunFacts, flows: list[ChannelFlow]) -> tuple[list[tuple[Channel, Row]], list[ChannelFlow]]:
    """The channels that the alignment of a checkpoint blocks, and those that have not delivered its barrier."""
    blocked, others = [], []
    for flow in flows:
        barrier = blocking_barrier(facts, flow.channel)
        if barrier is not None:
            blocked.append((flow.channel, barrier))
        elif not has_ended(facts, flow.channel):
            others.append(flow)
    return blocked, others if blocked else flows


def arrival_cause(facts: RunFacts, flow: ChannelFlow, flows: list[ChannelFlow]) -> Cause:
    """Why elements that were sent have not been read."""
    channel = flow.channel
    sender, receiver = facts.task(channel.source_task), facts.task(channel.target_task)
    lines = tuple(flow_text(facts, one, of_sender=False) for one in flows)
    written = counted(facts.rows("sent", channel.source_task).equal(channel=channel.channel))
    waiting = written.cut(flow.received, len(written)).first()
    place = None if waiting is None else place_of(waiting)
    if not facts.has("buffers"):
        count = count_text(flow.in_flight, "element")
        text = f"{count} sent by {sender} did not reach {receiver} yet; where they are is not recorded without --record full."
        return Cause(text, (), place, lines, channel.channel)
    head = f"{count_text(flow.in_flight, 'element')} of {sender} {'waits' if flow.in_flight == 1 else 'wait'}"
    text, rules = _unflushed(facts, flow) if _is_unflushed(facts, flow) else _why_unread(facts, flow)
    return Cause(f"{head} {text}", rules, place, lines, channel.channel)


def _where(facts: RunFacts, flow: ChannelFlow) -> str:
    """Where the elements of a channel are that have not been read, for the middle of a sentence."""
    channel = flow.channel
    if facts.graph.edges[channel.edge].exchange == "BLOCKING" and not flow.held and not flow.wire:
        return "in a blocking exchange"
    if channel.local:
        return "in buffers of the sender"
    receiver = facts.task(channel.target_task)
    places = [
        (flow.held, "in buffers of " + receiver),
        (flow.wire, "on the wire"),
        (flow.unsent, "in the sender's queue"),
    ]
    used = [(number, name) for number, name in places if number]
    if len(used) == 1:
        return used[0][1]
    if not used:
        return f"for {receiver}"
    return " and ".join(name for _, name in used)


def _why_unread(facts: RunFacts, flow: ChannelFlow) -> tuple[str, tuple[str, ...]]:
    """Where the elements wait, and why the receiver has not read them; with the rules."""
    channel, where = flow.channel, _where(facts, flow)
    receiver = facts.task(channel.target_task)
    barrier = blocking_barrier(facts, channel)
    if barrier is not None:
        at = facts.moment(barrier["time_ns"])
        text = (
            f"the barrier of checkpoint {barrier['timestamp']}, which {receiver} read at {at}, blocks the channel until the "
            "alignment ends"
        )
        return f"{where}: {text}.", ("12.11", "5.27")
    state = state_of(facts, channel.target_task)
    if flow.held > 0 or state.doing is Doing.ENDED:
        if state.doing is not Doing.IDLE:
            return f"{where}, and {state_text(facts, state)}.", ("7.15", "7.16")
        if _selects(facts, channel):
            return f"{where}, but the operator does not select this input at the moment.", ("7.24", "7.26")
        return f"{where}, and {receiver} has not read on.", ("7.15", "7.16")
    if flow.wire > 0:
        return f"{where} to {receiver}.", ("6.15",)
    blocked = blocked_sender(facts, channel) if flow.unsent else None
    if blocked is not None:
        return f"{where}. {blocked[0]}", blocked[1]
    if not is_requested(facts, channel):
        return f"{where}: {receiver} has not requested this channel so far.", ("12.92",)
    if flow.credits == 0:
        return f"{where} for a credit of {receiver}.", ("6.10", "6.11")
    return f"{where}: {receiver} has not read on.", ("6.15", "6.17")


def _selects(facts: RunFacts, channel: Channel) -> bool:
    """Whether the receiver of a channel selects the input that it reads next."""
    return facts.operators_of(channel.target_task)[0].params.get("reading") not in (None, "any")


def _is_unflushed(facts: RunFacts, flow: ChannelFlow) -> bool:
    """Whether what is unread is in one buffer that its sender still fills."""
    is_alone = flow.unsent == 1 and not flow.held and not flow.wire and flow.last_flush is None
    if not is_alone or blocked_sender(facts, flow.channel) is not None or not is_requested(facts, flow.channel):
        return False
    sender = state_of(facts, flow.channel.source_task)
    return sender.doing is not Doing.ENDED and not is_at_end_of_input(facts, flow.channel.source_task)


def _unflushed(facts: RunFacts, flow: ChannelFlow) -> tuple[str, tuple[str, ...]]:
    channel = flow.channel
    text = (
        f"in a buffer that is neither full nor flushed, so {facts.task(channel.target_task)} cannot read it: a flush comes "
        f"with the buffer timeout ({_timeout(facts)}), with an event, or at the end of the data."
    )
    out = facts.whole.rows("buffers", channel.source_task).equal(
        channel=channel.channel, side=BufferSide.SENT, kind=BufferKind.DATA
    )
    later = out.where(out["time_ns"] > (facts.until_ns or facts.end_ns)).first()
    ends = before_end(facts, channel.source_task)
    if later is not None:
        text += f" The buffer is sent at {facts.moment(later['time_ns'])}."
    elif ends:
        text += f" The buffer is not sent{ends}."
    return text, ("5.3", "5.20", "5.22")


def _timeout(facts: RunFacts) -> str:
    given = facts.recording.manifest.run.settings.get("buffer_timeout")
    if not isinstance(given, int):
        return "an operator can set its own"
    text = "never" if given < 0 else duration_text(given * NS_PER_MS) if given else "0"
    return f"{text} in the settings of the job; an operator can set its own"


def _no_sender_has_sent(
    facts: RunFacts, state: TaskState, flows: list[ChannelFlow], is_aligning: bool
) -> tuple[list[Cause], int | None]:
    ended = [flow.channel for flow in flows if has_ended(facts, flow.channel)]
    senders = {flow.channel.source_task: state_of(facts, flow.channel.source_task) for flow in flows}
    lines = tuple(
        f"{facts.from_(flow.channel)}: {state_text(facts, senders[flow.channel.source_task])}, "
        f"{count_text(flow.sent, 'element')} sent, all read"
        for flow in flows
    )
    place = None if state.since is None else place_of(state.since)
    name = facts.task(state.task)
    where = " on the channels without a barrier" if is_aligning else ""
    causes = [Cause(f"{name} has read everything that was sent to it{where}.", ("3.12", "7.19"), place, lines)]
    if ended:
        text = (
            f"{count_text(len(ended), 'channel')} of {len(flows):,} of {name} {'has' if len(ended) == 1 else 'have'} ended. "
            "The task ends only when all its channels have ended, so it waits for the others."
        )
        row = facts.rows("received", state.task).equal(channel=ended[-1].channel).last()
        causes.append(Cause(text, ("4.14", "7.6", "7.7"), None if row is None else place_of(row)))
    left = [senders[flow.channel.source_task] for flow in flows if flow.channel not in ended]
    following = min(
        left, key=lambda one: _FIRST_ASKED.index(one.doing) if one.doing in _FIRST_ASKED else len(_FIRST_ASKED)
    )
    return causes, following.task


def has_ended(facts: RunFacts, channel: Channel) -> bool:
    """Whether the receiver has read the end of a channel."""
    received = facts.rows("received", channel.target_task)
    return len(received.equal(channel=channel.channel, kind=ElementKind.END_OF_PARTITION)) > 0
