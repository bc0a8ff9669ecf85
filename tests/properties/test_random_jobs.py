"""Random jobs and schedules: every job finishes, the output equals the model of its blocks, and every law holds."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from flowsim.cluster.job_execution import JobStatus
from flowsim.laws.law import Verdict
from flowsim.testing import DrawnScenario, Schedule, random_jobs, run_job, schedules
from tests.support.examples import examples

pytestmark = pytest.mark.property


@settings(max_examples=examples(120), deadline=None)
@given(random_jobs(), schedules())
def test_output_equals_model_of_blocks_and_laws_hold(job: DrawnScenario, schedule: Schedule) -> None:
    run = run_job(job, schedule=schedule)
    assert run.result.status is JobStatus.FINISHED, run.result.report
    assert {sink: Counter(run.values(sink)) for sink in job.expected} == job.expected
    assert [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == []


@settings(max_examples=examples(30), deadline=None)
@given(random_jobs(max_sources=1, max_operators=2, max_parallelism=2, max_entries=5))
def test_job_has_given_sizes_and_finishes_by_itself(job: DrawnScenario) -> None:
    sources, operators = job.compiled().stream_graph().nodes, job.data["operators"]
    assert all(node.parallelism <= 2 for node in sources.values() if node.source is not None)
    assert len(job.data["sources"]) == 1  # type: ignore[arg-type]  # a mapping
    assert operators
    assert "phases" not in job.data
    actions: list[dict[str, object]] = job.data.get("actions", [])  # type: ignore[assignment]
    assert not any(kind in action for action in actions for kind in ("stop", "cancel"))
