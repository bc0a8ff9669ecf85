"""Whole jobs with checkpoints, failures, savepoints and stops, as on the real Flink (section 12)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.units import NO_TIMESTAMP
from tests.support.flink.golden import cases
from tests.support.jobs.checkpoint_jobs import Board, Event, run_phases

pytestmark = pytest.mark.golden

FAMILIES = ("job/checkpoint_restore", "job/savepoint_rescale", "job/stop_with_savepoint")
UNALIGNED = {"job/checkpoint_restore": 25, "job/savepoint_rescale": 16, "job/stop_with_savepoint": 12}
"""Cases with unaligned checkpoints, which flowsim does not take yet."""
ENDS = {JobStatus.FINISHED: "FINISHED", JobStatus.CANCELED: "CANCELED"}


def aligned_cases(family: str) -> list[dict[str, Any]]:
    return [case for case in cases(family) if not case["params"].get("unaligned")]


def committed(board: Board) -> set[str]:
    """What was committed; a restore commits again."""
    return {
        json.dumps(value) for _, (_, values), outcome in board.commits if outcome == "committed" for value in values
    }


def comparable(events: Iterable[Event], *, with_notifications: bool) -> list[Event]:
    """The events of a subtask; Flink's harness gives records without timestamp the lowest one."""
    return [
        [*event[:2], None] if event[0] == "rec" and event[2] == NO_TIMESTAMP else event
        for event in events
        if with_notifications or event[0] != "complete"
    ]


def unordered(event: Event) -> Event:
    """What a subtask restored: the order of old subtasks in its lists is not determined (rule 12.107)."""
    return [sorted(part) if isinstance(part, list) else part for part in event]


def is_last(name: str, names: Iterable[str]) -> bool:
    """True if no later attempt of the phase exists: earlier ones failed at a moment that depends on timing."""
    what, _, place = name.partition("@")
    phase, attempt = place.partition("/")[0].split(".")
    return not any(other.startswith(f"{what}@{phase}.{int(attempt) + 1}/") for other in names)


def different_attempts(board: Board, result: dict[str, Any]) -> list[str]:
    """The subtasks of attempts that saw something else than Flink's."""
    different = []
    for name, theirs in result["attempts"].items():
        ours = json.loads(json.dumps(board.log.get(name, [])))
        if name.startswith("restore"):
            ours, theirs = [[unordered(event) for event in events] for events in (ours, theirs)]
        seen = comparable(ours, with_notifications=False)
        expected = comparable(theirs, with_notifications=False)
        if not is_last(name, result["attempts"]):
            length = min(len(seen), len(expected))
            seen, expected = seen[:length], expected[:length]
        if seen != expected:
            different.append(f"{name}:\n  {seen}\n  Flink: {expected}")
    return different


@pytest.mark.parametrize("family", FAMILIES)
def test_jobs_commit_and_see_what_flinks_do(family: str, tmp_path: Path) -> None:
    examined: Counter[str] = Counter()
    for case in aligned_cases(family):
        result = case["result"]
        board, ends = run_phases(case, tmp_path / case["id"])
        assert [ENDS[status] for status in ends] == result["ends"], case["id"]
        assert committed(board) == {json.dumps(value) for value in result["committed"]}, case["id"]
        assert board.checkpoints == result["checkpoints"], case["id"]
        if result["stable"]:
            assert different_attempts(board, result) == [], case["id"]
        examined[family] += 1
    assert examined[family] + UNALIGNED[family] == len(list(cases(family)))
