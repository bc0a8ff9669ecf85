from __future__ import annotations

import pytest

from flowsim.facts.kinds import CheckpointAction, RestartAction
from flowsim.laws.job_history import CheckpointEvent, JobHistory, RestartEvent


def checkpoint(step: int, action: CheckpointAction, number: int = 7) -> CheckpointEvent:
    return CheckpointEvent(step, step, number, action, 0, 0, 0, 0, 0, 0, 0)


def failure(step: int) -> RestartEvent:
    return RestartEvent(step, step, RestartAction.FAILURE, 0, 0, 0, 3, 0)


TRIGGERED, RESTORED = CheckpointAction.TRIGGERED, CheckpointAction.RESTORED


@pytest.mark.parametrize(
    ("checkpoints", "restarts", "expected"),
    [
        ((), (), -1),
        ((checkpoint(0, TRIGGERED),), (), -1),
        ((checkpoint(0, RESTORED),), (), 7),
        ((checkpoint(0, RESTORED), checkpoint(2, RESTORED, 8)), (failure(1),), 7),
        ((checkpoint(0, TRIGGERED), checkpoint(2, RESTORED)), (failure(1),), -1),
    ],
)
def test_job_starts_from_what_is_restored_before_its_first_failure(
    checkpoints: tuple[CheckpointEvent, ...], restarts: tuple[RestartEvent, ...], expected: int
) -> None:
    assert JobHistory(checkpoints, restarts).first_restored == expected
