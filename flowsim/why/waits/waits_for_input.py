"""Why a task has no input: what its channels contain, and what their senders do."""

from __future__ import annotations

from flowsim.facts.kinds import BufferSide, ElementKind
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text, duration_text
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.waits.channel_flow import ChannelFlow, flow_of, flow_text
from flowsim.why.waits.source import source_causes
from flowsim.why.waits.task_state import Doing, TaskState, state_of
from flowsim.why.waits.waits_in_element import open_call_causes

_FIRST_ASKED = (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK, Doing.BUSY, Doing.NOT_STARTED, Doing.IDLE)
"""Of several senders, the one that explains most."""


def input_causes(facts: RunFacts, state: TaskState) -> tuple[list[Cause], int | None]:
    """The causes, and the task that has to work before this one can continue; None if there is none."""
    if not facts.graph.tasks[state.task].inputs:
        return [*source_causes(facts, state.task), *open_call_causes(facts, state.task)], None
    flows = [flow_of(facts, channel) for channel in facts.received_by(state.task)]
    under_way = [flow for flow in flows if flow.in_flight > 0]
    if under_way:
        flow = max(under_way, key=lambda one: (one.held > 0, one.in_flight))
        causes = [arrival_cause(facts, flow, flows)]
        if flow.held > 0:
            others = [one.channel for one in flows if not one.in_flight and not has_ended(facts, one.channel)]
            return causes, others[0].source_task if others else None
        sender = state_of(facts, flow.channel.source_task)
        return causes, sender.task if sender.doing in (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK) else None
    return _no_sender_has_sent(facts, state, flows)


def arrival_cause(facts: RunFacts, flow: ChannelFlow, flows: list[ChannelFlow]) -> Cause:
    """Why elements that were sent have not been read."""
    channel = flow.channel
    sender, receiver = facts.task(channel.source_task), facts.task(channel.target_task)
    lines = tuple(flow_text(facts, one, of_sender=False) for one in flows)
    written = facts.rows("sent", channel.source_task).equal(channel=channel.channel)
    waiting = written.cut(flow.received, len(written)).first()
    place = None if waiting is None else place_of(waiting)
    count, wait = count_text(flow.in_flight, "element"), "waits" if flow.in_flight == 1 else "wait"
    if not facts.has("buffers"):
        text = f"{count} sent by {sender} did not reach {receiver} yet; where they are is not recorded without --record full."
        return Cause(text, (), place, lines, channel.channel)
    if flow.held > 0 and state_of(facts, channel.target_task).doing is not Doing.IDLE:
        text = f"{count} of {sender} {wait} in buffers of {receiver}, which still processes the elements before."
        return Cause(text, ("7.15", "7.16"), place, lines, channel.channel)
    if flow.held > 0:
        text = f"{count} of {sender} {wait} in buffers of {receiver}, but the operator does not select this input at the moment."
        return Cause(text, ("7.24", "7.26"), place, lines, channel.channel)
    if flow.wire > 0:
        text = f"{count} of {sender} {'is' if flow.in_flight == 1 else 'are'} on the wire to {receiver}."
        return Cause(text, ("6.15",), place, lines, channel.channel)
    if flow.credits == 0:
        text = f"{count} of {sender} {wait} in its queue for a credit of {receiver}."
        return Cause(text, ("6.10", "6.11"), place, lines, channel.channel)
    text = (
        f"{count} of {sender} {wait} in a buffer that is neither full nor flushed, so {receiver} cannot read it: a flush comes "
        f"with the buffer timeout ({_timeout(facts)}), or at the end of the data."
    )
    out = facts.whole.rows("buffers", channel.source_task).equal(channel=channel.channel, side=BufferSide.SENT)
    later = out.where(out["time_ns"] > (facts.until_ns or facts.end_ns)).first()
    text += "" if later is None else f" The buffer is sent at {facts.moment(later['time_ns'])}."
    return Cause(text, ("5.3", "5.20", "5.22"), place, lines, channel.channel)


def _timeout(facts: RunFacts) -> str:
    given = facts.recording.manifest.run.settings.get("buffer_timeout")
    if not isinstance(given, int):
        return "an operator can set its own"
    text = "never" if given < 0 else duration_text(given * NS_PER_MS) if given else "0"
    return f"{text} in the settings of the job; an operator can set its own"


def _no_sender_has_sent(facts: RunFacts, state: TaskState, flows: list[ChannelFlow]) -> tuple[list[Cause], int | None]:
    ended = [flow.channel for flow in flows if has_ended(facts, flow.channel)]
    senders = {flow.channel.source_task: state_of(facts, flow.channel.source_task) for flow in flows}
    lines = tuple(
        f"{facts.from_(flow.channel)}: {senders[flow.channel.source_task].sentence(facts)}, "
        f"{count_text(flow.sent, 'element')} sent, all read"
        for flow in flows
    )
    place = None if state.since is None else place_of(state.since)
    name = facts.task(state.task)
    if len(ended) == len(flows):
        text = f"All channels of {name} have ended."
        return [Cause(text, ("7.6", "7.13"), place, lines)], None
    causes = [Cause(f"{name} has read everything that was sent to it.", ("3.12", "7.19"), place, lines)]
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
