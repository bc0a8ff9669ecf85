"""Why the watermark of a task has not reached a time: the channel that holds it back, up to the source or generator."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import number_of
from flowsim.trace.places import Place
from flowsim.trace.sentence import count_text
from flowsim.trace.time import duration_text, event_time
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.why.alignment import alignment_causes, paused_row
from flowsim.why.answer import Cause
from flowsim.why.channel_flow import flow_of
from flowsim.why.channel_states import ChannelState, channel_states
from flowsim.why.generators import formula, generator_of, strategy_of
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.task_state import Doing, state_of
from flowsim.why.waiting import chain
from flowsim.why.waits_for_input import arrival_cause, source_causes
from flowsim.why.waits_in_element import is_async, queue_of


def watermark_text(timestamp: int) -> str:
    return "no watermark yet" if timestamp == NO_TIMESTAMP else f"watermark {event_time(timestamp)}"


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
            return [*causes, *_generator(facts, sender, operator, needed), *ended]
        if not facts.graph.tasks[sender].inputs:
            return [*causes, *_source(facts, sender), *ended]
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
    last = holder.watermark_row or row
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


def _source(facts: RunFacts, task: int) -> list[Cause]:
    """A source without a strategy: it emits its own watermarks, or none."""
    marks = facts.rows("sent", task).equal(kind=ElementKind.WATERMARK)
    last = marks.last()
    if last is None:
        text = f"{facts.task(task)} has emitted no watermark, and no watermark strategy is set for its records."
        return [Cause(text, ("8.8", "8.18"), _last_place(facts, task)), *source_causes(facts, task)]
    text = (
        f"{facts.task(task)} emits its own watermarks. The last one was {event_time(last['timestamp'])}, "
        f"at {facts.moment(last['time_ns'])}."
    )
    return [Cause(text, ("8.18",), place_of(last)), *source_causes(facts, task)]


def _generator(facts: RunFacts, task: int, operator: Operator, needed: int) -> list[Cause]:
    """Why a watermark strategy has not emitted the watermark."""
    strategy, name = strategy_of(operator) or {}, facts.operator_in(task, operator.operator)
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator)
    whole = rows.equal(split=-1, kind=ElementKind.WATERMARK)
    last, seen = whole.last(), _last_record(facts, task)
    causes = _splits(facts, task, operator)
    bound = number_of(strategy, "bound_ms")
    if last is None:
        if seen is None:
            text = f"{name} has generated no watermark, because no record has come: a generator makes its watermark from records."
            causes.append(Cause(text, ("8.1", "8.6"), _last_place(facts, task)))
        else:
            at, when = facts.moment(seen["time_ns"]), _when(facts, strategy)
            text = f"{name} has generated no watermark yet. Its last record came at {at}; {when}."
            causes.append(Cause(text, ("8.1", "8.2"), place_of(seen)))
    else:
        text = (
            f"{name} generated watermark {event_time(last['timestamp'])} after {count_text(last['records'], 'record')}"
        )
        if last["max_timestamp"] != NO_TIMESTAMP and strategy.get("kind") == "bounded":
            text += f": {formula(last, bound)}"
        text += "."
        if seen is not None:
            text += f" Its last record came at {facts.moment(seen['time_ns'])}, with timestamp {event_time(seen['timestamp'])}."
        causes.append(Cause(text, ("8.1",), place_of(last)))
    if strategy.get("kind") == "bounded" and needed != MAX_WATERMARK:
        text = f"The watermark reaches {event_time(needed)} with a record of timestamp {event_time(needed + bound + 1)} or later."
        causes.append(Cause(text, ("8.1",)))
    causes.append(_idleness(facts, task, operator, seen))
    if not facts.graph.tasks[task].inputs:
        paused = paused_row(facts, task)
        causes += alignment_causes(facts, task, paused) if paused is not None else _why_no_record(facts, task)
    return causes


def _why_no_record(facts: RunFacts, task: int) -> list[Cause]:
    if facts.is_full:
        state = state_of(facts, task)
        if state.doing in (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK):
            text = f"{state.sentence(facts)}."
            return [
                Cause(text, ("3.28",), None if state.since is None else place_of(state.since)),
                *chain(facts, state),
            ]
        if state.doing is not Doing.IDLE:
            return []
    return source_causes(facts, task)


def _when(facts: RunFacts, strategy: object) -> str:
    interval = facts.recording.manifest.run.settings.get("auto_watermark_interval")
    if isinstance(interval, int) and not (isinstance(strategy, dict) and strategy.get("per_record")):
        return f"it emits watermarks every {duration_text(interval * NS_PER_MS)}"
    return "it emits watermarks with its records"


def _idleness(facts: RunFacts, task: int, operator: Operator, seen: Row | None) -> Cause:
    """Whether the strategy is idle, and why not."""
    strategy = strategy_of(operator) or {}
    idle_ms = number_of(strategy, "idle_ms")
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator, split=-1)
    status = rows.equal(kind=ElementKind.STATUS).last()
    now_ns = facts.until_ns or facts.end_ns
    timeout = duration_text(idle_ms * NS_PER_MS)
    if not idle_ms:
        text = f"{operator.name} is not idle, because no idle timeout is set: the watermark waits for it for ever."
        return Cause(text, ("8.4",), None if seen is None else place_of(seen))
    if status is not None and status["timestamp"] == -1:
        text = (
            f"{operator.name} is idle since {facts.moment(status['time_ns'])}, after its idle timeout of {timeout}. Other "
            "channels need not wait for it, but idleness creates no watermark."
        )
        return Cause(text, ("8.4",), place_of(status))
    since = "" if seen is None else f", and its last record came {duration_text(max(0, now_ns - seen['time_ns']))} ago"
    text = (
        f"{operator.name} is not idle: its idle timeout is {timeout}{since}. The timeout does not run while the task waits "
        "for output or for watermark alignment."
    )
    return Cause(text, ("8.4",), None if seen is None else place_of(seen))


def _splits(facts: RunFacts, task: int, operator: Operator) -> list[Cause]:
    """The split that holds back the watermark of a source with several splits."""
    states: dict[int, Row] = {}
    idle: dict[int, bool] = {}
    for row in facts.rows("generated_watermark", task).equal(operator=operator.operator):
        if row["split"] >= 0:
            if row["kind"] == ElementKind.WATERMARK:
                states[row["split"]], idle[row["split"]] = row, False
            else:
                idle[row["split"]] = row["timestamp"] == -1
    named = operator.params.get("splits")
    subtask = facts.graph.tasks[task].subtask
    splits = named[subtask] if isinstance(named, list) and len(named) > subtask else []
    count = max(len(splits), len(states))
    if count < 2:
        return []

    def name_of(split: int) -> str:
        return f"split {splits[split]!r}" if split < len(splits) else f"split {split}"

    lines = []
    for split in range(count):
        row_of = states.get(split)
        watermark = NO_TIMESTAMP if row_of is None else row_of["timestamp"]
        lines.append(
            (watermark, split, f"{name_of(split)}: {watermark_text(watermark)}{', idle' if idle.get(split) else ''}")
        )
    active = [line for line in lines if not idle.get(line[1])] or lines
    lowest = min(active)
    holds = f"{name_of(lowest[1])} has {watermark_text(lowest[0])}"
    text = f"The watermark of {operator.name} is the minimum over its splits: {holds}."
    place = states.get(lowest[1])
    return [Cause(text, ("8.6",), None if place is None else place_of(place), tuple(line[2] for line in lines))]


def _last_record(facts: RunFacts, task: int) -> Row | None:
    """The last record that the generator of a task saw: received, or of a source sent."""
    table = "received" if facts.graph.tasks[task].inputs else "sent"
    return facts.rows(table, task).equal(kind=ElementKind.RECORD).last()


def _last_place(facts: RunFacts, task: int) -> Place | None:
    life = facts.rows("lifecycle", task).last()
    return None if life is None else place_of(life)
