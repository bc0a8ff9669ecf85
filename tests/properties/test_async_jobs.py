"""Scenarios with asynchronous calls: in chains, between exchanges, several in a row, both designs.

Latencies, silence, late answers, retries, capacities down to 1, narrow networks and every schedule: what comes out is
what the calls answer, with what takes the place of those whose time ran out, and every law holds.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.testing import DrawnScenario, JobRun, Schedule, async_jobs, run_job, schedules
from flowsim.testing.async_calls import Answer, AsyncStep, Reply, Retry, ScriptedCalls
from tests.support.examples import examples
from tests.support.faults import Fault
from tests.support.jobs.async_facts import calls_of, most_queued

pytestmark = pytest.mark.property


def check(job: DrawnScenario, run: JobRun) -> None:
    run.claim("the job finishes", run.result.status is JobStatus.FINISHED, run.result.report)
    for sink, expected in job.expected.items():
        run.claim(f"all that must come out at {sink} does", expected=expected, found=Counter(run.values(sink)))
    violated = [outcome.law for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED]
    run.claim("every law holds", not violated, violated)
    operators: dict[str, Any] = job.data["operators"]  # type: ignore[assignment]
    calls = [block["async"] for block in operators.values() if "async" in block]
    if len(calls) == 1:
        most = most_queued(run)
        run.claim("no more wait than there is space for", most <= calls[0].get("capacity", 100), most)


@settings(max_examples=examples(60), deadline=None)
@given(async_jobs(), schedules())
def test_output_equals_answers_of_calls_and_laws_hold(job: DrawnScenario, schedule: Schedule) -> None:
    check(job, run_job(job, schedule=schedule))


@settings(max_examples=examples(15), deadline=None)
@given(async_jobs(), schedules())
def test_equal_runs_record_equal_facts(job: DrawnScenario, schedule: Schedule) -> None:
    first, second = (run_job(job, schedule=schedule) for _ in range(2))
    first.claim("both runs record the same", first.facts.facts_digest() == second.facts.facts_digest())
    first.claim("and put out the same", first.outputs() == second.outputs(), first.outputs(), second.outputs())


def answer(number: int, latency: str, *results: str, **kind: object) -> dict[str, object]:
    """The answer of each third call, with so many numbers as results."""
    return {"when": f"n % 3 == {number}", "latency": latency, **(kind or {"results": [{"n": one} for one in results]})}


CALLS: dict[str, dict[str, object]] = {
    "ordered": {
        "mode": "ordered", "capacity": 1,
        "answers": [answer(0, "900 us", "n * 14"), answer(1, "0 ms", "n", "n + 17"), answer(2, "30 ms", "n * 3")],
    },
    "timeouts": {
        "mode": "unordered", "capacity": 2, "timeout": "60 ms", "on_timeout": {"select": {"n": "0 - n"}},
        "answers": [answer(0, "900 us", "n * 14"), answer(1, "0 ms", silent=True), answer(2, "0 ms", "n * 3")],
    },
    "retries": {
        "mode": "unordered", "capacity": 3, "timeout": "10 s",
        "retry": {"fixed": {"max_attempts": 2, "delay": "10 ms"}, "when_empty": True},
        "answers": [
            answer(0, "900 us"),
            {**answer(1, "0 ms", error="no answer"), "when": "n % 3 == 1 and attempt <= 2"},
            {"latency": "7 us", "results": [{"n": "n * 3 + attempt"}]},
        ],
    },
}  # fmt: skip


def one_operator(calls: dict[str, object]) -> DrawnScenario:
    subtasks = [[*({"record": [number]} for number in range(8)), {"sleep": "1 s"}]]
    source = {"script": {"fields": {"n": "long"}, "subtasks": subtasks}}
    asking = {"input": "numbers", "partition": "rebalance", "parallelism": 1, "async": calls}
    nodes = {"sources": {"numbers": source}, "operators": {"asked": asking}}
    return DrawnScenario({"flowsim": 1, "name": "calls", **nodes, "sinks": {"out": {"input": "asked", "collect": {}}}})


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize(
    "fault",
    ["async_head_lost", "async_emits_twice", "async_over_capacity", "async_calls_again", "async_results_swapped"],
)
def test_fault_makes_the_output_property_fail(calls: str, fault: str) -> None:
    job = one_operator(CALLS[calls])
    assert set(job.expected) == {"out"}
    check(job, run_job(job))
    with pytest.raises(AssertionError, match=f"reproduce: .*{fault}"):
        check(job, run_job(job, faults=[Fault(fault)]))


def test_model_computes_outcomes_of_steps_from_answers_alone() -> None:
    plain = AsyncStep("ordered", 1, (Answer(900), Answer(0, "two"), Answer(30_000)))
    timeouts = AsyncStep("unordered", 2, (Answer(900), Answer(50, "silent"), Answer(0)), timeout_ms=60)
    retry = Retry(2, 10, on_empty=True, on_error=True)
    answers = (Answer(900, "none"), Answer(0, "error"), Answer(7))
    retries = AsyncStep("unordered", 3, answers, timeout_ms=9_000, retry=retry)
    # 7 * number + 5 * attempt + salt chooses the answer.
    assert [plain.outcome(number) for number in (0, 1, 2)] == [(2,), (16,), (7, 19)]
    assert [timeouts.outcome(number) for number in (0, 1, 2)] == [(2,), (16,), (-3,)]
    assert [retries.outcome(number) for number in (0, 1, 2)] == [(2,), (17,), (32,)]
    assert retries.reply(0, 3).error is None, "there is no attempt after it"


# Jobs that fail.


@settings(max_examples=examples(30), deadline=None)
@given(
    count=st.integers(1, 12),
    failing=st.integers(0, 11),
    capacity=st.integers(1, 4),
    mode=st.sampled_from(["ordered", "unordered"]),
    latencies=st.lists(st.integers(0, 20), min_size=1, max_size=5),
    by_timeout=st.booleans(),
    schedule=schedules(),
)
def test_failing_call_fails_job_with_its_element(
    count: int, failing: int, capacity: int, mode: str, latencies: list[int], by_timeout: bool, schedule: Schedule
) -> None:
    """By an error, or by no answer at all in time; what came out before is a beginning of what had to come."""

    def reply(value: object, attempt: int) -> Reply:
        assert isinstance(value, int)
        if value == failing:
            return Reply(None) if by_timeout else Reply(latencies[0], error=ValueError("no such number"))
        return Reply(latencies[value % len(latencies)], (value,))

    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.add_source(ScriptedSource([record(number, None) for number in range(count)]))
    wait = AsyncDataStream.ordered_wait if mode == "ordered" else AsyncDataStream.unordered_wait
    wait(numbers, ScriptedCalls(reply), Duration.of_millis(50 if by_timeout else 0), capacity).name("asked")
    run = run_job(env, schedule=schedule)
    values = run.values("asked")
    if failing >= count:
        run.claim("nothing fails", run.result.status is JobStatus.FINISHED, run.result.error)
        run.claim("all come out", sorted(values) == list(range(count)), values)  # type: ignore[type-var]
        return
    run.claim("the job fails", run.result.status is JobStatus.FAILED, run.result.report)
    reported = str(run.result.error)
    run.claim("its element is named", f"operator asked, record {failing}:" in reported, reported)
    run.claim("what fails does not come out, nor anything twice", len({*values, failing}) == len(values) + 1, values)
    if mode == "ordered":
        run.claim("what came out is what stood before it", values == list(range(len(values))), values)
        run.claim("and no more", len(values) <= failing, values)
    asked = list(calls_of(run).values())
    run.claim("nobody is asked twice", all(attempts == [1] for attempts in asked), asked)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: AsyncStep("ordered", 1, ()), "needs at least one reply"),
        (lambda: AsyncStep("ordered", 1, (Answer(1, "silent"),)), "never complete or complete late needs a timeout"),
        (lambda: AsyncStep("ordered", 1, (Answer(5000),), timeout_ms=5), "a timeout above all its latencies"),
        (
            lambda: AsyncStep("ordered", 1, (Answer(5),), timeout_ms=5, design="legacy"),
            "the legacy design has no retry and no timeout",
        ),
        (lambda: Reply(-1), "after 0 ms or more"),
    ],
)
def test_schedule_dependent_steps_are_refused(wrong: object, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        wrong()  # type: ignore[operator]
