"""The positions of sources: what was restored, and how many records were sent up to each stored position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from flowsim.facts.kinds import StoredAction
from flowsim.laws.event_time.paths import EventTimePaths, strategy_of
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Findings
from flowsim.laws.slices import Ints, Slice

READS: Final = {"source_positions": ("operator", "checkpoint", "action", "split", "position", "records")}
_STORED: Final = int(StoredAction.STORED)
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
    """Sequence number, attempt, checkpoint, records that were read by the positions, and records that were sent."""


class PositionsOfTask:
    """Collects the positions of one source task."""

    def __init__(self, wanted: frozenset[int], is_counted: bool) -> None:
        """``wanted``: the checkpoints that are restored. ``is_counted``: every record that is read is sent."""
        self._wanted = wanted
        self._is_counted = is_counted
        self._positions = Positions()
        self._splits: dict[int, set[int]] = {}
        """By attempt the splits that the task has had."""

    def feed(self, facts: Slice, before: int, sent: Ints) -> None:
        """``sent``: the sequence numbers of the records that were sent in this slice; ``before``: how many before it."""
        columns = ("seq", "checkpoint", "action", "operator", "split", "position", "records")
        read: dict[int, list[int]] = {}
        stored: dict[int, set[int]] = {}
        known = self._splits.setdefault(facts.attempt, set())
        for seq, checkpoint, action, operator, split, position, records in facts.of("source_positions").tuples(columns):
            if action == _STORED:
                read.setdefault(checkpoint, [seq, 0])[1] += records
                stored.setdefault(checkpoint, set()).add(split)
                if checkpoint in self._wanted:
                    self._positions.stored.setdefault((checkpoint, operator, split), set()).add(position)
            else:
                known.add(split)
                self._positions.restored.append((seq, facts.attempt, (checkpoint, operator, split), position))
        for checkpoint, (seq, records) in read.items() if self._is_counted else ():
            known |= stored[checkpoint]
            if stored[checkpoint] != known:
                # A split that was read to its end is no longer stored.
                continue
            count = before + int(np.searchsorted(sent, seq))
            self._positions.counted.append((seq, facts.attempt, checkpoint, records, count))

    def end(self) -> Positions:
        return self._positions


def all_records_are_sent(graph: JobGraph, task: Task, edge: int) -> bool:
    """Whether the edge has every record of a source whose positions count records."""
    paths = graph.once(EventTimePaths)
    for operator in graph.operators_of(task.vertex):
        if operator.kind == "source" and operator.params.get("source") in _COUNTS_RECORDS:
            is_of_file = operator.params["source"] != "csv" or "file" in operator.params
            is_plain = is_of_file and not operator.params.get("split_by") and not operator.params.get("legacy")
            return (
                is_plain
                and _keeps(operator)
                and any(each.edge == edge and not each.side_output for each in paths.edges_of(operator, _passes))
            )
    return False


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
                    "the source stored a position after other records than it sent", (task, seq), task=task, seq=seq,
                    attempt=attempt, checkpoint=checkpoint, expected=read, found=sent,
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
