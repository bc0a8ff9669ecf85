"""Why an operator has no results: what happened to the records before it, operator by operator, up to the source."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.facts.kinds import ElementKind, LifeEvent, TimeDomain, TimerAction
from flowsim.laws.java_key import owner_subtask
from flowsim.laws.job_graph import Channel, Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.quantities import count_text
from flowsim.recording.manifest import RunStatus
from flowsim.trace.places import Place
from flowsim.trace.time import event_time
from flowsim.units import NS_PER_MS
from flowsim.why.answer import Cause
from flowsim.why.event_time.held_watermark import held_causes
from flowsim.why.event_time.open_pane import open_pane_causes, pane_text
from flowsim.why.event_time.panes import panes_of, pending
from flowsim.why.lost_behind_end import lost_causes, received_records
from flowsim.why.restarts import attempt_text, early_end_causes
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waiting import chain
from flowsim.why.waits.channel_flow import flow_of
from flowsim.why.waits.source import source_causes
from flowsim.why.waits.task_state import Doing, TaskState, state_of
from flowsim.why.waits.waits_for_input import arrival_cause
from flowsim.why.waits.waits_in_element import entry_text, is_async, queue_of


@dataclass(frozen=True, slots=True)
class OperatorAt:
    """An operator, in one of its subtasks or in all."""

    operator: Operator
    subtask: int | None = None

    @property
    def name(self) -> str:
        if self.subtask is None:
            return self.operator.name
        return f"{self.operator.name}, subtask {self.subtask + 1},"

    def tasks(self, facts: RunFacts) -> list[int]:
        """The tasks that run it."""
        tasks = facts.graph.tasks_of(self.operator.vertex)
        return [task.task for task in tasks if self.subtask in (None, task.subtask)]


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
            found = None if before is None or one.operator.input_tag else _emitted(facts, task, before)
            if found is None:
                return None, None
            total, last = total + found[0], found[1] or last
    return total, last


def _emitted(facts: RunFacts, task: int, operator: Operator) -> tuple[int, Row | None] | None:
    """How many records an operator in a chain emitted while its task runs; None: it is not recorded."""
    if operator.kind == "window":
        rows = facts.rows("window_fire", task).equal(operator=operator.operator)
        return len(rows), rows.last()
    if is_async(operator):
        rows = facts.rows("async_elements", task).equal(operator=operator.operator)
        rows = rows.where(rows["rows"] > 0)
        return len(rows), rows.last()
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
    at = "" if facts.until_ns is None else f" by {facts.moment(facts.until_ns)}"
    if count is None:
        return Cause(f"The recording does not show how many rows {one.name} has {verb}{at}.")
    at = next((text for task in one.tasks(facts) if (text := attempt_text(facts, task))), "") + at
    if not count:
        return Cause(f"{one.name} has {verb} no row{at}.")
    text = f"{one.name} has {verb} {count_text(count, 'row')}{at}."
    return Cause(text, (), None if last is None else place_of(last))


def results_missing(facts: RunFacts, one: OperatorAt, tasks: frozenset[int] | None) -> list[Cause]:
    """What is still open before the output of an operator: the nearest reason; empty if nothing is open."""
    seen: set[tuple[int, int]] = set()
    while (one.operator.vertex, one.operator.operator) not in seen:
        seen.add((one.operator.vertex, one.operator.operator))
        found = _ended_early(facts, one, tasks) or _own(facts, one, tasks)
        if found:
            return found
        operator = one.operator
        if operator.input_operator >= 0:
            before = next(
                other
                for other in facts.graph.operators_of(operator.vertex)
                if other.operator == operator.input_operator
            )
            if operator.input_tag:
                return _side_output(facts, OperatorAt(before, one.subtask), operator.input_tag)
            one = OperatorAt(before, one.subtask)
            continue
        following = _over_the_network(facts, one)
        if isinstance(following, list):
            return following
        if following is None:
            return _source_ended(facts, one)
        one = following
    return []


def _ended_early(facts: RunFacts, one: OperatorAt, tasks: frozenset[int] | None) -> list[Cause]:
    """A task of the operator that failed or was canceled, and has not been restarted by the moment.

    Of a job that failed as a whole, the chain goes on with what was open then.
    """
    if facts.until_ns is None and facts.recording.status is RunStatus.FAILED:
        return []
    for task in one.tasks(facts):
        found = early_end_causes(facts, task) if tasks is None or task in tasks else []
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
                count = count_text(len(unfired[0].waiting), "record")
                text = f"{pane_text(facts, unfired[0])} has not fired at {name}; it has {count}."
                if len(unfired) > 1:
                    text += f" {count_text(len(unfired) - 1, 'more window')} of {name} not fired either."
                return [Cause(text, ("10.7",), place_of(unfired[0].waiting[-1])), *open_pane_causes(facts, unfired[0])]
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


def _timers(facts: RunFacts, task: int, operator: Operator) -> list[Cause]:
    """The earliest timer of a process function that has not fired."""
    if operator.kind in ("window", "async_wait", "watermarks"):
        return []
    open_: dict[tuple[int, ...], Row] = {}
    for row in facts.rows_of_state("timers", task).equal(operator=operator.operator):
        timer = row["domain"], row["timestamp"], row["key"], row["service"]
        if row["action"] == TimerAction.REGISTER:
            open_[timer] = row
        else:
            open_.pop(timer, None)
    if not open_:
        return []
    first = min(open_.values(), key=lambda row: (row["domain"], row["timestamp"], row["seq"]))
    name = facts.operator_in(task, operator.operator)
    key = f" of key {facts.names.key(first['key'])}" if first["key"] else ""
    if first["domain"] == TimeDomain.PROCESSING_TIME:
        due = f"{first['timestamp']:,} ms{key}, which is {facts.moment(first['timestamp'] * NS_PER_MS)} of the run"
        text = f"{name} waits with {count_text(len(open_), 'timer')}: the first one, {due}, fires by the clock."
        return [Cause(text, ("9.9", "9.10"), place_of(first))]
    text = (
        f"{name} waits with {count_text(len(open_), 'event-time timer')}. The first one, {event_time(first['timestamp'])}{key}, "
        "fires when the watermark of the operator reaches it, not when the clock does."
    )
    return [Cause(text, ("9.4", "9.7"), place_of(first)), *held_causes(facts, task, first["timestamp"])]


def _filtered(facts: RunFacts, one: OperatorAt) -> list[Cause]:
    """An operator that dropped all its records."""
    if one.operator.kind not in ("filter", "flat_map"):
        return []
    counts = [
        facts.rows("operator_counts", task).equal(operator=one.operator.operator).last() for task in one.tasks(facts)
    ]
    rows = [row for row in counts if row is not None]
    got, out = sum(row["records_in"] for row in rows), sum(row["records_out"] for row in rows)
    if not rows or not got or out:
        return []
    text = f"{one.name} has processed {count_text(got, 'record')} and emitted none: its condition or function drops all of them."
    return [Cause(text, ("13.4",), place_of(rows[0]))]


def _side_output(facts: RunFacts, one: OperatorAt, tag: str) -> list[Cause]:
    """The side output of an operator: of a window the late records."""
    drops = [
        row for task in one.tasks(facts) for row in facts.rows("late_drop", task).equal(operator=one.operator.operator)
    ]
    if one.operator.kind in ("window", "interval_join"):
        aside = [row for row in drops if row["side_output"]]
        if aside:
            return []
        intakes = [facts.rows("window_intake", task).equal(operator=one.operator.operator) for task in one.tasks(facts)]
        last = next((rows.row(-1) for rows in intakes if len(rows)), None)
        text = (
            f"Side output {tag!r} of {one.name} gets only late records, and none of the "
            f"{count_text(sum(map(len, intakes)), 'record')} of {one.name} was late."
        )
        return [Cause(text, ("10.10",), None if last is None else place_of(last))]
    return [Cause(f"{one.name} has written no record to its side output {tag!r}.", ("5.9",))]


def _over_the_network(facts: RunFacts, one: OperatorAt) -> OperatorAt | list[Cause] | None:
    """The operator before the head of a chain, or what happened to its elements on the way; None for a source."""
    tasks = one.tasks(facts)
    channels = [channel for task in tasks for channel in facts.received_by(task)]
    if not channels:
        return None
    for task in tasks:
        state = state_of(facts, task) if facts.is_full else None
        if state is not None and state.doing is Doing.NOT_STARTED:
            return chain(facts, state)
        if state is not None and state.doing in (Doing.SOFT, Doing.HARD, Doing.YIELD, Doing.LOCK):
            return [Cause(f"{state.sentence(facts)}.", ("3.28",), _begin(state)), *chain(facts, state)]
    lost = [cause for task in tasks for cause in lost_causes(facts, task)]
    if lost:
        return lost
    records = sum(len(facts.rows("received", task).equal(kind=ElementKind.RECORD)) for task in tasks)
    for channel in channels:
        flow = flow_of(facts, channel)
        sent = facts.rows("sent", channel.source_task).equal(channel=channel.channel)
        if (sent.cut(min(flow.received, len(sent)), len(sent))["kind"] == ElementKind.RECORD).any():
            return [arrival_cause(facts, flow, [flow])]
    edge = facts.graph.edges[channels[0].edge]
    if not records and edge.partitioner == "HASH" and one.subtask is not None:
        return _no_key(facts, one, channels)
    before = next(
        operator
        for operator in facts.graph.operators_of(edge.source_vertex)
        if operator.operator == edge.source_operator
    )
    if edge.side_output:
        return _side_output(facts, OperatorAt(before), edge.side_output)
    return OperatorAt(before)


def _begin(state: TaskState) -> Place | None:
    return None if state.since is None else place_of(state.since)


def _no_key(facts: RunFacts, one: OperatorAt, channels: list[Channel]) -> list[Cause]:
    """A subtask that owns no key of the run."""
    (task,) = one.tasks(facts)
    about = facts.graph.tasks[task]
    count, parallelism = about.max_parallelism, about.parallelism
    first = -(-about.subtask * count // parallelism)
    last = ((about.subtask + 1) * count - 1) // parallelism
    edges = {channel.edge for channel in channels}
    senders = {channel.source_task for channel in facts.graph.channels.values() if channel.edge in edges}
    groups: dict[str, int] = {}
    for row in facts.recording.static_rows("keys"):
        if int(row[0]) in senders:
            groups[str(row[4])] = owner_subtask(int(row[2]), count, count)
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


def _source_ended(facts: RunFacts, one: OperatorAt) -> list[Cause]:
    """The source is reached, and nothing on the way is open: it has no more records."""
    causes: list[Cause] = []
    for task in one.tasks(facts):
        life = facts.rows("lifecycle", task).equal(operator=-1)
        ended = life.equal(event=LifeEvent.FINISHED).first()
        if ended is None:
            causes += source_causes(facts, task)
    return causes
