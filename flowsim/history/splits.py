"""The splits of a source in one subtask: their watermarks, and how they make the watermark of the source (rule 8.6)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from flowsim.facts.kinds import ElementKind
from flowsim.history.recorded_facts import RecordedFacts
from flowsim.history.rows import Row, Rows
from flowsim.history.watermark_strategies import seen_records, strategy_of
from flowsim.laws.job_graph import Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

_WHOLE_OPERATOR = -1


def split_names(params: Mapping[str, object]) -> list[list[str]]:
    """The names of the splits of each subtask, from the parameters of a source; empty if it declares none."""
    given = params.get("splits")
    if not isinstance(given, list | tuple):
        return []
    return [[str(name) for name in names] if isinstance(names, list | tuple) else [] for names in given]


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a source at a moment. ``row``: its last watermark, of table ``generated_watermark``."""

    index: int
    row: Row | None = None
    is_idle: bool = False
    is_over: bool = False
    """Whether the source did not wait for it, although it was behind and not idle: it had ended, or not begun."""

    @property
    def watermark(self) -> int:
        return NO_TIMESTAMP if self.row is None else self.row["timestamp"]


def splits_of(facts: RecordedFacts, task: int, operator: Operator, before: int | None = None) -> Sequence[Split]:
    """The splits at the moment of the facts, or before a fact; empty for a source without splits."""
    about = "splits", operator.operator
    seqs, states = facts.shared(about, task, lambda: _history(facts, task, operator))
    return states[len(seqs) if before is None else bisect_left(seqs, before)]


def _history(facts: RecordedFacts, task: int, operator: Operator) -> tuple[list[int], list[Sequence[Split]]]:
    """The splits before the first row of table ``generated_watermark`` and after each one, with the numbers of the rows."""
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator)
    names, subtask = split_names(operator.params), facts.graph.tasks[task].subtask
    declared = len(names[subtask]) if subtask < len(names) else 0
    if not (rows["split"] >= 0).any() and declared < 2:
        return [], [()]
    splits = {index: Split(index) for index in range(declared)}
    states: list[Sequence[Split]] = [tuple(splits.values())]
    for row in rows:
        _apply(splits, row)
        found = tuple(splits[index] for index in sorted(splits))
        if is_sequential(operator):
            found = tuple(replace(one, is_over=one is not found[-1], is_idle=False) for one in found)
        states.append(found)
    return rows["seq"].tolist(), states


def _apply(splits: dict[int, Split], row: Row) -> None:
    index = row["split"]
    if index == _WHOLE_OPERATOR:
        _mark_over(splits, row)
        return
    known = splits.get(index) or Split(index)
    if row["kind"] == ElementKind.WATERMARK:
        splits[index] = replace(known, row=row, is_idle=False, is_over=False)
    elif row["kind"] == ElementKind.END_OF_PARTITION:
        splits[index] = replace(known, is_idle=False, is_over=True)
    else:
        splits[index] = replace(known, is_idle=row["timestamp"] == -1, is_over=False)


def _mark_over(splits: dict[int, Split], row: Row) -> None:
    """A watermark of the source above that of a split that is not idle: the split did not hold it back."""
    if row["kind"] != ElementKind.WATERMARK or row["timestamp"] == MAX_WATERMARK:
        return
    reached = any(split.watermark == row["timestamp"] for split in splits.values())
    if not reached or all(split.is_idle for split in splits.values()):
        return
    for index, split in splits.items():
        if not split.is_idle and split.watermark < row["timestamp"]:
            splits[index] = replace(split, is_over=True)


def is_sequential(operator: Operator) -> bool:
    """Whether a subtask reads its splits one after the other."""
    return "files" in operator.params


def split_of_record(facts: RecordedFacts, task: int, operator: Operator, sent: Row) -> int | None:
    """The split of a record that a source sent; None if the recording does not show it."""
    whole = facts.whole
    seen = seen_records(whole, task, operator)
    if seen is None:
        return None
    rows = whole.shared(("rows of splits", operator.operator), task, lambda: _rows_of_splits(whole, task, operator))
    place = int(np.searchsorted(rows["seq"], sent["seq"], side="right"))
    if is_sequential(operator):
        # The output of a split is created before its first record, and that of the next one when it has ended.
        last = rows.row(place - 1) if place else None
        first = None if last is None else rows.equal(split=last["split"]).row(0)
        is_begin = first is not None and first["kind"] == ElementKind.STATUS and first["records"] == 0
        return last["split"] if last is not None and is_begin else None
    # A generator that emits with its records is called for the record directly after it (rule 8.3).
    later, of_records = seen.after(sent["seq"]).first(), rows.after(sent["seq"])
    is_active = (of_records["kind"] == ElementKind.STATUS) & (of_records["timestamp"] == 0)
    row = of_records.where((of_records["kind"] == ElementKind.WATERMARK) | is_active).first()
    is_next = row is not None and (later is None or row["seq"] < later["seq"])
    return row["split"] if row is not None and is_next and (strategy_of(operator) or {}).get("per_record") else None


def _rows_of_splits(facts: RecordedFacts, task: int, operator: Operator) -> Rows:
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator)
    return rows.where(rows["split"] >= 0)
