"""Laws in explored runs, in which tasks and timers can be late."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.explore.checked_run import check_run
from flowsim.explore.job_exploration import explore_job
from flowsim.laws.lateness import without_lateness
from flowsim.laws.law import Outcome, Verdict
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import ExploringPolicy, Space
from flowsim.validation.recorded_run import EXPLORED
from tests.support.explore.tiny_jobs import compiled, explored

LATE = {"what": "a due timer did not fire", "task": 0}
FIRED = {"what": "a timer that is not registered is fired or deleted", "task": 0}
OTHER = {"what": "a timer fired twice", "task": 0}


@pytest.mark.parametrize(
    ("evidence", "verdict"),
    [
        ((LATE,), Verdict.NOT_APPLICABLE),
        ((LATE, FIRED), Verdict.NOT_APPLICABLE),
        ((FIRED,), Verdict.VIOLATED),
        ((LATE, OTHER), Verdict.VIOLATED),
        (({"what": "a mail could run, but the task waits"},), Verdict.NOT_APPLICABLE),
        (({"what": "deadlocked"},), Verdict.VIOLATED),
    ],
)
def test_law_does_not_apply_if_all_of_its_evidence_is_late(
    evidence: tuple[dict[str, Any], ...], verdict: Verdict
) -> None:
    (outcome,) = without_lateness([Outcome("timers", Verdict.VIOLATED, 9, len(evidence), evidence)])
    assert outcome.verdict is verdict
    assert outcome.evidence == (evidence if verdict is Verdict.VIOLATED else ())
    assert bool(outcome.reason) == (verdict is not Verdict.VIOLATED)


JOB = {
    "flowsim": 1,
    "name": "alarms",
    "settings": {
        "buffer_timeout": 0,
        "checkpointing": {"interval": "1 h"},
        "restart_strategy": {"fixed_delay": {"delay": "10 ms"}},
    },
    "sources": {"rows": {"script": {"fields": {"key": "string"}, "subtasks": [[{"record": ["a"]}, {"sleep": "1 s"}]]}}},
    "operators": {
        "alarms": {
            "input": "rows",
            "key_by": "key",
            "alarm": {"after": "300 ms", "time": "processing", "emit": {"key": "key"}},
        }
    },
    "sinks": {"out": {"input": "alarms", "collect": {}}},
    "actions": [{"checkpoint": {"at": "100 ms"}}],
    "failures": [{"fail_task": {"task": "alarms", "at": "200 ms"}}],
}


@pytest.mark.parametrize("space", ["order", "runtime"])
def test_no_law_is_violated_because_time_passed_first(space: Space) -> None:
    job, scenario = explored(JOB, space), compiled(JOB)
    tokens: list[ChoiceToken] = []
    explore_job(job, 25, strategy="uniform", on_run=lambda token, _: tokens.append(token))
    steps = [check_run(scenario, token) for token in tokens]
    assert [outcome for step in steps for outcome in step.violated] == []
    late = {outcome.law for step in steps for outcome in step.outcomes if "time can pass before" in outcome.reason}
    assert late & {"timers", "restored-timers", "progress"}


def test_recordings_of_explored_runs_have_the_policy_of_explorations() -> None:
    assert ExploringPolicy.name == EXPLORED
