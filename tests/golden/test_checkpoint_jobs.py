"""Whole jobs with checkpoints, failures, savepoints and stops, as on the real Flink (section 12)."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.flink.golden import cases
from tests.support.jobs.checkpoint_comparison import ENDS, committed, different_attempts
from tests.support.jobs.checkpoint_jobs import run_phases

pytestmark = pytest.mark.golden

FAMILIES = ("job/checkpoint_restore", "job/savepoint_rescale", "job/stop_with_savepoint")
UNALIGNED = {"job/checkpoint_restore": 25, "job/savepoint_rescale": 16, "job/stop_with_savepoint": 12}
"""Cases with unaligned checkpoints, which flowsim does not take yet."""


def aligned_cases(family: str) -> list[dict[str, Any]]:
    return [case for case in cases(family) if not case["params"].get("unaligned")]


@pytest.mark.parametrize("family", FAMILIES)
def test_jobs_commit_and_see_what_flinks_do(family: str, tmp_path: Path) -> None:
    examined: Counter[str] = Counter()
    for case in aligned_cases(family):
        result = case["result"]
        board, ends = run_phases(case, tmp_path / case["id"])
        assert [ENDS[status] for status in ends] == result["ends"], case["id"]
        assert committed(board.commits) == {json.dumps(value) for value in result["committed"]}, case["id"]
        assert board.checkpoints == result["checkpoints"], case["id"]
        if result["stable"]:
            assert different_attempts(board.log, result["attempts"]) == [], case["id"]
        examined[family] += 1
    assert examined[family] + UNALIGNED[family] == len(list(cases(family)))
