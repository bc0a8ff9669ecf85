"""SplitAssignmentTracker equals the real one (rules 12.112, 12.113)."""

from __future__ import annotations

from typing import Any

from flowsim.checkpoints.coordination.split_assignment_tracker import SplitAssignmentTracker
from tests.support.flink.golden import cases


def play(tracker: SplitAssignmentTracker[str], command: list[Any]) -> list[str] | None:
    match command:
        case ["assign", assignment]:
            tracker.record_split_assignment({int(subtask): splits for subtask, splits in assignment.items()})
        case ["checkpoint", checkpoint_id]:
            tracker.on_checkpoint(checkpoint_id)
        case ["complete", checkpoint_id]:
            tracker.on_checkpoint_complete(checkpoint_id)
        case ["reset", subtask, checkpoint_id]:
            return tracker.get_and_remove_uncheckpointed_assignment(subtask, checkpoint_id)
        case _:
            raise AssertionError(f"unknown command {command}")
    return None


def test_every_command_equals_flinks() -> None:
    seen = 0
    for case in cases("component/split_assignment_tracker"):
        tracker: SplitAssignmentTracker[str] = SplitAssignmentTracker()
        for number, (command, expected) in enumerate(zip(case["cmds"], case["out"], strict=True)):
            answer = {
                "ret": play(tracker, command),
                "by_checkpoint": {
                    str(checkpoint_id): {str(subtask): splits for subtask, splits in assignment.items()}
                    for checkpoint_id, assignment in tracker.assignments_by_checkpoint_id.items()
                },
                "current": {str(subtask): splits for subtask, splits in tracker.uncheckpointed_assignments.items()},
            }
            assert answer == expected, (case["id"], number, command)
        seen += 1
    assert seen == 300
