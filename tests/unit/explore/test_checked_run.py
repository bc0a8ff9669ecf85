"""Checked runs: what they violate or do not meet, and that a run depends on no run before it."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import BadInput
from flowsim.explore.checked_run import CheckedRun, check_run
from flowsim.facts.kinds import Level
from flowsim.laws.law import Verdict
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario, load_text
from flowsim.scenario.runner import run_compiled
from flowsim.sim.choice_token import COSTS, ChoiceToken, Sampled, job_id

REPOSITORY = Path(__file__).parents[3]
TWO_SOURCES = """\
flowsim: 1
name: two
sources:
  left: {collection: {fields: {n: long}, rows: [[1], [2], [3]]}}
  right: {collection: {fields: {n: long}, rows: [[4], [5], [6]]}}
operators:
  both: {input: [left, right], map: {add: {m: n * 2}}}
sinks:
  all: {input: both, collect: {}}
settings: {buffer_timeout: 0}
"""
STALE = "faults: [{fault: drop_element, operator: both, at: 1}]\n"
FIFO_ORDER = "results: {all: [[1, 2], [4, 8], [2, 4], [5, 10], [3, 6], [6, 12]]}"


def compile_two(text: str = "") -> CompiledScenario:
    folder = Path("/nowhere")
    return compile_scenario(load_text(TWO_SOURCES + text, "two.yaml", folder), out_dir=folder / "out")


def costs(compiled: CompiledScenario, seed: int) -> ChoiceToken:
    return ChoiceToken(job_id(compiled.scenario.digest()), (), "runtime", Sampled(COSTS, seed))


def check_costs(compiled: CompiledScenario, seed: int) -> CheckedRun:
    return check_run(compiled, costs(compiled, seed))


def test_random_costs_differ_by_seed_and_repeat_for_equal_seeds() -> None:
    first, again = ([check_costs(compile_two(), seed) for seed in range(6)] for _ in range(2))
    assert [run.digest for run in first] == [run.digest for run in again]
    assert (len({run.digest for run in first}), [run.found for run in first]) == (6, [[]] * 6)


SLOW = ("01", "03", "06", "07", "09", "14", "22", "32", "33", "40", "41d", "43")
SMALL = [path for path in sorted((REPOSITORY / "scenarios").glob("*.yaml")) if not path.stem.startswith("01")]
SHIPPED = [path for path in sorted((REPOSITORY / "scenarios").glob("*.yaml")) if not path.stem.startswith(SLOW)]


@pytest.mark.parametrize("scenario", SHIPPED, ids=lambda path: path.stem)
def test_run_of_scenario_is_the_same_after_other_runs_of_it(scenario: Path, tmp_path: Path) -> None:
    def compiled() -> CompiledScenario:
        return compile_scenario(load_scenario(scenario), out_dir=tmp_path / "out", allow_python=True)

    def digest(job: CompiledScenario, seed: int) -> str | None:
        return run_compiled(job, seed=seed, policy="random", record=Level.ELEMENTS, budget_records=1).digest

    job = compiled()
    first, second, again = [digest(job, seed) for seed in (1, 2, 1)]
    assert first is not None
    assert (again, digest(compiled(), 2)) == (first, second)


@pytest.mark.parametrize("scenario", SMALL, ids=lambda path: path.stem)
def test_shipped_scenario_has_no_finding(scenario: Path, pytestconfig: pytest.Config, tmp_path: Path) -> None:
    seeds = pytestconfig.getoption("--explored-seeds") or (3 if scenario in SHIPPED else 1)
    job = compile_scenario(load_scenario(scenario), out_dir=tmp_path / "out", allow_python=True)
    if job.phases:
        pytest.skip("a scenario with phases is not explored")
    runs = [check_costs(job, seed) for seed in range(1, 1 + seeds)]
    assert [run.found for run in runs] == [[]] * seeds
    vacuous = {one.law for one in runs[0].outcomes if one.verdict is Verdict.VACUOUS} - job.expect.laws.keys()
    examined = {one.law for run in runs for one in run.outcomes if one.rows_examined}
    assert vacuous <= examined


def test_expectation_of_the_scenarios_own_schedule_is_not_checked_under_others() -> None:
    assert [check_costs(compile_two(f"expect: {{{FIFO_ORDER}}}\n"), seed).found for seed in range(10)] == [[]] * 10


def test_expectation_of_every_schedule_is_a_finding_where_it_is_not_met() -> None:
    job = compile_two(f"expect: {{every_schedule: {{{FIFO_ORDER}}}}}\n")
    runs = [check_costs(job, seed) for seed in range(20)]
    assert any(run.unmet for run in runs)
    assert {what.partition(":")[0] for run in runs for what in run.found} == {"expected results of sink all not met"}


@pytest.mark.parametrize(
    ("expect", "fault", "found"),
    [
        ("{laws: {channel-fifo: violated}}", STALE, []),
        ("{laws: {channel-fifo: violated}, every_schedule: {rows: {all: 4}}}", STALE, []),
        (
            "{laws: {channel-fifo: violated}, every_schedule: {rows: {all: 5}}}",
            STALE,
            ["expected rows of sink all not met: 5"],
        ),
        ("{}", STALE, ["law channel-fifo violated"]),
        ("{every_schedule: {job: failed}}", "", ["expected job not met: failed"]),
        ("{job: failed}", "", []),
        ("{}", "", []),
    ],
)
def test_findings_depend_on_expected_verdicts_and_status(expect: str, fault: str, found: list[str]) -> None:
    assert check_costs(compile_two(f"expect: {expect}\n{fault}"), 1).found == found


def test_run_that_reaches_its_bounds_is_a_finding() -> None:
    job = compile_two()
    run = check_run(job, costs(job, 1), bounds=RunBounds(steps=20))
    assert (run.status, run.found) == (JobStatus.FAILED, ["expected job not met: finished"])


def test_token_of_another_job_and_missing_recording_are_refused() -> None:
    job, other = compile_two(), compile_two(STALE)
    with pytest.raises(BadInput, match="the token belongs to another job"):
        check_run(job, costs(other, 1))
    with pytest.raises(BadInput, match="use recording level elements or full, not off"):
        check_run(job, costs(job, 1), record=Level.OFF)
