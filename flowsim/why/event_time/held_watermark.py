"""Why the watermark of a task has not reached a time: the channel that holds it back, up to the source or generator."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.history.async_elements import is_async
from flowsim.history.channel_flow import counted, flow_of
from flowsim.history.task_states import Doing, state_of
from flowsim.history.task_watermark import task_watermark, task_watermarks
from flowsim.history.valve import ChannelState, channel_states
from flowsim.history.watermark_strategies import generator_of, strategy_of
from flowsim.laws.job_graph import Channel
from flowsim.quantities import count_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.event_time.channel_texts import channel_text
from flowsim.why.event_time.held_generator import generator_causes, source_watermark_causes
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of
from flowsim.why.sentence import watermark_text
from flowsim.why.waiting import wait_and_causes
from flowsim.why.waits.waits_for_input import arrival_cause
from flowsim.why.waits.waits_in_element import queue_of


def held_causes(facts: RunFacts, task: int, needed: int) -> list[Cause]:
    """Why the watermark of a task is below ``needed`` at the moment of the facts."""
    causes: list[Cause] = []
    seen = set()
    while task not in seen and facts.graph.tasks[task].inputs:
        seen.add(task)
        watermark = task_watermark(facts, task).time_ms
        states = channel_states(facts, task)
        if watermark >= needed or not states:
            return causes
        holder = _holder(facts, task, states)
        causes.append(_holder_cause(facts, task, watermark, states, holder))
        if holder.watermark >= needed:
            return causes
        sender, channel = holder.channel.source_task, holder.channel
        under_way = _under_way(facts, holder, needed)
        if under_way is not None:
            return [*causes, *under_way]
        causes += _idle_under_way(facts, holder)
        ended = _ended(facts, holder)
        if ended and holder.end_of_data is not None and holder.end_of_data["timestamp"]:
            return [*causes, *ended]
        queued = _in_a_queue(facts, channel, needed)
        if queued:
            return [*causes, *queued]
        operator = generator_of(facts, channel)
        if operator is not None:
            return [*causes, *generator_causes(facts, sender, operator, needed), *ended]
        if not facts.graph.tasks[sender].inputs:
            return [*causes, *source_watermark_causes(facts, channel), *ended]
        if task_watermark(facts, sender).time_ms >= needed:
            return [*causes, *_not_forwarded(facts, holder, needed)]
        task = sender
    return causes


def _holder(facts: RunFacts, task: int, states: list[ChannelState]) -> ChannelState:
    """The channel that holds back the watermark: the lowest that counts of the lowest input; if all are idle, the highest."""
    merged = task_watermark(facts, task)
    if merged.active:
        chosen = min(merged.active, key=lambda number: (merged.inputs[number], number))
    else:
        chosen = max(range(len(merged.inputs)), key=lambda number: (merged.inputs[number], -number))
    own = [state for state in states if state.channel.input == chosen]
    waited_for = [state for state in own if state.is_aligned and not state.is_idle]
    if waited_for:
        return min(waited_for, key=lambda one: (one.watermark, one.end_of_data is not None, one.channel.channel))
    behind = [state for state in own if not state.is_idle]
    return max(behind or own, key=lambda state: (state.watermark, -state.channel.channel))


def _holder_cause(
    facts: RunFacts, task: int, watermark: int, states: list[ChannelState], holder: ChannelState
) -> Cause:
    row = facts.rows("task_watermark", task).equal(kind=ElementKind.WATERMARK).last()
    last = holder.watermark_row or row or facts.rows("received", task).last()
    place = None if last is None else place_of(last)
    lines = tuple(channel_text(facts, state) for state in states)
    text, name = f"{facts.task(task)} has {watermark_text(watermark)}", f"hannel{facts.from_(holder.channel)[7:]}"
    rules = ("8.9", "8.16") if len({state.channel.input for state in states}) > 1 else ("8.9",)
    if all(state.is_idle for state in states):
        which = "its only channel is" if len(states) == 1 else f"its {len(states)} channels are all"
        text += f", and {which} idle. Idleness creates no watermark: the watermark stays where it is."
        rules = ("8.4", "8.10")
    elif not holder.is_aligned:
        text += f": it does not decrease, and c{name}, which was idle, is behind it with {watermark_text(holder.watermark)}."
        rules = ("8.11", "8.13")
    elif holder.watermark > watermark and len(rules) == 1:
        text += (
            f". C{name} became active with {watermark_text(holder.watermark)}, but becoming active emits no watermark: the next "
            "watermark of a channel that counts does."
        )
        rules = ("8.12",)
    elif len(states) == 1:
        text += f": that of its only channel, from {facts.task(holder.channel.source_task)}."
    else:
        idle = sum(state.is_idle for state in states)
        but = f" ({count_text(idle, 'idle channel')} not counted)" if idle else ""
        text += (
            f": the minimum over the channels that it waits for{but}. "
            f"C{name} holds it back with {watermark_text(holder.watermark)}."
        )
    return Cause(text, rules, place, lines, holder.channel.channel)


def _under_way(facts: RunFacts, holder: ChannelState, needed: int) -> list[Cause] | None:
    """A watermark that is high enough, which the sender has sent and the task has not read."""
    channel, flow = holder.channel, flow_of(facts, holder.channel)
    later = _unread(facts, channel, ElementKind.WATERMARK)
    row = later.where(later["timestamp"] >= needed).first()
    if row is None:
        return None
    text = (
        f"{facts.task(channel.source_task)} has sent watermark {event_time(row['timestamp'])}, but "
        f"{facts.task(channel.target_task)} has not read it{_read_later(facts, channel, row)}."
    )
    causes = [Cause(text, ("8.18", "I7.b"), place_of(row), channel=channel.channel), arrival_cause(facts, flow, [flow])]
    if facts.is_full and (flow.held or flow.queued):
        causes += wait_and_causes(facts, state_of(facts, channel.target_task))
    return causes


def _idle_under_way(facts: RunFacts, holder: ChannelState) -> list[Cause]:
    """That the sender has become idle, which the task has not read."""
    channel, row = holder.channel, _unread(facts, holder.channel, ElementKind.STATUS).last()
    if holder.is_idle or row is None or row["timestamp"] != -1:
        return []
    text = (
        f"{facts.task(channel.source_task)} has sent that it is idle, but {facts.task(channel.target_task)} has not read it"
        f"{_read_later(facts, channel, row)}."
    )
    return [Cause(text, ("8.10", "8.18"), place_of(row), channel=channel.channel)]


def _unread(facts: RunFacts, channel: Channel, kind: ElementKind) -> Rows:
    """What the sender has sent, and the receiver has not read."""
    sent = counted(facts.rows("sent", channel.source_task).equal(channel=channel.channel))
    return sent.cut(flow_of(facts, channel).received, len(sent)).equal(kind=kind)


def _read_later(facts: RunFacts, channel: Channel, sent: Row) -> str:
    """When the receiver reads an element, for the end of a sentence; '' if the recording does not show it."""
    whole = facts.whole.rows("received", channel.target_task).equal(channel=channel.channel, position=sent["position"])
    read = whole.equal(kind=sent["kind"], timestamp=sent["timestamp"]).first()
    return "" if read is None else f": it reads it at {facts.moment(read['time_ns'])}"


def _ended(facts: RunFacts, holder: ChannelState) -> list[Cause]:
    """The sender has ended its data, and the last watermark was not MAX."""
    end, sender = holder.end_of_data, holder.channel.source_task
    if end is None:
        return []
    name = facts.task(sender)
    if not end["timestamp"]:
        text = f"{name} has ended its data without drain: it sent no MAX watermark, so event time did not end."
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
    row = facts.all_rows("lifecycle").equal(event=LifeEvent.STOP_NO_DRAIN).last()
    if row is None:
        return []
    text = f"A stop without drain reached {facts.task(row['task'])}. A source that stops with drain sends MAX."
    return [Cause(text, ("4.20",), place_of(row))]


def _in_a_queue(facts: RunFacts, channel: Channel, needed: int) -> list[Cause]:
    """A watermark that is high enough, in the queue of an async operator on the way to a channel."""
    sender, number = channel.source_task, facts.graph.edges[channel.edge].source_operator
    while (operator := facts.operator(sender, number)) is not None and strategy_of(operator) is None:
        number = operator.input_operator
        if not is_async(operator):
            continue
        entries = queue_of(facts, sender, operator.operator)
        marks = [entry for entry in entries if entry.put["kind"] == ElementKind.WATERMARK]
        mark = next((entry for entry in marks if entry.put["timestamp"] >= needed), None)
        if mark is None:
            continue
        before = [entry for entry in entries if entry.put["entry"] < mark.put["entry"]]
        records = sum(entry.put["kind"] == ElementKind.RECORD for entry in before)
        text = (
            f"Watermark {event_time(mark.put['timestamp'])} is in the queue of {operator.name}: it leaves after "
            f"{count_text(records, 'record')} before it."
        )
        return [Cause(text, ("11.2", "11.11"), place_of(mark.put))]
    return []


def _not_forwarded(facts: RunFacts, holder: ChannelState, needed: int) -> list[Cause]:
    """The sender has the watermark, and its operators have not forwarded it."""
    channel, sender = holder.channel, holder.channel.source_task
    row, watermark = next(pair for pair in task_watermarks(facts, sender) if pair[1] >= needed)
    text = f"{facts.task(sender)} has watermark {event_time(watermark)} since {facts.moment(row['time_ns'])}"
    sent = facts.rows("sent", sender).equal(channel=channel.channel)
    status = sent.equal(kind=ElementKind.STATUS).last()
    if status is not None and status["timestamp"] == -1:
        text += ", but its output is idle, and an idle output drops watermarks."
        return [Cause(text, ("5.8", "8.17"), place_of(status), channel=channel.channel)]
    later = facts.later_rows("sent", sender).equal(channel=channel.channel, kind=ElementKind.WATERMARK)
    forwarded = later.where(later["timestamp"] >= needed).first()
    when = "" if forwarded is None else f": it sends it at {facts.moment(forwarded['time_ns'])}"
    text += f", and has not sent it{when}. An operator fires its due timers before it forwards a watermark."
    causes = [Cause(text, ("8.15",), place_of(row))]
    if facts.is_full:
        state = state_of(facts, sender)
        if state.doing in (Doing.HARD, Doing.BUSY, Doing.YIELD, Doing.LOCK):
            causes += wait_and_causes(facts, state)
    return causes
