"""Actions nest only inside a yield (rules 3.11, 3.21): one story per row that does not fit."""

from __future__ import annotations

import pyarrow as pa
import pytest

from flowsim.facts.kinds import ActionPhase, WaitKind
from flowsim.validation.checks.actions_fold import COLUMNS, fold_actions

BEGIN, END, WAIT, RESUME = ActionPhase
YIELD, COST = WaitKind.YIELD, WaitKind.COST
ROWS = {
    "(": (BEGIN, 1),
    ")": (END, 1),
    "y": (WAIT, YIELD),
    "Y": (RESUME, YIELD),
    "c": (WAIT, COST),
    "C": (RESUME, COST),
}


def violations(story: str, whole: bool = True) -> list[str]:
    """Folds a story of one task: '(0' begins action 0, ')0' ends it, 'y1' yields, 'Y1' resumes, 'c2' 'C2' wait for cost."""
    rows = []
    for seq, step in enumerate(story.split()):
        phase, kind = ROWS[step[0]]
        rows.append(dict(zip(COLUMNS, (0, 3, seq, int(phase), int(kind), int(step[1:]), whole), strict=True)))
    batches = (pa.RecordBatch.from_pylist([row]) for row in rows)
    return [row["what"] for batch in fold_actions(batches) for row in batch.to_pylist()]


@pytest.mark.parametrize("story", ["(0 )0 (1 )1", "(0 y1 (2 c3 C3 )2 Y1 )0", "c0 C0 (1 )1", "(0 y1 c2 C2 Y1 )0"])
def test_proper_stories_fit(story: str) -> None:
    assert violations(story) == []


@pytest.mark.parametrize(
    ("story", "count"),
    [
        ("(0 (1 )1 )0", 1),
        ("(0 c1 (2 )2 C1 )0", 1),
        ("(0 c1 y2 Y2 C1 )0", 1),
        ("(0 y1 (2 Y1 )2 )0", 1),
        (")0", 1),
        ("(0 )1 )0", 1),
        ("(0 y1", 2),
    ],
)
def test_every_row_that_does_not_fit_counts_once(story: str, count: int) -> None:
    assert len(violations(story)) == count


def test_a_prefix_may_end_in_the_middle_of_an_action() -> None:
    assert violations("(0 y1 (2", whole=False) == []
