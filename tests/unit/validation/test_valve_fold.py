"""The judge's own valve answers every command as the real StatusWatermarkValve did (rules 8.9-8.12)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pyarrow as pa
import pytest

from flowsim.validation.checks.valve_fold import COLUMNS, ExpectedValve, fold_valves

GOLDEN = Path(__file__).parents[2] / "golden" / "data" / "component" / "status_watermark_valve.jsonl.gz"
KINDS = {"wm": 1, "st": 2}
STATUSES = {"ACTIVE": 0, "IDLE": -1}
WM, RECORD = 1, 0


@pytest.mark.golden
def test_the_judges_valve_is_flinks() -> None:
    commands = 0
    with gzip.open(GOLDEN, "rt", encoding="utf-8") as lines:
        for case in map(json.loads, lines):
            valve = ExpectedValve(0, case["channels"])
            for (kind, channel, value), out in zip(case["cmds"], case["out"], strict=True):
                expected = [(0, KINDS[k], STATUSES.get(v, v)) for k, v in out]
                assert valve.emits(KINDS[kind], STATUSES.get(value, value), channel) == expected, case["id"]
                commands += 1
    assert commands > 1000


def fold(*rows: tuple[int, ...], whole: bool = True) -> list[tuple[int, int, str, str, int]]:
    """Folds (task, seq, what, channel, kind, timestamp); gives (task, seq, expected, found, violations)."""
    full = [(0, task, seq, what, 0, channel, kind, time, 1, whole) for task, seq, what, channel, kind, time in rows]
    # One row a batch: no state may be lost between batches.
    batches = [pa.RecordBatch.from_pylist([dict(zip(COLUMNS, row, strict=True))]) for row in full]
    found = [row for batch in fold_valves(iter(batches)) for row in batch.to_pylist()]
    return [(r["task"], r["seq"], r["expected"], r["found"], r["violations"]) for r in found]


def test_an_emission_belongs_to_the_row_before_it() -> None:
    assert fold((7, 0, 0, 0, WM, 5), (7, 1, 1, 0, WM, 5), (8, 0, 0, 0, WM, 6), (8, 1, 1, 0, WM, 6)) == []


def test_a_missing_emission_is_one_violation() -> None:
    assert fold((7, 0, 0, 0, WM, 5), (7, 2, 0, 0, WM, 6), (7, 3, 1, 0, WM, 6)) == [(7, 0, "[(0, 1, 5)]", "[]", 1)]


def test_an_emission_after_a_record_is_a_violation_of_both_rows() -> None:
    found = fold((7, 0, 0, 0, WM, 5), (7, 1, 0, 0, RECORD, 9), (7, 2, 1, 0, WM, 5))
    assert found == [(7, 0, "[(0, 1, 5)]", "[]", 1), (7, 1, "[]", "[(0, 1, 5)]", 1)]


def test_emissions_before_anything_arrived_count_one_by_one() -> None:
    assert fold((7, 0, 1, 0, WM, 4), (7, 1, 1, 0, WM, 5)) == [(7, -1, "[]", "[(0, 1, 4), (0, 1, 5)]", 2)]


def test_only_a_prefix_may_end_before_its_last_emission() -> None:
    assert fold((7, 0, 0, 0, WM, 5), whole=False) == []
    assert fold((7, 0, 0, 0, WM, 5)) == [(7, 0, "[(0, 1, 5)]", "[]", 1)]
    assert fold((7, 0, 0, 0, WM, 5), (7, 1, 1, 0, WM, 6), whole=False) == [(7, 0, "[(0, 1, 5)]", "[(0, 1, 6)]", 1)]
