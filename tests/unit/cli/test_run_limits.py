"""Jobs without end fail at the limits of a run: its steps, its virtual time, and its restarts."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import flowsim as api
from flowsim.cluster.job_status import JobStatus
from flowsim.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.errors import RunTooLong
from flowsim.explore.checked_run import check_run
from flowsim.limits import DEFAULT_LIMITS, Limits
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.sim import virtual_time_loop
from flowsim.sim.choice_token import ChoiceToken, job_id
from flowsim.testing import RunBounds, run_job

ENDLESS = """\
flowsim: 1
name: endless
settings: {checkpointing: {interval: 100 ms}}
sources:
  orders:
    generator: {count: 200, pace: 5 ms, fields: {n: {sequence: {}}}}
operators:
  divided: {input: orders, map: {add: {share: "100 // (n - 50)"}}}
sinks:
  out: {input: divided, collect: {}}
"""
"""A record that always fails, with Flink's default restart strategy, which has no limit."""
ENDS = [
    ("steps=500", "after 500 steps"),
    ("virtual_time=5s", "after 5000 ms of virtual time"),
    ("virtual_time=5000", "after 5000 ms of virtual time"),
    ("restarts=2", "after 2 restarts"),
]


@pytest.fixture(autouse=True)
def scenario(tmp_path: Path) -> Path:
    path = tmp_path / "endless.yaml"
    path.write_text(ENDLESS)
    return path


@pytest.mark.parametrize(("limit", "after"), ENDS)
def test_run_fails_at_limit_and_its_recording_is_readable(flowsim: Any, tmp_path: Path, limit: str, after: str) -> None:
    called = flowsim("run", "endless.yaml", "--out", "o", "--limit", limit)
    name = limit.partition("=")[0]
    assert called.code == 3
    assert "endless: failed after" in called.out
    assert (
        f"{after}: it works without end, or needs a higher limit {name} (--limit {name}=N raises the limit)"
        in called.out
    )
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.FAILED
    assert recording.manifest.failure is not None
    assert f"--limit {name}=N" in recording.manifest.failure.cause
    assert recording.to_arrow("restarts").num_rows
    assert flowsim("replay", "o", "--limit", limit).code == 0
    assert flowsim("checkpoints", "o").code == 0
    assert flowsim("validate", "o", "--engine", "python").code != 2


def test_limit_of_restarts_names_last_failure_which_restarts_nothing(flowsim: Any) -> None:
    document = flowsim("run", "endless.yaml", "--out", "o", "--limit", "restarts=2", "--json").document
    assert "the last failure: job failed in task" in document["error"]["message"]
    assert "operator divided, record (50,): ZeroDivisionError" in document["error"]["message"]
    assert (document["restarts"], [len(each["restarted"]) for each in document["failures"]]) == (2, [1, 1, 0])


def test_limit_fails_job_of_which_the_scenario_expects_that_it_fails(flowsim: Any, scenario: Path) -> None:
    scenario.write_text(ENDLESS + "expect: {job: failed}\n")
    assert flowsim("run", "endless.yaml", "--out", "o", "--limit", "steps=500").code == 3


@pytest.mark.parametrize(("limit", "after"), ENDS)
def test_limit_holds_for_explore_study_and_python(flowsim: Any, scenario: Path, limit: str, after: str) -> None:
    explored = flowsim("explore", "endless.yaml", "--space", "runtime", "--runs", "1", "--limit", limit)
    assert (explored.code, after in explored.out) == (3, True)
    assert "violations" not in explored.out
    studied = flowsim(
        "study", "endless.yaml", "--vary", "settings.seed=1", "--out", "s", "--json", "--limit", limit, "--no-plot"
    )
    assert studied.code == 3
    assert after in studied.document["rows"][0]["error"]
    name, _, value = limit.partition("=")
    limits = Limits(**{name: 5_000 if name == "virtual_time" else int(value)})
    result = api.run_scenario(scenario, limits=limits).result
    assert (result.status, type(result.error)) == (JobStatus.FAILED, RunTooLong)
    assert after in str(result.error)


class _Polls(AsyncFunction):
    """Waits for an answer in a loop that gives up its turn each time."""

    async def async_invoke(self, value: object) -> list[object]:
        while True:
            await asyncio.sleep(0)


def _polling(settings: dict[str, object] | None = None) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    AsyncDataStream.unordered_wait(env.from_collection([1]), _Polls(), Time.seconds(1), 2).name("asks")
    return env.flowsim_settings(**(settings or {}))  # type: ignore[arg-type]


def test_limit_holds_for_jobs_of_python_programs_and_tests() -> None:
    with pytest.raises(RunTooLong, match="after 300 steps"):
        _polling({"limits": Limits(steps=300)}).execute()
    run = run_job(_polling(), limits=Limits(steps=300))
    assert (run.result.status, "limits=Limits(" in run.reproduce) == (JobStatus.FAILED, True)
    assert "--limit steps=N" in str(run.result.error)


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (RunBounds(steps=200), "after 200 steps: it works without end, or needs higher bounds"),
        (RunBounds(steps=400), "after 300 steps: it works without end, or needs a higher limit steps"),
        (RunBounds(), "after 300 steps: it works without end, or needs a higher limit steps"),
    ],
)
def test_tighter_one_of_bounds_and_limits_ends_run(bounds: RunBounds, expected: str) -> None:
    assert expected in str(run_job(_polling(), bounds=bounds, limits=Limits(steps=300)).result.error)


def test_bound_of_restarts_ends_run(scenario: Path) -> None:
    compiled = compile_scenario(load_scenario(scenario), out_dir=Path("never-written"))
    token = ChoiceToken(job_id(compiled.scenario.digest()), (), "runtime")
    run = check_run(compiled, token, bounds=RunBounds(restarts=1))
    assert (bool(run.found), "after 1 restarts" in str(run.error)) == (True, True)


def test_polling_at_one_instant_fails_job_and_its_recording_is_readable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(virtual_time_loop, "_LIVELOCK_CALLBACKS", 20_000)
    with pytest.raises(RunTooLong, match="something polls in a loop"):
        _polling().flowsim_recording(tmp_path / "o").execute()
    assert Recording.open(tmp_path / "o").status is RunStatus.FAILED


def test_defaults_end_job_that_restarts_without_end(scenario: Path) -> None:
    result = api.run_scenario(
        scenario, overrides=["settings.restart_strategy={fixed_delay: {attempts: 5000, delay: 1 ms}}"]
    )
    assert result.result.restarts == DEFAULT_LIMITS.restarts
