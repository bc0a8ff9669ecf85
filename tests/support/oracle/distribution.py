"""Laws distribution and key-routing: every record goes where the partitioner of its edge sends it, over the channels that the
partitioner has (sections 1 and 2)."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import ceil, floor

from flowsim.facts.kinds import ElementKind, SegmentAction
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, not_applicable

_POINTWISE = {"FORWARD", "RESCALE"}
_ALL_TO_ALL = {"GLOBAL", "CUSTOM", "REBALANCE", "BROADCAST", "SHUFFLE"}


def distribution(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Replays every writer record by record."""
    names = {edge.partitioner.split(" ")[0] for edge in graph.edges.values()}
    if not names & (_POINTWISE | _ALL_TO_ALL):
        return not_applicable("distribution", "every edge is keyed")
    findings = Findings(0)
    judge_channels(findings, graph, names & (_POINTWISE | _ALL_TO_ALL))
    written: dict[tuple[int, int], list[Row]] = {}
    senders = {channel.source_task for channel in graph.channels.values()}
    for row in sorted(facts.rows("sent"), key=lambda row: (row[1], row[0])):
        seq, task, _, number, _, kind, *_ = row
        channel = graph.channels.get(number)
        if channel is None or channel.source_task != task:
            if task in senders:
                findings.rows_examined += 1
                findings.broken("a channel of another task", task=task, seq=seq, channel=number)
        elif (
            kind == ElementKind.RECORD
            and graph.edges[channel.edge].partitioner.split(" ")[0] in _POINTWISE | _ALL_TO_ALL
        ):
            written.setdefault((task, channel.edge), []).append(row)
    for (task, edge), rows in written.items():
        findings.rows_examined += len(rows)
        if " adaptive" in graph.edges[edge].partitioner and len(_readers(graph, task, edge)) > 1:
            _replay_adaptive(findings, facts, graph, task, edge, rows)
        else:
            _replay(findings, graph, task, edge, rows, whole)
    return findings.outcome("distribution")


def judge_channels(findings: Findings, graph: JobGraph, partitioners: set[str]) -> None:
    """Compares the channels of every edge with what its readers read."""
    for edge, about in graph.edges.items():
        if about.partitioner.split(" ")[0] not in partitioners:
            continue
        tasks = graph.tasks.values()
        for task in (task for task in tasks if task.vertex == about.source_vertex):
            described = [
                (channel.subpartition, graph.tasks[channel.target_task].subtask)
                for channel in graph.channels.values()
                if (channel.source_task, channel.edge) == (task.task, edge)
            ]
            for place in list(enumerate(_readers(graph, task.task, edge))):
                if place in described:
                    described.remove(place)
                else:
                    findings.broken("no channel", task=task.task, edge=edge, place=place)
            for place in described:
                findings.broken("a channel too many", task=task.task, edge=edge, place=place)


def _replay(findings: Findings, graph: JobGraph, task: int, edge: int, rows: list[Row], whole: bool) -> None:
    name, readers = graph.edges[edge].partitioner.split(" ")[0], _readers(graph, task, edge)
    counter = None if name == "REBALANCE" else -1
    last: tuple[int, int] | None = None
    places: list[int] = []
    for seq, _, _, channel, _, _, timestamp, fingerprint, key_hash, _ in rows:
        subtask = graph.tasks[graph.channels[channel].target_task].subtask
        place = readers.index(subtask) if subtask in readers else -1
        if name in ("FORWARD", "GLOBAL"):
            chosen = 0
        elif name == "CUSTOM":
            chosen = key_hash
        elif name == "SHUFFLE":
            chosen = max(place, 0)
            places += [place] if place >= 0 else []
        else:
            chosen = place if counter is None else (counter + 1) % len(readers)
            counter = place
        torn = name == "BROADCAST" and place > 0 and last != (timestamp, fingerprint)
        last = timestamp, fingerprint
        if place != chosen or torn:
            findings.broken("wrong channel", task=task, seq=seq, channel=channel, chosen=chosen, place=place)
    width = len(readers)
    steps = {(after - before) % width for before, after in pairwise(places)}
    if width > 1 and len(places) > 64 and len(steps) == 1:
        findings.broken("always the same step", task=task, edge=edge)
    if len(places) > 64 * width and set(places) != set(range(width)):
        findings.broken("a channel is never chosen", task=task, edge=edge)
    if whole and name == "BROADCAST" and counter != len(readers) - 1:
        findings.broken("not broadcast to all", task=task, edge=edge)


def _replay_adaptive(findings: Findings, facts: Facts, graph: JobGraph, task: int, edge: int, rows: list[Row]) -> None:
    """For each record, what was compared since the record before, and how many segments each channel used by then."""
    readers = _readers(graph, task, edge)
    most = min(int(graph.edges[edge].partitioner.split("(")[1][:-1]), len(readers))
    pools = {pool.pool for pool in graph.pools.values() if (pool.task, pool.edge, pool.kind) == (task, edge, 0)}
    moves = sorted(row for row in facts.rows("segments") if row[1] == task and row[3] in pools)
    before, since = -1, -1
    for seq, _, _, channel, *_ in rows:
        subtask = graph.tasks[graph.channels[channel].target_task].subtask
        place = readers.index(subtask) if subtask in readers else -1
        loads = []
        for at, _, _, _, action, subpartition, size, *_ in moves:
            if action == SegmentAction.COMPARED and since < at < seq:
                earlier = [move[4] for move in moves if move[0] < at and move[5] == subpartition]
                used = earlier.count(SegmentAction.HANDED_OUT) - earlier.count(SegmentAction.RECYCLED)
                loads.append((used, size, subpartition))
        window = [(before + 1 + step) % len(readers) for step in range(most)]
        if not any(move[0] < seq for move in moves):
            right = place in window
        else:
            idle = [number for number, (used, _, _) in enumerate(loads) if used == 0]
            window = window[: idle[0] + 1] if idle else window
            right = [subpartition for *_, subpartition in loads] == window and (
                place
                == (window[-1] if idle else next(s for u, b, s in loads if (u, b) == min(load[:2] for load in loads)))
            )
        if not right:
            findings.broken("not the idlest channel", task=task, seq=seq, channel=channel, place=place)
        before, since = place, seq


def _readers(graph: JobGraph, task: int, edge: int) -> list[int]:
    """The subtasks that read subpartitions 0, 1, ... of a task: found by asking every target what it reads."""
    about = graph.edges[edge]
    sources = graph.tasks[task].parallelism
    targets = sum(other.vertex == about.target_vertex for other in graph.tasks.values())
    name = about.partitioner.split(" ")[0]
    subtask = graph.tasks[task].subtask
    if name == "FORWARD":
        return [subtask]
    if name not in _POINTWISE:
        return list(range(targets))
    if sources >= targets:
        reads = {
            t: range(floor(Fraction(t * sources, targets)), floor(Fraction((t + 1) * sources, targets)))
            for t in range(targets)
        }
        return [target for target, of in reads.items() if subtask in of]
    fed = [
        t
        for t in range(targets)
        if ceil(Fraction(subtask * targets, sources)) <= t < ceil(Fraction((subtask + 1) * targets, sources))
    ]
    return [next(t for t in fed if t % len(fed) == number) for number in range(len(fed))]
