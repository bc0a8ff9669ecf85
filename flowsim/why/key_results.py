"""``why no-output`` of a key: what operators with keys did with its records, timers and state, from the sink up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from flowsim.history.channel_flow import flow_of
from flowsim.history.key_records import KeyRecords, key_records
from flowsim.history.timers import Fate, TimerLife, keyed_vertices, lives_of
from flowsim.laws.job_graph import Operator
from flowsim.quantities import count_text
from flowsim.why.about import OperatorAt
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.key_calls import why_calls
from flowsim.why.key_state import state_causes
from flowsim.why.no_results import results_missing
from flowsim.why.restarts import attempt_text
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.timers.causes import fate_cause, life_causes, others_text
from flowsim.why.waits.waits_for_input import arrival_cause

_REDUCES: Final = ("reduce", "sum", "min", "max", "min_by", "max_by")
_OPEN: Final = (Fate.WAITS, Fate.DROPPED, Fate.LEFT)


def upstream_vertices(facts: RunFacts, operators: Iterable[Operator]) -> list[int]:
    """The vertices of operators and those before them, the nearest first; without operators all, the last first."""
    vertices = list(dict.fromkeys(operator.vertex for operator in operators))
    if not vertices:
        return sorted({task.vertex for task in facts.graph.tasks.values()}, reverse=True)
    for vertex in vertices:
        edges = [edge for edge in facts.graph.edges.values() if edge.target_vertex == vertex]
        vertices += [one for one in dict.fromkeys(edge.source_vertex for edge in edges) if one not in vertices]
    return vertices


def why_key(
    facts: RunFacts, name: str, keys: frozenset[int], operators: Sequence[Operator], tasks: frozenset[int] | None
) -> WhyAnswer | None:
    """What the nearest operator without windows that has the key did with it; None if there is none."""
    keyed = keyed_vertices(facts)
    nearest = None
    for vertex in upstream_vertices(facts, operators):
        for task in facts.graph.tasks_of(vertex) if vertex in keyed else ():
            head = next(one for one in facts.operators_of(task.task) if one.input_operator < 0)
            if head.kind == "window" or (tasks is not None and task.task not in tasks):
                continue
            found = _at(facts, name, keys, task.task, head)
            if found is not None and found[1]:
                return found[0]
            nearest = nearest or found
    calls = why_calls(facts, name, upstream_vertices(facts, operators), tasks)
    if calls is not None and (calls[1] or nearest is None):
        return calls[0]
    return nearest[0] if nearest is not None else None


def never_arrived(
    facts: RunFacts, name: str, keys: frozenset[int], operators: Sequence[Operator], tasks: frozenset[int] | None
) -> WhyAnswer | None:
    """A key whose records have not come to the nearest operator with keys; None if the job has no keyed stream."""
    keyed = keyed_vertices(facts)
    vertex = next((one for one in upstream_vertices(facts, operators) if one in keyed), None)
    if vertex is None:
        return None
    head = OperatorAt(next(one for one in facts.graph.operators_of(vertex) if one.input_operator < 0))
    for task in head.tasks(facts):
        arrived = key_records(facts, task, keys).arrived
        if arrived:
            count, place = count_text(len(arrived), "record"), place_of(arrived[-1])
            return WhyAnswer(
                Cause(
                    f"{count} of key {name} arrived at {facts.task(task)}{facts.by_moment}; no window has it yet.",
                    (),
                    place,
                )
            )
    statement = Cause(f"No record of key {name} has arrived at {head.name}{facts.by_moment}.", ("1.18",))
    return WhyAnswer(statement, tuple(results_missing(facts, head, tasks)))


def _at(facts: RunFacts, name: str, keys: frozenset[int], task: int, head: Operator) -> tuple[WhyAnswer, bool] | None:
    """The answer at one task, and whether something of the key is open there; None if it has nothing of the key."""
    records = key_records(facts, task, keys)
    lives = lives_of(facts, task, head, keys) if facts.is_full else []
    state = state_causes(facts, task, head, keys)
    if records.under_way:
        return _under_way(facts, name, task, records), True
    if lives:
        life = _chosen(facts, lives)
        count = count_text(len(records.arrived), "record")
        note = f"{count} of key {name} arrived at {facts.task(task)}{attempt_text(facts, task)}"
        others = others_text(facts, [one for one in lives if one is not life])
        causes = (*life_causes(facts, life, lives), *state)
        return WhyAnswer(fate_cause(facts, life), causes, (note, *others)), life.fate(facts) in _OPEN
    if not records.arrived and not state:
        return None
    return WhyAnswer(_without_timers(facts, name, task, head, records), tuple(state)), False


def _chosen(facts: RunFacts, lives: list[TimerLife]) -> TimerLife:
    """The first timer of the last attempt that is open; if none is, the one that ended last."""
    last = max(life.attempt for life in lives)
    of_attempt = [life for life in lives if life.attempt == last]
    open_ = [life for life in of_attempt if life.fate(facts) in _OPEN]
    if open_:
        return min(open_, key=lambda life: (life.name[0], life.timestamp))
    return max(of_attempt, key=lambda life: -1 if life.end is None else life.end["seq"])


def _under_way(facts: RunFacts, name: str, task: int, records: KeyRecords) -> WhyAnswer:
    channel, row = records.under_way[0]
    count = count_text(len(records.under_way), "record")
    text = f"{count} of key {name} {'is' if len(records.under_way) == 1 else 'are'} on the way to {facts.task(task)}."
    statement = Cause(text, ("5.1",), place_of(row), channel=channel.channel)
    flow = flow_of(facts, channel)
    return WhyAnswer(statement, (arrival_cause(facts, flow, [flow]),))


def _without_timers(facts: RunFacts, name: str, task: int, head: Operator, records: KeyRecords) -> Cause:
    """An operator that has got records of a key and has set no timer for it."""
    at = facts.operator_in(task, head.operator)
    count = count_text(len(records.arrived), "record")
    place = place_of(records.arrived[-1]) if records.arrived else None
    text = f"{count} of key {name} arrived at {at}{attempt_text(facts, task)}"
    if head.kind in _REDUCES:
        return Cause(f"{text}. It has no timers: it emits a result for each record.", ("13.4",), place)
    if "process" not in head.kind:
        return Cause(f"{text}.", ("1.18",), place)
    if facts.is_full:
        return Cause(f"{text}, and none of them registered a timer.", ("9.1",), place)
    return Cause(f"{text}. Timers and state need a recording of level full.", (), place)
