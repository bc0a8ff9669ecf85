"""Part of law async-once: the direct readers of the results of an async operator, and what each of them received."""

from __future__ import annotations

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.job_graph import JobGraph
from tests.support.oracle.async_wait.places import Place
from tests.support.oracle.facts import Facts

Got = list[tuple[int, int]]
"""Sequence numbers and fingerprints of records, in order."""


def readers(facts: Facts, graph: JobGraph, places: list[Place]) -> dict[tuple[int, int], list[Got]]:
    """Per task and async operator what each reader of its main output got: an edge, a channel of a broadcast, or the next
    async operator of the chain."""
    found: dict[tuple[int, int], list[Got]] = {(place.task.task, place.operator.operator): [] for place in places}
    by_channel: dict[int, Got] = {}
    for edge in graph.edges.values():
        if edge.side_output:
            continue
        lists: dict[int, Got] = {}
        for channel in sorted(channel for channel in graph.channels.values() if channel.edge == edge.edge):
            if (channel.source_task, edge.source_operator) not in found:
                continue
            if edge.partitioner == "BROADCAST":
                got: Got = []
                found[channel.source_task, edge.source_operator].append(got)
            else:
                got = lists.setdefault(channel.source_task, [])
            by_channel[channel.channel] = got
        for task, got in lists.items():
            found[task, edge.source_operator].append(got)
    for seq, _, _, channel_id, _, kind, _, number, _, _ in sorted(facts.rows("sent")) if by_channel else ():
        if kind == ElementKind.RECORD and channel_id in by_channel:
            by_channel[channel_id].append((seq, number))
    for place in places:
        feeder = (place.task.task, place.operator.input_operator)
        if feeder in found and not place.operator.input_tag:
            found[feeder].append([
                (step.seq, step.fingerprint)
                for step in place.steps
                if step.action == AsyncAction.PUT and step.kind == ElementKind.RECORD and step.seq > place.opening
            ])  # fmt: skip
    return found
