"""Runs that work without end are ended, with what their tasks wait for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from flowsim.cluster.mini_cluster import JobStatus
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.errors import BadInput, RunTooLong
from flowsim.laws.law import Verdict
from flowsim.testing import RunBounds, assert_laws, assert_same_output_for_all_schedules, run_job
from flowsim.testing.bounds import DEFAULT_BOUNDS, default_bounds, set_default_bounds

BOUNDS = RunBounds(steps=500)


class Polls(AsyncFunction):
    """Waits for an answer in a loop that gives up its turn each time."""

    async def async_invoke(self, value: object) -> list[object]:
        while True:
            await asyncio.sleep(0)


class Rearms(KeyedProcessFunction):
    """Sets a timer that sets the next one."""

    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> None:
        ctx.timer_service().register_processing_time_timer(ctx.timer_service().current_processing_time() + 10)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> None:
        ctx.timer_service().register_processing_time_timer(timestamp + 10)


def polling() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    AsyncDataStream.unordered_wait(env.from_collection([1]), Polls(), Time.seconds(1), 2).name("asks")
    return env


def rearming() -> StreamExecutionEnvironment:
    """Its source stays for a million hours, so that the timers go on."""
    env = StreamExecutionEnvironment.get_execution_environment()
    source = ScriptedSource([record(1), sleep(3_600_000 * 10**6)])
    env.add_source(source).key_by(lambda value: value).process(Rearms()).name("rearms")
    return env


def test_polling_job_ends_at_step_bound_and_names_waits() -> None:
    run = run_job(polling(), bounds=BOUNDS)
    assert (run.result.status, type(run.result.error)) == (JobStatus.FAILED, RunTooLong)
    message = str(run.result.error)
    assert message.startswith("the run was ended after 500 steps: it works without end, or needs higher bounds")
    assert "operator asks waits for" in message
    assert run.result.report in message
    assert [outcome.law for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == []


def test_job_with_endless_timers_ends_at_virtual_time_bound() -> None:
    run = run_job(rearming(), bounds=RunBounds(virtual_ms=1_000))
    assert (run.result.status, run.result.elapsed_ns) == (JobStatus.FAILED, 10**9)
    assert "after 1000 ms of virtual time" in str(run.result.error)


def test_job_without_bounds_has_default_bounds() -> None:
    run = run_job(polling())
    assert f"after {DEFAULT_BOUNDS.steps} steps" in str(run.result.error)


def test_time_limit_of_test_is_no_error() -> None:
    run = run_job(rearming(), until_ms=500, bounds=RunBounds(virtual_ms=1_000))
    assert (run.result.status, run.result.error, run.result.elapsed_ns) == (JobStatus.STOPPED, None, 5 * 10**8)


def test_job_within_bounds_equals_job_without_bounds() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(range(20)).rebalance().map(lambda n: n).set_parallelism(3)
    bounded, unbounded = run_job(env), run_job(env, bounds=RunBounds())
    assert bounded.result.status is JobStatus.FINISHED
    assert bounded.facts.facts_digest() == unbounded.facts.facts_digest()


def test_assertions_raise_error_with_line_that_reproduces_it() -> None:
    for check in (
        lambda: assert_laws(polling(), bounds=BOUNDS),
        lambda: assert_same_output_for_all_schedules(polling, bounds=BOUNDS),
    ):
        with pytest.raises(RunTooLong) as ended:
            check()
        note, data = ended.value.__notes__
        assert note.startswith("reproduce: run_job(job, schedule=")
        assert note.endswith("bounds=RunBounds(steps=500, virtual_ms=None, restarts=None))")
        assert data == "data: CollectionSource([1])"


@pytest.mark.parametrize("bounds", [{"steps": 0}, {"steps": -1}, {"steps": 1.5}, {"virtual_ms": True}])
def test_invalid_bounds_are_refused(bounds: dict[str, int]) -> None:
    with pytest.raises(BadInput, match=r"expected an integer >= 1 or None"):
        RunBounds(**bounds)


@pytest.fixture
def restored() -> Iterator[None]:
    yield
    set_default_bounds(DEFAULT_BOUNDS)


@pytest.mark.usefixtures("restored")
def test_default_bounds_can_be_changed_for_process() -> None:
    set_default_bounds(BOUNDS)
    assert default_bounds() == BOUNDS
    assert "after 500 steps" in str(run_job(polling()).result.error)
