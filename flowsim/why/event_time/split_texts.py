"""The splits of a source as text, and how they make its watermark (rule 8.6)."""

from __future__ import annotations

import json
from collections.abc import Sequence

from flowsim.facts.kinds import StoredAction
from flowsim.history.splits import Split
from flowsim.laws.job_graph import Operator
from flowsim.units import NO_TIMESTAMP
from flowsim.why.run_facts import RunFacts
from flowsim.why.sentence import EventTime, Sentence


def split_lines(facts: RunFacts, task: int, operator: Operator, splits: Sequence[Split]) -> tuple[Sentence, ...]:
    """The name, watermark and status of each split."""
    return tuple(_line(split_name(facts, task, operator, split.index), split) for split in splits)


def _line(name: str, split: Split) -> Sentence:
    status = ", idle" if split.is_idle else ", not waited for" if split.is_over else ""
    if split.watermark == NO_TIMESTAMP:
        return Sentence(f"{name}: no watermark yet{status}")
    return Sentence(f"{name}: watermark ", EventTime(split.watermark), status)


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


def merged(facts: RunFacts, task: int, operator: Operator, splits: Sequence[Split], watermark: int) -> str:
    """How the watermark of a source follows from those of its splits; '' if it does not."""
    left = [split for split in splits if not split.is_over]
    if left and all(split.is_idle for split in left) and max(split.watermark for split in left) == watermark:
        return f"its {len(left):,} splits are all idle, so the highest of their watermarks" if len(left) > 1 else ""
    counted = [split for split in splits if not split.is_idle and not split.is_over]
    lowest = min(counted, key=lambda split: split.watermark, default=None)
    if lowest is None or lowest.watermark != watermark:
        return ""
    name = split_name(facts, task, operator, lowest.index)
    if len(counted) == 1:
        return f"that of {name}, the only split that it waits for" if len(splits) > 1 else f"that of {name}"
    return f"the minimum over the {len(counted):,} splits that it waits for, that of {name}"
