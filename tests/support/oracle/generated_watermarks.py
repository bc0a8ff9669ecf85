"""Part of law task-watermark: watermarks of a strategy follow from its records, outputs of splits combine (rules 8.1-8.7)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence

from flowsim.facts.kinds import ElementKind
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.oracle.due_watermarks import judge_due
from tests.support.oracle.event_time_paths import INPUTS, Cause, EventTimePaths
from tests.support.oracle.facts import Facts, Findings
from tests.support.oracle.merged_splits import Made, is_another, missing
from tests.support.oracle.queued_event_time import QueueEmissions

_BOUNDED = ("bounded", "monotonous")
Seen = tuple[list[int], list[int]]
"""Sequence numbers of records, and the highest timestamp up to each."""


def judge_generated(
    findings: Findings, facts: Facts, graph: JobGraph, paths: EventTimePaths,
    called_for: dict[tuple[int, int], list[Cause]], queues: Mapping[tuple[int, int], QueueEmissions], whole: bool,
) -> None:  # fmt: skip
    """Counts every row of ``generated_watermark`` that is not what it should be, once."""
    made: dict[tuple[int, int], list[Made]] = {}
    for seq, task, operator, time_ns, split, kind, timestamp, records, highest in facts.rows("generated_watermark"):
        made.setdefault((task, operator), []).append((seq, split, kind, timestamp, records, highest, time_ns))
    sent: dict[int, list[int]] = {}
    for seq, task, _, _, _, kind, *_ in facts.rows("sent"):
        if kind == ElementKind.RECORD:
            sent.setdefault(task, []).append(seq)
    seen = _seen(facts, graph, paths, set(made)) if made else {}
    judge_due(findings, facts, graph, visible_edges(graph, paths), made)
    ends = _EndsOfInputs(paths, called_for, queues)
    if whole:
        _judge_ends(findings, graph, ends, made)
    for (task, operator), rows in sorted(made.items()):
        described = paths.operator(graph.tasks[task].vertex, operator) if task in graph.tasks else None
        if described is None:
            for row in rows:
                findings.broken("made by an operator that is not described", task=task, operator=operator, seq=row[0])
            continue
        reached = ends.reached(described, task)
        judge = _Generator(described, reached, seen.get((task, operator)))
        rows = sorted(rows)
        wrongs = [(judge.wrong(rows, place), row) for place, row in enumerate(rows)]
        if any(row[1] != -1 for row in rows):
            wrongs += [("missing", row) for row in missing(rows, sent.get(task, []), whole)]
        for wrong, row in wrongs:
            if wrong:
                findings.broken(
                    wrong, task=task, operator=operator, seq=row[0], split=row[1], kind=ElementKind(row[2]),
                    timestamp=row[3], records=row[4], max_timestamp=row[5],
                )  # fmt: skip


def _judge_ends(
    findings: Findings, graph: JobGraph, ends: _EndsOfInputs, made: dict[tuple[int, int], list[Made]]
) -> None:
    """An operator that assigns timestamps lets the last watermark pass (rule 8.7)."""
    for operator in graph.operators:
        if not isinstance(operator.params.get("watermarks"), Mapping):
            continue
        for task in graph.tasks_of(operator.vertex):
            reached = ends.reached(operator, task.task)
            rows = made.get((task.task, operator.operator), ())
            reported = any(
                row[:4] == (row[0], -1, ElementKind.WATERMARK, MAX_WATERMARK) and row[0] > reached for row in rows
            )
            if 0 <= reached < MAX_WATERMARK and not reported:
                findings.broken(
                    "the end of event time does not pass", task=task.task, operator=operator.operator, seq=reached
                )


class _Generator:
    """The rows of one operator of one subtask, in order."""

    def __init__(self, operator: Operator, reached_the_end: int, seen: Seen | None) -> None:
        described = operator.params.get("watermarks")
        strategy = described if isinstance(described, Mapping) else {}
        kind, bound = strategy.get("kind"), strategy.get("bound_ms", 0)
        self.delay = bound + 1 if kind in _BOUNDED and isinstance(bound, int) else None
        self.reached_the_end = reached_the_end
        self.seen = seen

    def wrong(self, rows: Sequence[Made], place: int) -> str:
        seq, split, kind, timestamp, records, highest, _ = rows[place]
        before = [row[3] for row in rows[:place] if row[1] == split and row[2] == ElementKind.WATERMARK]
        is_mark = kind != ElementKind.RECORD
        if (
            split == -1
            and is_mark
            and self.seen is not None
            and self._seen_before(seq, self.seen) != (records, highest)
        ):
            return "not the records that it gave out"
        if kind != ElementKind.WATERMARK:
            return ""
        if timestamp <= max([NO_TIMESTAMP, *before]):
            return "does not grow"
        if timestamp == MAX_WATERMARK:
            early = split == -1 and self.reached_the_end > seq
            return "the end of event time before its input reached it" if early else ""
        is_merged = split == -1 and any(row[1] != -1 for row in rows[:place])
        if not is_merged and self.delay is not None and timestamp != highest - self.delay:
            return "not the highest timestamp less the bound"
        return "not what the splits have reached together" if is_another(rows, place) else ""

    def _seen_before(self, seq: int, seen: Seen) -> tuple[int, int]:
        count = bisect_left(seen[0], seq)
        return count, seen[1][count - 1] if count else NO_TIMESTAMP


class _EndsOfInputs:
    """Where what reaches an operator comes to the end of event time."""

    def __init__(
        self, paths: EventTimePaths, called_for: Mapping[tuple[int, int], list[Cause]],
        queues: Mapping[tuple[int, int], QueueEmissions],
    ) -> None:  # fmt: skip
        self._paths = paths
        self._called_for = called_for
        self._queues = queues

    def reached(self, operator: Operator, task: int) -> int:
        """From which row of the task on the operator may make the last watermark (rules 4.10, 8.7)."""
        if operator.kind != "watermarks":
            return -1
        origin = self._paths.origin_of_input(operator.vertex, operator.operator)
        queue = self._queues.get((task, origin))
        if queue is not None and queue.statuses is not None:
            causes, perhaps = queue.causes()
            causes[-1][1].extend(perhaps)
        elif origin == INPUTS:
            causes = self._called_for.get((task, origin), [])
        else:
            return -1
        for seq, reported in causes:
            if (ElementKind.WATERMARK, MAX_WATERMARK) in reported:
                return max(seq, 0)
        return MAX_WATERMARK


def _seen(
    facts: Facts, graph: JobGraph, paths: EventTimePaths, made: set[tuple[int, int]]
) -> dict[tuple[int, int], Seen]:
    """What a generator saw, where every record goes on to a channel: over an edge that only maps lie before."""
    edges = visible_edges(graph, paths)
    watched: dict[int, tuple[int, int]] = {}
    for channel in graph.channels.values():
        task = channel.source_task
        for operator in (operator for owner, operator in made if owner == task):
            if edges.get((graph.tasks[task].vertex, operator)) == channel.edge:
                watched[channel.channel] = (task, operator)
    sent: dict[tuple[int, int], list[tuple[int, int]]] = {place: [] for place in watched.values()}
    for seq, _, _, channel_id, _, kind, timestamp, _, _, _ in facts.rows("sent"):
        if kind == ElementKind.RECORD and channel_id in watched:
            sent[watched[channel_id]].append((seq, timestamp))
    found: dict[tuple[int, int], Seen] = {}
    for place, rows in sent.items():
        highest, so_far = NO_TIMESTAMP, []
        rows.sort()
        for _, timestamp in rows:
            highest = max(highest, timestamp)
            so_far.append(highest)
        found[place] = ([seq for seq, _ in rows], so_far)
    return found


def visible_edges(graph: JobGraph, paths: EventTimePaths) -> dict[tuple[int, int], int]:
    """Per generator (vertex, operator) the first edge that carries every record that it saw, once and in order."""
    found: dict[tuple[int, int], int] = {}
    for edge in sorted(graph.edges.values()):
        if edge.side_output or edge.partitioner == "BROADCAST":
            continue
        operator = paths.operator(edge.source_vertex, edge.source_operator)
        while operator is not None and operator.kind == "map" and not operator.input_tag:
            operator = paths.feeder(operator)
        if operator is not None and isinstance(operator.params.get("watermarks"), Mapping):
            found.setdefault((operator.vertex, operator.operator), edge.edge)
    return found
