"""Why an operator has no results: what happened to the records before it, operator by operator, up to the source."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import AsyncAction, ElementKind, LifeEvent, TimerAction
from flowsim.history.async_elements import is_async
from flowsim.history.attempts import is_restarted
from flowsim.history.channel_flow import counted, flow_of
from flowsim.history.lateness import received_records
from flowsim.history.task_states import STUCK, Doing, TaskState, is_at_end_of_input, state_of
from flowsim.history.timers import TimerLife, later_end, open_timers
from flowsim.history.windows import Pane, fires_of, panes_of, pending
from flowsim.laws.java_key import owned_groups, owner_subtask
from flowsim.laws.job_graph import Channel, Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.quantities import count_text
from flowsim.trace.places import Place
from flowsim.trace.time import event_time
from flowsim.units import MAX_WATERMARK, NS_PER_MS
from flowsim.why.about import OperatorAt
from flowsim.why.answer import Cause
from flowsim.why.event_time.held_watermark import held_causes
from flowsim.why.event_time.open_pane import open_pane_causes, pane_text
from flowsim.why.lost_behind_end import lost_causes
from flowsim.why.restarts import attempt_text, early_end_causes
from flowsim.why.restored_state import besides_text, restored_timers_causes, snapshot_of_another_run
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waiting import chain
from flowsim.why.waits.source import source_causes
from flowsim.why.waits.state_texts import state_text
from flowsim.why.waits.waits_for_input import arrival_cause
from flowsim.why.waits.waits_in_element import entry_text, queue_of

_ENDS = (LifeEvent.FINISHED, LifeEvent.CANCELED, LifeEvent.FAILED)


def records_in(facts: RunFacts, one: OperatorAt) -> tuple[int | None, Row | None]:
    """How many records an operator has received, and the last fact that shows one; None: it is not recorded."""
    total, last = 0, None
    for task in one.tasks(facts):
        counts = facts.rows("operator_counts", task).equal(operator=one.operator.operator).last()
        if one.operator.input_operator < 0:
            rows = received_records(facts, task)[0]
            total, last = total + len(rows), rows.last() or last
        elif counts is not None:
            total, last = total + counts["records_in"], counts
        else:
            before = facts.operator(task, one.operator.input_operator)
            found = None if before is None else _emitted(facts, task, before, one.operator.input_tag)
            if found is None:
                return None, None
            total, last = total + found[0], found[1] or last
    return total, last


def _emitted(facts: RunFacts, task: int, operator: Operator, tag: str = "") -> tuple[int, Row | None] | None:
    """How many records an operator in a chain emitted while its task runs; None: it is not recorded."""
    if tag:
        if operator.kind not in ("window", "interval_join") or operator.params.get("late_tags") != [tag]:
            return None
        rows = facts.rows("late_drop", task).equal(operator=operator.operator, side_output=1)
        return len(rows), rows.last()
    if is_async(operator):
        rows = facts.rows("async_elements", task).equal(operator=operator.operator, action=AsyncAction.EMIT)
        return int(rows["rows"].sum()), rows.where(rows["rows"] > 0).last()
    if operator.kind == "window":
        # A firing emits what the window function gives, which is not recorded.
        rows = facts.rows("window_fire", task).equal(operator=operator.operator)
        return None if len(fires_of(rows)) else (0, None)
    return None


def rows_out(facts: RunFacts, one: OperatorAt) -> int | None:
    """How many rows a sink has received or an operator has emitted; None: it is not recorded."""
    if one.operator.kind == "sink":
        return records_in(facts, one)[0]
    total = 0
    for task in one.tasks(facts):
        counts = facts.rows("operator_counts", task).equal(operator=one.operator.operator).last()
        found = (counts["records_out"], None) if counts is not None else _emitted(facts, task, one.operator)
        if found is None:
            return None
        total += found[0]
    return total


def output_text(facts: RunFacts, one: OperatorAt) -> Cause:
    """How much output there is."""
    count, verb = rows_out(facts, one), "received" if one.operator.kind == "sink" else "emitted"
    last = records_in(facts, one)[1] if one.operator.kind == "sink" else None
    at = facts.by_moment
    if count is None:
        return Cause(f"The recording does not show how many rows {one.name} has {verb}{at}.")
    at = _attempts(facts, one) + at
    if not count:
        return Cause(f"{one.name} has {verb} no row{at}.")
    text = f"{one.name} has {verb} {count_text(count, 'row')}{at}."
    return Cause(text, (), None if last is None else place_of(last))


def _attempts(facts: RunFacts, one: OperatorAt) -> str:
    """The attempts of an operator's tasks, for the end of a sentence; '' if none was restarted."""
    texts = {task: attempt_text(facts, task) for task in one.tasks(facts)}
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "")
    return " in " + ", ".join(f"attempt {facts.attempt_of(task)} of {facts.task(task)}" for task in texts)


def results_missing(facts: RunFacts, one: OperatorAt, tasks: frozenset[int] | None) -> list[Cause]:
    """What is still open before the output of an operator: the nearest reason; empty if nothing is open."""
    return _missing(facts, one, tasks, set())


def _missing(facts: RunFacts, one: OperatorAt, tasks: frozenset[int] | None, seen: set[tuple[int, int]]) -> list[Cause]:
    operator = one.operator
    if (operator.vertex, operator.operator) in seen:
        return []
    seen.add((operator.vertex, operator.operator))
    found = _ended_early(facts, one, tasks) or _own(facts, one, tasks)
    if found:
        return found
    if operator.input_operator >= 0:
        before = OperatorAt(_operator_of(facts, operator.vertex, operator.input_operator), one.subtask)
        aside = _side_output(facts, before, operator.input_tag) if operator.input_tag else []
        return aside or _missing(facts, before, tasks, seen)
    channels = [channel for task in one.tasks(facts) for channel in facts.received_by(task)]
    if not channels:
        return _sources(facts, one)
    found = _on_the_way(facts, one, channels)
    edges = {channel.edge: facts.graph.edges[channel.edge] for channel in channels}
    for edge in edges.values():
        if found:
            break
        before = OperatorAt(_operator_of(facts, edge.source_vertex, edge.source_operator))
        of_edge = [channel for channel in channels if channel.edge == edge.edge]
        if edge.side_output and not _records(facts, of_edge):
            found = _side_output(facts, before, edge.side_output)
        if edge.partitioner == "HASH" and one.subtask is not None and not _records(facts, of_edge):
            found = _no_key(facts, one, of_edge)
        found = found or _missing(facts, before, tasks, seen)
    return found


def _operator_of(facts: RunFacts, vertex: int, operator: int) -> Operator:
    return next(one for one in facts.graph.operators_of(vertex) if one.operator == operator)


def _records(facts: RunFacts, channels: list[Channel]) -> int:
    """How many records came over the channels."""
    of_channels = [
        facts.rows("received", channel.target_task).equal(kind=ElementKind.RECORD, channel=channel.channel)
        for channel in channels
    ]
    return sum(map(len, of_channels))


def _ended_early(facts: RunFacts, one: OperatorAt, tasks: frozenset[int] | None) -> list[Cause]:
    """A task of the operator that failed or was canceled, and has not been restarted by the moment.

    Of a job that failed as a whole, or was ended, the chain goes on with what was open then.
    """
    for task in one.tasks(facts):
        if (tasks is None or task in tasks) and (facts.until_ns is not None or is_restarted(facts, task)):
            found = early_end_causes(facts, task)
            if found:
                return found
    return []


def _own(facts: RunFacts, one: OperatorAt, tasks: frozenset[int] | None) -> list[Cause]:
    """The reason inside the operator itself."""
    operator = one.operator
    plan = window_plan(operator)
    for task in one.tasks(facts):
        if tasks is not None and task not in tasks:
            continue
        if plan is not None:
            unfired = pending(panes_of(facts, task, operator, plan))
            if unfired:
                name = facts.operator_in(task, operator.operator)
                text = (
                    f"{pane_text(facts, unfired[0])} has not fired at {name}; it has {waiting_text(facts, unfired[0])}."
                )
                if len(unfired) > 1:
                    text += f" {count_text(len(unfired) - 1, 'more window')} of {name} not fired either."
                return [Cause(text, ("10.7",), place_of(unfired[0].waiting[-1])), *open_pane_causes(facts, unfired[0])]
            restored = restored_timers_causes(facts, task, operator)
            if restored:
                return [*restored, *held_causes(facts, task, MAX_WATERMARK)]
        if is_async(operator):
            entries = queue_of(facts, task, operator.operator)
            if entries:
                name = facts.operator_in(task, operator.operator)
                text = f"{name} has {count_text(len(entries), 'element')} in its queue: {entry_text(facts, task, entries[0])}."
                return [Cause(text, ("11.13",), place_of(entries[0].put))]
        waiting = _timers(facts, task, operator)
        if waiting:
            return waiting
    return _filtered(facts, one)


def waiting_text(facts: RunFacts, pane: Pane) -> str:
    """The records of a window that no firing has included, as text."""
    snapshot = snapshot_of_another_run(facts, pane.task, pane.operator, pane.waiting[-1]["key_hash"])
    return count_text(len(pane.waiting), "record") + besides_text(snapshot)


def _timers(facts: RunFacts, task: int, operator: Operator) -> list[Cause]:
    """The earliest timer of a process function that has not fired."""
    if operator.kind in ("window", "interval_join", "async_wait", "watermarks"):
        return []
    timers = open_timers(facts, task, operator)
    if not timers:
        return []
    first = min(timers, key=lambda life: life.name[:2])
    count = sum(life.is_event_time is first.is_event_time for life in timers)
    name = facts.operator_in(task, operator.operator)
    key = facts.of_key(first.key)
    place = None if first.registered is None else place_of(first.registered)
    if not first.is_event_time:
        due = f"{first.timestamp:,} ms{key}, which is {facts.moment(first.timestamp * NS_PER_MS)} of the run"
        text = f"{name} waits with {count_text(count, 'processing-time timer')}: the first one, {due}, {_firing(facts, first)}."
        return [Cause(text, ("9.9", "9.10"), place)]
    text = (
        f"{name} waits with {count_text(count, 'event-time timer')}. The first one, {event_time(first.timestamp)}{key}, "
        "fires when the watermark of the operator reaches it, not when the clock does."
    )
    return [Cause(text, ("9.4", "9.7"), place), *held_causes(facts, task, first.timestamp)]


def _firing(facts: RunFacts, timer: TimerLife) -> str:
    """What the recording shows after the moment of a processing-time timer, for the end of a sentence."""
    step = later_end(facts, timer)
    if step is not None:
        verb = "fires" if step["action"] == TimerAction.FIRE else "is deleted"
        return f"{verb} at {facts.moment(step['time_ns'])}"
    life = facts.whole.rows("lifecycle", timer.task).equal(operator=-1)
    end = life.where(np.isin(life["event"], _ENDS)).first()
    if end is not None:
        return f"does not fire before the task ends, at {facts.moment(end['time_ns'])}"
    return "does not fire in the recording"


def _filtered(facts: RunFacts, one: OperatorAt) -> list[Cause]:
    """An operator that dropped all its records."""
    if one.operator.kind not in ("filter", "flat_map"):
        return []
    rows = _counts(facts, one)
    got = sum(row["records_in"] for row in rows or ())
    if rows is None or not got or any(row["records_out"] or row["records_side"] for row in rows):
        return []
    text = f"{one.name} has processed {count_text(got, 'record')} and emitted none: its condition or function drops all of them."
    return [Cause(text, ("13.4",), place_of(rows[0]))]


def _counts(facts: RunFacts, one: OperatorAt) -> list[Row] | None:
    """The final counters of an operator in each of its tasks; None while a task runs."""
    rows = [
        facts.rows("operator_counts", task).equal(operator=one.operator.operator).last() for task in one.tasks(facts)
    ]
    known = [row for row in rows if row is not None]
    return known if len(known) == len(rows) else None


def _side_output(facts: RunFacts, one: OperatorAt, tag: str) -> list[Cause]:
    """The side output of an operator, if it got nothing: of a window the late records."""
    if one.operator.kind in ("window", "interval_join"):
        tables = ("late_drop", "window_intake")
        late, intakes = (
            [facts.rows(table, task).equal(operator=one.operator.operator) for task in one.tasks(facts)]
            for table in tables
        )
        if any(map(len, late)):
            return []
        last = next((rows.row(-1) for rows in intakes if len(rows)), None)
        text = (
            f"Side output {tag!r} of {one.name} gets only late records, and none of the "
            f"{count_text(sum(map(len, intakes)), 'record')} of {one.name} was late."
        )
        return [Cause(text, ("10.10",), None if last is None else place_of(last))]
    rows = _counts(facts, one)
    if rows is None or any(row["records_side"] for row in rows):
        return []
    return [Cause(f"{one.name} has written no record to its side output {tag!r}.", ("5.9",))]


def _on_the_way(facts: RunFacts, one: OperatorAt, channels: list[Channel]) -> list[Cause]:
    """What happened to the elements before the head of a chain."""
    tasks = one.tasks(facts)
    for task in tasks:
        state = state_of(facts, task) if facts.is_full else None
        if state is not None and state.doing is Doing.NOT_STARTED:
            return chain(facts, state)
        if state is not None and state.doing in STUCK:
            return [Cause(f"{state_text(facts, state)}.", ("3.28",), _begin(state)), *chain(facts, state)]
    lost = [cause for task in tasks for cause in lost_causes(facts, task)]
    if lost:
        return lost
    for channel in channels:
        flow = flow_of(facts, channel)
        sent = counted(facts.rows("sent", channel.source_task).equal(channel=channel.channel))
        if (sent.cut(min(flow.received, len(sent)), len(sent))["kind"] == ElementKind.RECORD).any():
            return [arrival_cause(facts, flow, [flow])]
    return []


def _begin(state: TaskState) -> Place | None:
    return None if state.since is None else place_of(state.since)


def _no_key(facts: RunFacts, one: OperatorAt, channels: list[Channel]) -> list[Cause]:
    """A subtask that owns no key of the run; empty if a key belongs to it."""
    (task,) = one.tasks(facts)
    about = facts.graph.tasks[task]
    count, parallelism = about.max_parallelism, about.parallelism
    first, last = owned_groups(about.subtask, parallelism, count)
    edges = {channel.edge for channel in channels}
    groups: dict[str, int] = {}
    for channel in facts.graph.channels.values():
        if channel.edge in edges:
            sent = facts.of_run.rows("sent", channel.source_task).equal(
                channel=channel.channel, kind=ElementKind.RECORD
            )
            for key, key_hash in dict(zip(sent["key"].tolist(), sent["key_hash"].tolist(), strict=True)).items():
                groups[facts.names.key(key)] = owner_subtask(key_hash, count, count)
    if not groups or any(first <= group <= last for group in groups.values()):
        return []
    text = (
        f"No key of the run belongs to {facts.task(task)}: it owns the key groups {first} to {last} of {count}, and the "
        f"{count_text(len(groups), 'key')} of the run have other groups. A key's group is the murmur hash of its Java hash; "
        "nothing balances them."
    )
    lines = tuple(
        f"key {key}: group {group}, subtask {group * parallelism // count + 1}"
        for key, group in list(groups.items())[:16]
    )
    life = facts.rows("lifecycle", task).last()
    return [Cause(text, ("1.18", "1.19", "1.20"), None if life is None else place_of(life), lines)]


def missing_key(facts: RunFacts, keys: frozenset[int], operator: Operator) -> list[Cause]:
    """Where the records of a key went, if the operator got none of them."""
    seen = {int(row[0]) for row in facts.recording.static_rows("keys") if int(row[1]) in keys}
    names = ", ".join(facts.task(task) for task in sorted(seen)) or "no task"
    return [Cause(f"{operator.name} got no record of this key; it appears in {names}.", ("1.18",))]


def _sources(facts: RunFacts, one: OperatorAt) -> list[Cause]:
    """The source is reached, and nothing on the way is open: what its tasks do that have not ended their data."""
    causes: list[Cause] = []
    for task in one.tasks(facts):
        if is_at_end_of_input(facts, task):
            continue
        state = state_of(facts, task) if facts.is_full else None
        if state is None or state.doing is Doing.IDLE:
            causes += source_causes(facts, task)
        elif state.doing is not Doing.ENDED:
            causes += [Cause(f"{state_text(facts, state)}.", ("3.28",), _begin(state)), *chain(facts, state)]
    return causes
