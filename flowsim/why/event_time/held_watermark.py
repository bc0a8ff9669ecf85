"""Why the watermark of a task has not reached a time: the channel that holds it back, up to the source or generator."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.quantities import count_text
from flowsim.trace.time import event_time
from flowsim.units import NO_TIMESTAMP
from flowsim.why.answer import Cause
from flowsim.why.event_time.channel_states import ChannelState, channel_states
from flowsim.why.event_time.generators import generator_of
from flowsim.why.event_time.held_generator import generator_causes, source_watermark_causes, watermark_text
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.waiting import chain
from flowsim.why.waits.channel_flow import flow_of
from flowsim.why.waits.task_state import Doing, state_of
from flowsim.why.waits.waits_for_input import arrival_cause
from flowsim.why.waits.waits_in_element import is_async, queue_of


def held_causes(facts: RunFacts, task: int, needed: int) -> list[Cause]:
    """Why the watermark of a task is below ``needed`` at the moment of the facts."""
    causes: list[Cause] = []
    seen = set()
    while task not in seen and facts.graph.tasks[task].inputs:
        seen.add(task)
        states = channel_states(facts, task)
        holder = _holder(states, needed)
        if holder is None:
            return causes
        causes.append(_holder_cause(facts, task, states, holder))
        sender, channel = holder.channel.source_task, holder.channel
        under_way = _under_way(facts, holder)
        if under_way is not None:
            return [*causes, *under_way]
        ended = _ended(facts, holder)
        if ended and holder.end_of_data is not None and holder.end_of_data["timestamp"]:
            return [*causes, *ended]
        waits = _inside_the_sender(facts, sender, needed)
        if waits:
            return [*causes, *waits]
        operator = generator_of(facts, channel)
        if operator is not None:
            return [*causes, *generator_causes(facts, sender, operator, needed), *ended]
        if not facts.graph.tasks[sender].inputs:
            return [*causes, *source_watermark_causes(facts, sender), *ended]
        task = sender
    return causes


def _holder(states: list[ChannelState], needed: int) -> ChannelState | None:
    """The channel that holds back the watermark: the lowest one that is waited for; if all are idle, the highest."""
    waited_for = [state for state in states if state.is_aligned and not state.is_idle]
    if waited_for:
        lowest = min(
            waited_for, key=lambda state: (state.watermark, state.end_of_data is not None, state.channel.channel)
        )
        return lowest if lowest.watermark < needed else None
    active = [state for state in states if not state.is_idle]
    highest = max(active or states, key=lambda state: (state.watermark, -state.channel.channel), default=None)
    return highest if highest is not None and highest.watermark < needed else None


def _holder_cause(facts: RunFacts, task: int, states: list[ChannelState], holder: ChannelState) -> Cause:
    row = facts.rows("task_watermark", task).equal(kind=ElementKind.WATERMARK).last()
    watermark = NO_TIMESTAMP if row is None else row["timestamp"]
    last = holder.watermark_row or row or facts.rows("received", task).last()
    place = None if last is None else place_of(last)
    lines = tuple(state.text(facts) for state in states)
    text = f"{facts.task(task)} has {watermark_text(watermark)}"
    if all(state.is_idle for state in states):
        which = "its only channel is" if len(states) == 1 else f"its {len(states)} channels are all"
        text += f", and {which} idle. Idleness creates no watermark: the watermark stays where it is."
        return Cause(text, ("8.4", "8.10"), place, lines, holder.channel.channel)
    if len(states) == 1:
        text += f": that of its only channel, from {facts.task(holder.channel.source_task)}."
        return Cause(text, ("8.9",), place, lines, holder.channel.channel)
    idle = sum(state.is_idle for state in states)
    but = f" ({count_text(idle, 'idle channel')} not counted)" if idle else ""
    text += (
        f": the minimum over the channels that it waits for{but}. "
        f"C{facts.from_(holder.channel)[1:]} holds it back with {watermark_text(holder.watermark)}."
    )
    rules = ("8.9", "8.16") if len({state.channel.input for state in states}) > 1 else ("8.9",)
    return Cause(text, rules, place, lines, holder.channel.channel)


def _under_way(facts: RunFacts, holder: ChannelState) -> list[Cause] | None:
    """A higher watermark that the sender has sent and the task has not read."""
    channel = holder.channel
    flow = flow_of(facts, channel)
    sent = facts.rows("sent", channel.source_task).equal(channel=channel.channel)
    later = sent.cut(flow.received, len(sent)).equal(kind=ElementKind.WATERMARK)
    row = later.where(later["timestamp"] > holder.watermark).last()
    if row is None:
        return None
    text = (
        f"{facts.task(channel.source_task)} has sent watermark {event_time(row['timestamp'])}, but "
        f"{facts.task(channel.target_task)} has not read it: it queues behind the elements before it."
    )
    causes = [Cause(text, ("8.18", "I7.b"), place_of(row), channel=channel.channel), arrival_cause(facts, flow, [flow])]
    if facts.is_full and (flow.held or flow.queued):
        causes += chain(facts, state_of(facts, channel.target_task))
    return causes


def _ended(facts: RunFacts, holder: ChannelState) -> list[Cause]:
    """The sender has ended its data, and the last watermark was not MAX."""
    end, sender = holder.end_of_data, holder.channel.source_task
    if end is None:
        return []
    name = facts.task(sender)
    if not end["timestamp"]:
        text = (
            f"{name} has ended its data without drain: it sent no MAX watermark, so event time did not end and open windows "
            "and timers do not fire."
        )
        causes = [Cause(text, ("4.9", "4.10"), place_of(end), channel=holder.channel.channel)]
        return [*causes, *_stopped(facts)]
    if holder.is_idle:
        text = (
            f"{name} was idle when its input ended. An idle output drops watermarks, and so also the MAX watermark that a "
            "source sends at its end: what is still open stays open."
        )
        place = holder.status_row or end
        return [Cause(text, ("5.8", "8.17", "4.10"), place_of(place), channel=holder.channel.channel)]
    return []


def _stopped(facts: RunFacts) -> list[Cause]:
    stops = facts.all_rows("lifecycle").equal(event=LifeEvent.STOP_NO_DRAIN)
    row = stops.first()
    if row is None:
        return []
    text = f"A stop without drain reached {facts.task(row['task'])}. With drain, MAX would have fired everything that was open."
    return [Cause(text, ("4.20",), place_of(row))]


def _inside_the_sender(facts: RunFacts, sender: int, needed: int) -> list[Cause]:
    """A watermark that the sender has received and not forwarded: it is in an async queue, or its timers still fire."""
    for operator in facts.operators_of(sender):
        if is_async(operator):
            entries = queue_of(facts, sender, operator.operator)
            marks = [entry for entry in entries if entry.put["kind"] == ElementKind.WATERMARK]
            if marks:
                before = [entry for entry in entries if entry.put["entry"] < marks[0].put["entry"]]
                text = (
                    f"Watermark {event_time(marks[0].put['timestamp'])} is in the queue of {operator.name}: it leaves after "
                    f"{count_text(len(before), 'record')} before it."
                )
                return [Cause(text, ("11.2", "11.11"), place_of(marks[0].put))]
    if not facts.is_full or not facts.graph.tasks[sender].inputs:
        return []
    state = state_of(facts, sender)
    marks_in = [one.watermark for one in channel_states(facts, sender)]
    if min(marks_in, default=NO_TIMESTAMP) >= needed and state.doing in (
        Doing.HARD,
        Doing.BUSY,
        Doing.YIELD,
        Doing.LOCK,
    ):
        text = (
            f"{facts.task(sender)} has received the watermark and forwards it when the timers that are due have fired."
        )
        return [Cause(text, ("8.15",)), *chain(facts, state)]
    return []
