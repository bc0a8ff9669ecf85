"""Law end: how the end of a task reaches its channels (C.5, I4.a, I4.c, I4.d)."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.job_graph import JobGraph
from flowsim.units import MAX_WATERMARK
from tests.support.oracle.catalogue import Outcome
from tests.support.oracle.event_time_paths import EventTimePaths
from tests.support.oracle.facts import Facts, Findings, not_applicable
from tests.support.oracle.valve_model import IDLE

_DRAIN = 1


def end(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Holds every end of a channel against the life of its sender."""
    if not graph.channels:
        return not_applicable("end", "the job has no channels")
    lives = _lives(facts)
    operators: dict[int, int] = {}
    for operator in graph.operators:
        operators[operator.vertex] = operators.get(operator.vertex, 0) + 1
    by_channel: dict[int, list[tuple[int, int, int, int]]] = {}
    examined = 0
    for seq, task, _, channel, _, kind, timestamp, *_ in facts.rows("sent"):
        if kind not in (ElementKind.RECORD, ElementKind.LATENCY_MARKER):
            by_channel.setdefault(channel, []).append((seq, task, kind, timestamp))
            examined += kind in (ElementKind.END_OF_DATA, ElementKind.END_OF_PARTITION)
    findings = Findings(examined)
    assigned, reached = _assigned(graph), _inputs_at_the_end(facts)
    paths = EventTimePaths(graph)
    for channel in sorted(by_channel):
        maximum, idle = False, channel in assigned
        for seq, task, kind, timestamp in sorted(by_channel[channel]):
            wrong = ""
            about = graph.tasks.get(task)
            life = lives.get(task, {})
            is_restored = LifeEvent.RESTORED_AS_FINISHED in life
            running = 0 if is_restored or about is None else operators.get(about.vertex, 0)
            if kind == ElementKind.WATERMARK:
                maximum = maximum or timestamp == MAX_WATERMARK
            elif kind == ElementKind.STATUS:
                idle = timestamp == IDLE or channel in assigned
            elif about is None:
                wrong = "of a task that nobody described"
            elif kind == ElementKind.END_OF_DATA:
                due = not idle and len(reached.get(task, ())) >= about.inputs
                # FLINK-39481: timers that were interrupted send the last watermark after EndOfData.
                comes = any(k == ElementKind.WATERMARK and at == MAX_WATERMARK for _, _, k, at in by_channel[channel])
                due = due and not (paths.holds_back(about.vertex) and (comes or not whole))
                wrong = _wrong_end_of_data(timestamp == _DRAIN, maximum, due, about.inputs == 0)
                wrong = wrong or _misplaced_end_of_data(life, seq, timestamp == _DRAIN, running)
            elif kind == ElementKind.END_OF_PARTITION:
                closed = [at for at in life.get(LifeEvent.CLOSE, ()) if at < seq]
                if len(closed) < running:
                    wrong = "END_OF_PARTITION before the operators are closed"
                elif any(at < seq for at in life.get(LifeEvent.FINISHED, ())):
                    wrong = "END_OF_PARTITION after the task's end"
            if wrong:
                findings.broken(wrong, channel=channel, task=task, seq=seq)
    if not whole:
        _judge_finished(findings, graph, by_channel, lives)
    return findings.outcome("end")


def _inputs_at_the_end(facts: Facts) -> dict[int, set[int]]:
    """Per task its inputs that reached the end of event time: a task behind a source that ends while idle never does."""
    reached: dict[int, set[int]] = {}
    for _, task, _, index, kind, timestamp in facts.rows("task_watermark"):
        if kind == ElementKind.WATERMARK and timestamp == MAX_WATERMARK:
            reached.setdefault(task, set()).add(index)
    return reached


def _assigned(graph: JobGraph) -> set[int]:
    """Channels behind an operator that makes watermarks of its own: whether it may end event time, law task-watermark says."""
    paths = EventTimePaths(graph)
    edges = {e.edge for e in graph.edges.values() if paths.is_assigned(e.source_vertex, e.source_operator)}
    return {channel.channel for channel in graph.channels.values() if channel.edge in edges}


def _lives(facts: Facts) -> dict[int, dict[int, list[int]]]:
    """Per task and event the sequence numbers; operators' and the task's own."""
    lives: dict[int, dict[int, list[int]]] = {}
    for seq, task, _, _, event in facts.rows("lifecycle"):
        lives.setdefault(task, {}).setdefault(event, []).append(seq)
    return lives


def _wrong_end_of_data(drain: bool, maximum: bool, due: bool, from_source: bool) -> str:
    if drain and due and not maximum:
        return "EndOfData with drain, but no MAX_WATERMARK before it"
    if not drain and maximum and from_source:
        return "MAX_WATERMARK, but EndOfData without drain"
    return ""


def _misplaced_end_of_data(life: dict[int, list[int]], seq: int, drain: bool, operators: int) -> str:
    finished = life.get(LifeEvent.FINISH, ())
    if any(at > seq for at in finished) or (drain and len(finished) < operators):
        return "EndOfData before the operators have finished"
    if any(at < seq for at in life.get(LifeEvent.CLOSE, ())):
        return "EndOfData after an operator was closed"
    return ""


def _judge_finished(
    findings: Findings,
    graph: JobGraph,
    by_channel: dict[int, list[tuple[int, int, int, int]]],
    lives: dict[int, dict[int, list[int]]],
) -> None:
    """Rule 4.18 in a prefix; in a whole run law channel-end asks for every END_OF_PARTITION."""
    for channel in graph.channels.values():
        if lives.get(channel.source_task, {}).get(LifeEvent.FINISHED):
            kinds = [kind for _, _, kind, _ in by_channel.get(channel.channel, ())]
            if ElementKind.END_OF_PARTITION not in kinds:
                findings.broken(
                    "its sender finished, but no END_OF_PARTITION", channel=channel.channel, task=channel.source_task
                )
