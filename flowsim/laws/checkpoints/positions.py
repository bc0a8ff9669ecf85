"""The positions of sources: what was restored, and how many records were sent up to each stored position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsim.facts.kinds import CommittableAction, StoredAction
from flowsim.laws.event_time.paths import EventTimePaths, strategy_of
from flowsim.laws.findings import Findings
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Slice

_COUNTS_RECORDS: Final = ("collection", "generator", "csv")
"""Kinds of sources whose positions count records."""
Split = tuple[int, int, int]
"""Checkpoint, operator and split."""


@dataclass(slots=True)
class Positions:
    """The positions of one task in all its attempts."""

    stored: dict[Split, set[int]] = field(default_factory=dict)
    restored: list[tuple[int, int, Split, int]] = field(default_factory=list)
    """Sequence number, attempt, split and position."""
    counted: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    """Sequence number, attempt, checkpoint, records that were read by the positions, and records that were sent, or
    written by a sink of the task."""


class PositionsOfTask:
    """Collects the positions of one source task."""

    def __init__(self, wanted: frozenset[int], is_counted: bool, writers: frozenset[int]) -> None:
        """``wanted``: the checkpoints that are restored. ``is_counted``: every record that is read is sent.

        ``writers``: the operators of the task that write every record that is read, and commit it.
        """
        self._wanted = wanted
        self._is_counted = is_counted
        self._writers = writers
        self._written: dict[tuple[int, int], int] = {}
        """By attempt and writer the number of records so far."""
        self._prepared: dict[tuple[int, int], dict[int, int]] = {}
        """By attempt and checkpoint, per writer that prepared committables for it, the number of records so far."""
        self._positions = Positions()
        self._splits: dict[int, set[int]] = {}
        """By attempt the splits that the task has had."""

    @reads(
        source_positions=("operator", "checkpoint", "action", "split", "position", "records"),
        committables=("operator", "checkpoint", "action", "rows"),
    )
    def feed(self, facts: Slice, before: int, sent: Ints) -> None:
        """``sent``: the sequence numbers of the records that were sent in this slice; ``before``: how many before it."""
        columns = ("seq", "checkpoint", "action", "operator", "split", "position", "records")
        self._add_committables(facts)
        read: dict[int, list[int]] = {}
        stored: dict[int, set[int]] = {}
        known = self._splits.setdefault(facts.attempt, set())
        for seq, checkpoint, action, operator, split, position, records in facts.of("source_positions").tuples(columns):
            if action == StoredAction.STORED:
                read.setdefault(checkpoint, [seq, 0])[1] += records
                stored.setdefault(checkpoint, set()).add(split)
                if checkpoint in self._wanted:
                    self._positions.stored.setdefault((checkpoint, operator, split), set()).add(position)
            else:
                known.add(split)
                self._positions.restored.append((seq, facts.attempt, (checkpoint, operator, split), position))
        for checkpoint, (seq, records) in read.items():
            known |= stored[checkpoint]
            if stored[checkpoint] != known:
                # A split that was read to its end is no longer stored.
                continue
            counts = list(self._prepared.get((facts.attempt, checkpoint), {}).values())
            if self._is_counted:
                counts.append(before + int(np.searchsorted(sent, seq)))
            self._positions.counted += [(seq, facts.attempt, checkpoint, records, count) for count in counts]

    def _add_committables(self, facts: Slice) -> None:
        """A committable has all records since the one before it."""
        attempt = facts.attempt
        for action, writer, checkpoint, rows in facts.of("committables").tuples(
            ("action", "operator", "checkpoint", "rows")
        ):
            if action == CommittableAction.PREPARED and writer in self._writers:
                count = self._written[attempt, writer] = self._written.get((attempt, writer), 0) + rows
                self._prepared.setdefault((attempt, checkpoint), {})[writer] = count

    def end(self) -> Positions:
        return self._positions


def all_records_are_sent(graph: JobGraph, task: Task, edge: int) -> bool:
    """Whether the edge has every record of a source whose positions count records."""
    source = _source_that_counts(graph, task)
    if source is None:
        return False
    edges = graph.once(EventTimePaths).edges_of(source, _passes)
    return any(each.edge == edge and not each.side_output for each in edges)


def writers_of_all_records(graph: JobGraph, task: Task) -> frozenset[int]:
    """The operators of the task that write, and commit, every record of a source whose positions count records."""
    source = _source_that_counts(graph, task)
    operators = {operator.operator: operator for operator in graph.operators_of(task.vertex)}
    found = set()
    for operator in operators.values() if source is not None else ():
        if operator.kind == "sink" and operator.params.get("commits") and not operator.input_tag:
            before = operators.get(operator.input_operator)
            while before is not None and _passes(before):
                before = operators.get(before.input_operator)
            if before is source:
                found.add(operator.operator)
    return frozenset(found)


def _source_that_counts(graph: JobGraph, task: Task) -> Operator | None:
    """The source of the task, if its positions are numbers of records and it keeps all of them."""
    for operator in graph.operators_of(task.vertex):
        if operator.kind == "source" and operator.params.get("source") in _COUNTS_RECORDS:
            is_of_file = operator.params["source"] != "csv" or "file" in operator.params
            is_plain = is_of_file and not operator.params.get("split_by") and not operator.params.get("legacy")
            return operator if is_plain and _keeps(operator) else None
    return None


def _passes(operator: Operator) -> bool:
    return operator.kind in ("map", "watermarks") and not operator.input_tag and _keeps(operator)


def _keeps(operator: Operator) -> bool:
    """Whether the operator keeps records without a timestamp; if it fails, it loses none."""
    return not (strategy_of(operator) or {}).get("missing_timestamp")


def compare_positions(graph: JobGraph, positions: Mapping[int, Positions], found: Findings) -> None:
    """Each source continues where it was, and sent as many records as it read."""
    for task, of_task in positions.items():
        vertex = graph.tasks[task].vertex
        siblings = [positions[each.task] for each in graph.tasks_of(vertex) if each.task in positions]
        _compare_restored(task, of_task, siblings, found)
        for seq, attempt, checkpoint, read, sent in of_task.counted:
            found.examined += 1
            if read != sent:
                found.broken(
                    "the source stored a position after other records than it sent, or a sink wrote", (task, seq),
                    task=task, seq=seq, attempt=attempt, checkpoint=checkpoint, expected=read, found=sent,
                )  # fmt: skip


def _compare_restored(task: int, of_task: Positions, siblings: Sequence[Positions], found: Findings) -> None:
    for seq, attempt, split, position in of_task.restored:
        stored = {at for each in siblings for at in each.stored.get(split, ())}
        if not stored:
            continue
        found.examined += 1
        if position not in stored:
            checkpoint, operator, name = split
            found.broken(
                "the source does not continue at the position in the checkpoint", (task, seq), task=task, seq=seq,
                attempt=attempt, checkpoint=checkpoint, operator=operator, split=name, expected=sorted(stored),
                found=position,
            )  # fmt: skip
