"""The splits of a source in one subtask: their watermarks, and how they make the watermark of the source (rule 8.6)."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from flowsim.facts.kinds import ElementKind, StoredAction
from flowsim.history.watermark_strategies import seen_records, strategy_of
from flowsim.laws.job_graph import Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.why.run_facts import Row, Rows, RunFacts
from flowsim.why.sentence import EventTime, Sentence, capital

_WHOLE_OPERATOR = -1


@dataclass(frozen=True, slots=True)
class Split:
    """A split of a source at a moment. ``row``: its last watermark, of table ``generated_watermark``."""

    index: int
    name: str
    row: Row | None = None
    is_idle: bool = False
    is_over: bool = False
    """Whether the source did not wait for it, although it was behind and not idle: it had ended, or not begun."""

    @property
    def watermark(self) -> int:
        return NO_TIMESTAMP if self.row is None else self.row["timestamp"]

    @property
    def title(self) -> str:
        """The name at the beginning of a sentence."""
        return capital(self.name)

    def text(self) -> Sentence:
        """Its name, watermark and status."""
        status = ", idle" if self.is_idle else ", not waited for" if self.is_over else ""
        if self.watermark == NO_TIMESTAMP:
            return Sentence(f"{self.name}: no watermark yet{status}")
        return Sentence(f"{self.name}: watermark ", EventTime(self.watermark), status)


def splits_of(facts: RunFacts, task: int, operator: Operator, before: int | None = None) -> Sequence[Split]:
    """The splits at the moment of the facts, or before a fact; empty for a source without splits."""
    about = "splits", operator.operator
    seqs, states = facts.shared(about, task, lambda: _history(facts, task, operator))
    return states[len(seqs) if before is None else bisect_left(seqs, before)]


def _history(facts: RunFacts, task: int, operator: Operator) -> tuple[list[int], list[Sequence[Split]]]:
    """The splits before the first row of table ``generated_watermark`` and after each one, with the numbers of the rows."""
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator)
    names = facts.names.splits(task, operator.operator)
    if not (rows["split"] >= 0).any() and len(names) < 2:
        return [], [()]
    splits = {index: Split(index, split_name(facts, task, operator, index)) for index in range(len(names))}
    states: list[Sequence[Split]] = [tuple(splits.values())]
    for row in rows:
        _apply(facts, task, operator, splits, row)
        found = tuple(splits[index] for index in sorted(splits))
        if is_sequential(operator):
            found = tuple(replace(one, is_over=one is not found[-1], is_idle=False) for one in found)
        states.append(found)
    return rows["seq"].tolist(), states


def _apply(facts: RunFacts, task: int, operator: Operator, splits: dict[int, Split], row: Row) -> None:
    index = row["split"]
    if index == _WHOLE_OPERATOR:
        _mark_over(splits, row)
        return
    known = splits.get(index) or Split(index, split_name(facts, task, operator, index))
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


def split_name(facts: RunFacts, task: int, operator: Operator, index: int) -> str:
    """The name of a split: of a file if the recording shows which file it is."""
    own = _files_of(facts, task, operator)
    if own is not None and index < len(own):
        return f"split {json.dumps(own[index], ensure_ascii=False)}"
    return facts.names.split(task, operator.operator, index)


def _files_of(facts: RunFacts, task: int, operator: Operator) -> Sequence[object] | None:
    """The files that a subtask reads in their order; None if the recording does not show them."""
    files, about = operator.params.get("files"), facts.graph.tasks[task]
    if not isinstance(files, Sequence) or "assignment" in operator.params:
        return None
    # A restored reader starts with the file that it had not read completely.
    restored = facts.whole.rows("source_positions", task).equal(action=StoredAction.RESTORED)
    return None if len(restored) else files[about.subtask :: about.parallelism]


def merged(splits: Sequence[Split], watermark: int) -> str:
    """How the watermark of a source follows from those of its splits; '' if it does not."""
    left = [split for split in splits if not split.is_over]
    if left and all(split.is_idle for split in left) and max(split.watermark for split in left) == watermark:
        return f"its {len(left):,} splits are all idle, so the highest of their watermarks" if len(left) > 1 else ""
    counted = [split for split in splits if not split.is_idle and not split.is_over]
    lowest = min(counted, key=lambda split: split.watermark, default=None)
    if lowest is None or lowest.watermark != watermark:
        return ""
    if len(counted) == 1:
        return (
            f"that of {lowest.name}, the only split that it waits for" if len(splits) > 1 else f"that of {lowest.name}"
        )
    return f"the minimum over the {len(counted):,} splits that it waits for, that of {lowest.name}"


def split_of_record(facts: RunFacts, task: int, operator: Operator, sent: Row) -> int | None:
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


def _rows_of_splits(facts: RunFacts, task: int, operator: Operator) -> Rows:
    rows = facts.rows("generated_watermark", task).equal(operator=operator.operator)
    return rows.where(rows["split"] >= 0)
