"""The goals of puzzles, on outcomes."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.errors import BadInput
from flowsim.explore.outcome import Outcome
from flowsim.play.goal import Contains, EndedRun, Ends, Goal, Holds, Lacks, Violates
from flowsim.values.encoding import encode_record


def ended(*parts: list[Any], status: JobStatus = JobStatus.FINISHED, violated: tuple[str, ...] = ()) -> EndedRun:
    rows = tuple(tuple(encode_record(None, row) for row in part) for part in parts)
    return EndedRun(Outcome(status, "", (("out", rows),)), violated)


@pytest.mark.parametrize(
    ("goal", "run", "is_reached"),
    [
        (Holds("out", [["a", 1], [2]]), ended([("a", 1)], [2]), True),
        (Holds("out", [[1], [2]]), ended([2, 1]), False),
        (Holds("out", [[1]]), ended([1, 2]), False),
        (Holds("out", []), ended([]), True),
        (Contains("out", [2]), ended([1, 2]), True),
        (Contains("out", [3]), ended([1, 2]), False),
        (Lacks("out", [3]), ended([1, 2]), True),
        (Lacks("out", [2]), ended([1, 2]), False),
        (Lacks("out", [3]), ended([1], status=JobStatus.FAILED), False),
        (Violates("valve"), ended([], violated=("valve",)), True),
        (Violates("valve"), ended([], violated=("late-rows",)), False),
        (Ends("deadlocked"), ended([], status=JobStatus.DEADLOCKED), True),
        (Ends("deadlocked"), ended([], status=JobStatus.FAILED), False),
    ],
)
def test_goal_is_reached_by_what_it_describes_only(goal: Goal, run: EndedRun, is_reached: bool) -> None:
    assert goal.is_reached(run) is is_reached


def test_goal_over_a_sink_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadInput, match="goal: there is no sink 'lost', there are: out"):
        Contains("lost", [1]).is_reached(ended([1]))


@pytest.mark.parametrize("data", [{"kind": "wins"}, {"kind": "ends"}, {"kind": "ends", "status": "failed", "more": 1}])
def test_goal_of_another_form_is_refused(data: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert(data, Goal)
