"""Law task-watermark: the event time that a task sends follows from its inputs, or from its strategies."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

from flowsim.facts.kinds import AsyncAction, ElementKind
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.oracle.event_time_paths import FREE, INPUTS, Cause, Emission, EventTimePaths, emissions
from tests.support.oracle.facts import Facts, Findings, not_applicable
from tests.support.oracle.generated_watermarks import judge_generated
from tests.support.oracle.queued_event_time import QueueEmissions, emitted_by_queues, taken_marks
from tests.support.oracle.valve_model import ACTIVE

LAW = "task-watermark"
_LAST = (ElementKind.WATERMARK, MAX_WATERMARK)
Sent = tuple[int, int, int]
"""Sequence number, kind and timestamp of a watermark or status on a channel."""


def task_watermark(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Holds what was sent against what the origin of each channel's event time called for, cause by cause."""
    if not graph.channels:
        return not_applicable(LAW, "the job has no channels")
    sent = sent_event_time(facts)
    generated = facts.rows("generated_watermark")
    puts = sum(row[5] == AsyncAction.PUT and row[6] == ElementKind.WATERMARK for row in facts.rows("async_elements"))
    examined = sum(map(len, sent.values())) + len(facts.rows("task_watermark")) + len(generated) + puts
    findings = Findings(examined)
    paths = EventTimePaths(graph)
    called_for = emissions(facts, graph)
    queues = emitted_by_queues(facts, graph, paths, called_for, whole)
    for task, origins in sorted(paths.channels_by_origin().items()):
        vertex = graph.tasks[task].vertex
        for origin, channels in sorted(origins.items()):
            if origin == FREE:
                _judge_alike(findings, task, {channel: sent.get(channel, []) for channel in channels}, whole)
                continue
            causes = called_for.get((task, origin), [])
            queue = queues.get((task, origin))
            for channel in channels:
                rows = sent.get(channel, [])
                place = {"task": task, "channel": channel}
                if queue is not None:
                    _judge_behind_queue(findings, queue, rows, whole, place)
                elif origin == INPUTS and paths.holds_back(vertex):
                    _judge_held_back(findings, causes, rows, whole, place)
                else:
                    may_end = paths.makes_the_first(vertex, origin)
                    _judge_channel(findings, causes, rows, whole, may_end, place)
    _judge_queues(findings, paths, queues, called_for, whole)
    judge_generated(findings, facts, graph, paths, called_for, queues, whole)
    return findings.outcome(LAW)


def _judge_behind_queue(
    findings: Findings, queue: QueueEmissions, rows: list[Sent], whole: bool, place: dict[str, int]
) -> None:
    """Where the statuses are unknown, those of the channel itself count."""
    if queue.statuses is None:
        causes, perhaps = queue.causes([(seq, status) for seq, kind, status in rows if kind == ElementKind.STATUS])
        rows = [row for row in rows if row[1] == ElementKind.WATERMARK]
    else:
        causes, perhaps = queue.causes()
    _judge_channel(findings, causes, rows, whole, False, place, perhaps)


def _judge_queues(
    findings: Findings, paths: EventTimePaths, queues: dict[tuple[int, int], QueueEmissions],
    called_for: dict[tuple[int, int], list[Cause]], whole: bool,
) -> None:  # fmt: skip
    """What enters a queue is what was emitted before it."""
    for (task, operator), queue in sorted(queues.items()):
        vertex = queue.place.task.vertex
        origin = paths.origin_of_input(vertex, operator)
        if queue.statuses is None or origin == FREE:
            continue
        before, perhaps = queues.get((task, origin)), list[Emission]()
        if before is not None and before.place.legacy:
            # Its emitter may wait for a place with a watermark in its hands, and statuses overtake them both.
            continue
        if before is not None:
            causes, perhaps = before.causes()
        else:
            causes = called_for.get((task, origin), [])
        rows, place = taken_marks(queue.place), {"task": task, "operator": operator}
        # Statuses do not wait in queues (rule 11.3).
        marks = [(seq, [e for e in made if e[0] == ElementKind.WATERMARK]) for seq, made in causes]
        if origin == INPUTS and paths.holds_back(vertex):
            _judge_held_back(findings, marks, rows, whole, place)
        else:
            _judge_channel(findings, marks, rows, whole, paths.makes_the_first(vertex, origin), place, perhaps)


def sent_event_time(facts: Facts) -> dict[int, list[Sent]]:
    """Per channel its watermarks and statuses by sequence number."""
    found: dict[int, list[Sent]] = {}
    for seq, _, _, channel, _, kind, timestamp, _, _, _ in facts.rows("sent"):
        if kind == ElementKind.WATERMARK or kind == ElementKind.STATUS:
            found.setdefault(channel, []).append((seq, kind, timestamp))
    for rows in found.values():
        rows.sort()
    return found


def _judge_channel(
    findings: Findings, causes: list[Cause], rows: list[Sent], whole: bool, may_end: bool, place: dict[str, int],
    perhaps: Sequence[Emission] = (),
) -> None:  # fmt: skip
    """Every cause owns the rows between it and the next one; the last one ``perhaps`` some more."""
    begins = [seq for seq, _ in causes]
    owned: list[list[Sent]] = [[] for _ in range(len(causes) + 1)]
    for row in rows:
        owned[bisect_right(begins, row[0])].append(row)
    for number, of_cause in enumerate(owned):
        cause, reported = causes[number - 1] if number else (-1, [])
        left, more = list(reported), list(perhaps) if number == len(owned) - 1 else []
        for seq, kind, timestamp in of_cause:
            if left and left[0] == (kind, timestamp):
                left.pop(0)
            elif not left and more and more[0] == (kind, timestamp):
                more.pop(0)
            elif not (may_end and (kind, timestamp) == _LAST):
                findings.broken(
                    "nothing calls for it",
                    seq=seq,
                    sent=_text(kind, timestamp),
                    owed=[_text(*e) for e in left],
                    **place,
                )
        if left and (whole or number < len(owned) - 1):
            findings.broken(
                "an expected watermark or status is not sent", seq=cause, owed=[_text(*e) for e in left], **place
            )


def _judge_held_back(
    findings: Findings, causes: list[Cause], rows: list[Sent], whole: bool, place: dict[str, int]
) -> None:
    """Timers that can be interrupted hold watermarks back and merge them (rule 9.18), but no status."""
    marks = [(seq, [e for e in reported if e[0] == ElementKind.WATERMARK]) for seq, reported in causes]
    since: dict[int, int] = {}
    for cause, reported in marks:
        for _, timestamp in reported:
            since.setdefault(timestamp, cause)
    before = NO_TIMESTAMP
    statuses: list[Sent] = []
    for seq, kind, timestamp in rows:
        if kind == ElementKind.STATUS:
            statuses.append((seq, kind, timestamp))
            continue
        if timestamp <= before or since.get(timestamp, seq) >= seq:
            findings.broken("nothing calls for it", seq=seq, sent=_text(kind, timestamp), **place)
        before = max(before, timestamp)
    changes = [(seq, [e for e in reported if e[0] == ElementKind.STATUS]) for seq, reported in causes]
    _judge_channel(findings, [c for c in changes if c[1]], statuses, whole, False, place)


def _judge_alike(findings: Findings, task: int, rows: dict[int, list[Sent]], whole: bool) -> None:
    """Rule 8.18: whatever a source says of event time, it says it on every channel."""
    lengths = [len(of_channel) for of_channel in rows.values()]
    for number in range(max(lengths) if whole else min(lengths)):
        reported = {of_channel[number][1:] if number < len(of_channel) else None for of_channel in rows.values()}
        if len(reported) > 1:
            findings.broken(
                "the watermarks or statuses differ between channels", task=task, number=number, channels=sorted(rows)
            )


def _text(kind: int, timestamp: int) -> str:
    if kind == ElementKind.STATUS:
        return "ACTIVE" if timestamp == ACTIVE else "IDLE"
    return f"watermark {timestamp}"
