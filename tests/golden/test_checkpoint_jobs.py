"""Whole jobs with checkpoints, failures, savepoints and stops, as on the real Flink (section 12)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.support.flink.golden import cases
from tests.support.jobs.checkpoint_comparison import (
    ENDS,
    answered,
    committed,
    different_attempts,
    without_late_snapshots,
)
from tests.support.jobs.checkpoint_jobs import Board, Event, run_phases
from tests.support.jobs.lineages import different_lineages, in_flight_differences, without_watermark

pytestmark = pytest.mark.golden

FAMILIES = ("job/checkpoint_restore", "job/savepoint_rescale", "job/stop_with_savepoint")
ALIGNED = {"job/checkpoint_restore": 25, "job/savepoint_rescale": 16, "job/stop_with_savepoint": 12}
UNALIGNED = {"job/checkpoint_restore": 25, "job/savepoint_rescale": 16, "job/stop_with_savepoint": 12}


def run(case: dict[str, Any], folder: Path) -> Board:
    """Runs the phases of a case; they end as Flink's."""
    board, ends = run_phases(case, folder / case["id"])
    assert [ENDS.get(status) for status in ends] == case["result"]["ends"], case["id"]
    board.log = json.loads(json.dumps(board.log))
    return board


def has_in_flight_data(case: dict[str, Any]) -> bool:
    """True if the snapshot of a case had in-flight data on Flink."""
    return any(case["result"].get("in_flight", {}).values())


@pytest.mark.parametrize("family", FAMILIES)
def test_aligned_jobs_commit_and_see_what_flinks_do(family: str, tmp_path: Path) -> None:
    examined: Counter[str] = Counter()
    for case in cases(family):
        if case["params"].get("unaligned"):
            continue
        result = case["result"]
        board = run(case, tmp_path)
        assert committed(board.commits) == {json.dumps(value) for value in result["committed"]}, case["id"]
        assert board.checkpoints == result["checkpoints"], case["id"]
        if result["stable"]:
            assert different_attempts(board.log, result["attempts"]) == [], case["id"]
        examined[family] += 1
    assert examined[family] == ALIGNED[family]


@pytest.mark.parametrize("family", FAMILIES)
def test_unaligned_jobs_commit_and_see_what_flinks_do(family: str, tmp_path: Path) -> None:
    """How much is in flight depends on timing: there each lineage is compared.

    Operators take 15 ms for a record, and on the real cluster up to 60 ms passed until they had the trigger.
    """
    examined: Counter[str] = Counter()
    for case in cases(family):
        if not case["params"].get("unaligned"):
            continue
        result = case["result"]
        board = run(case, tmp_path)
        assert answered(board.checkpoints) == answered(result["checkpoints"]), case["id"]
        log, attempts = (without_late_snapshots(case, each) for each in (board.log, result["attempts"]))
        ours, theirs = committed(board.commits), {json.dumps(value) for value in result["committed"]}
        if has_in_flight_data(case):
            assert without_watermarks(ours) == without_watermarks(theirs), case["id"]
            assert different_lineages(log, attempts) == [], case["id"]
            assert in_flight_differences(case["script"], log, attempts) <= {-1, 0, 1, 2, 3, 4}, case["id"]
        else:
            assert ours == theirs, case["id"]
            if result["stable"]:
                assert different(case, log, attempts) == [], case["id"]
        examined[family] += 1
    assert examined[family] == UNALIGNED[family]


def different(case: dict[str, Any], log: dict[str, list[Event]], attempts: dict[str, list[Event]]) -> list[str]:
    """The traces of a job that waits for no notification have no determined place for it."""
    entries = [entry for subtask in case["script"] for entry in subtask]
    if any(entry[1] == "ck_nowait_notify" for entry in entries):
        log, attempts = without_notifications(log), without_notifications(attempts)
    return different_attempts(log, attempts)


def without_notifications(log: dict[str, list[Event]]) -> dict[str, list[Event]]:
    return {
        name: [event for event in events if not str(event[1]).startswith("notifyCheckpoint")]
        if name.startswith("trace")
        else events
        for name, events in log.items()
    }


def without_watermarks(values: Iterable[str]) -> set[str]:
    return {json.dumps(without_watermark(json.loads(value))) for value in values}
