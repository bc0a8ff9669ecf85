"""Explorations: one run per seed, distinct recordings, and where they stop."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.cluster.job_execution import JobStatus
from flowsim.errors import BadInput
from flowsim.explore.explore import Exploration, Step, explore, explore_once
from flowsim.explore.seeded_schedules import (
    FifoSchedules,
    RandomSchedules,
    ScriptedSchedule,
    strategy_of,
    strategy_of_token,
)
from flowsim.explore.token import Token
from flowsim.facts.kinds import Level
from flowsim.facts.schema import CHOICES
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario, load_text
from flowsim.scenario.runner import run_compiled

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
expect: {every_schedule: {rows: {all: 6}}}
"""
STALE = "faults: [{fault: drop_element, operator: both, at: 1}]\n"


def compile_two(faults: str = "") -> CompiledScenario:
    folder = Path("/nowhere")
    return compile_scenario(load_text(TWO_SOURCES + faults, "two.yaml", folder), out_dir=folder / "out")


def test_random_schedules_differ_by_seed_and_repeat_for_equal_seeds() -> None:
    first = explore(compile_two(), RandomSchedules(), range(6))
    assert (first.runs, first.distinct, first.findings) == (6, 6, [])
    assert explore(compile_two(), RandomSchedules(), range(6)).digests == first.digests


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
    found = explore(job, RandomSchedules(), range(1, 1 + seeds), until_violation=False)
    assert (found.findings, found.never_examined) == ([], ())


def test_fifo_schedule_gives_same_recording_for_every_seed() -> None:
    assert explore(compile_two(), FifoSchedules(), range(4)).distinct == 1


def test_exploration_stops_at_first_finding_unless_disabled() -> None:
    reported: list[Step] = []
    found = explore(compile_two(STALE), RandomSchedules(), range(10, 20), on_step=lambda step, _: reported.append(step))
    assert [step.seed for step in reported] == [10]
    assert found.first_finding is reported[0]
    assert [outcome.law for outcome in reported[0].violated] == ["channel-fifo"]
    assert [outcome.what for outcome in reported[0].unmet] == ["rows of sink all"]
    everything = explore(compile_two(STALE), RandomSchedules(), range(3), until_violation=False)
    assert (everything.runs, len(everything.findings)) == (3, 3)


ORDER = TWO_SOURCES.replace("{every_schedule: {rows: {all: 6}}}", "EXPECT")
FIFO_ORDER = "results: {all: [[1, 2], [4, 8], [2, 4], [5, 10], [3, 6], [6, 12]]}"


def explore_order(expect: str, **options: bool) -> Exploration:
    text = ORDER.replace("EXPECT", expect) + "settings: {buffer_timeout: 0, budget_records: 1}\n"
    compiled = compile_scenario(load_text(text, "two.yaml", Path("/nowhere")), out_dir=Path("/nowhere/out"))
    assert [outcome.met for outcome in run_compiled(compiled).expectations] == [True] * 2
    return explore(compiled, RandomSchedules(), range(1, 31), **options)


def test_expectation_of_the_scenarios_own_schedule_is_not_checked_under_others() -> None:
    found = explore_order(f"{{{FIFO_ORDER}}}")
    assert (found.runs, found.findings, found.unmet) == (30, [], {})


def test_expectation_of_every_schedule_counts_runs_without_hiding_later_seeds() -> None:
    found = explore_order(f"{{every_schedule: {{{FIFO_ORDER}}}}}")
    assert found.runs == 30
    unmet = found.unmet["results of sink all"]
    assert 0 < unmet.runs == len(found.findings)
    assert found.first_finding is found.findings[0] is unmet.step


def test_violation_after_unmet_expectation_ends_exploration_and_comes_first() -> None:
    faulty = compile_two("faults: [{fault: drop_element, operator: both, at: 1}]\n")
    honest = explore_order(f"{{every_schedule: {{{FIFO_ORDER}}}}}")
    found = Exploration()
    found.add(honest.findings[0])
    violation = explore_once(faulty, RandomSchedules(), 1)
    found.add(violation)
    assert (honest.findings[0].is_violation, violation.is_violation) == (False, True)
    assert found.first_finding is violation


@pytest.mark.parametrize(
    ("expect", "fault", "findings"),
    [
        ("{laws: {channel-fifo: violated}}", STALE, 0),
        ("{laws: {channel-fifo: violated}, every_schedule: {rows: {all: 4}}}", STALE, 0),
        ("{laws: {channel-fifo: violated}, every_schedule: {rows: {all: 5}}}", STALE, 3),
        ("{}", STALE, 3),
        ("{every_schedule: {job: failed}}", "", 3),
        ("{job: failed}", "", 0),
        ("{}", "", 0),
    ],
)
def test_findings_depend_on_expected_verdicts_and_status(expect: str, fault: str, findings: int) -> None:
    text = ORDER.replace("EXPECT", expect) + fault
    compiled = compile_scenario(load_text(text, "two.yaml", Path("/nowhere")), out_dir=Path("/nowhere/out"))
    found = explore(compiled, RandomSchedules(), range(1, 4), until_violation=False)
    assert len(found.findings) == findings


def test_recorded_choices_reproduce_run_as_script() -> None:
    random = run_compiled(compile_two(), seed=5, policy="random", record=Level.FULL, budget_records=1)
    assert random.facts is not None
    choices = tuple(row[1] for row in random.facts.rows(CHOICES.name))
    assert choices
    scripted = explore_once(compile_two(), ScriptedSchedule(choices), 5)
    assert scripted.digest == random.digest
    token = Token.parse(str(scripted.token))
    assert explore_once(compile_two(), strategy_of_token(token), token.seed).digest == random.digest


def test_token_reproduces_its_run() -> None:
    step = explore_once(compile_two(), RandomSchedules(), 3)
    token = Token.parse(str(step.token))
    token.check_scenario(compile_two().scenario.digest())
    again = explore_once(compile_two(), strategy_of_token(token), token.seed, budget_records=token.budget_records)
    assert (again.status, again.digest) == (JobStatus.FINISHED, step.digest)


def test_laws_without_examined_rows_are_named() -> None:
    empty = TWO_SOURCES.replace("[[1], [2], [3]]", "[]").replace("[[4], [5], [6]]", "[]").replace("all: 6", "all: 0")
    keyed = empty.replace(
        "input: [left, right], map: {add: {m: n * 2}}", "input: [left, right], key_by: n, reduce: {n: max}"
    )
    folder = Path("/nowhere")
    found = explore(
        compile_scenario(load_text(keyed, "empty.yaml", folder), out_dir=folder / "out"),
        RandomSchedules(), range(2),
    )  # fmt: skip
    assert found.never_examined == ("key-routing",)
    expected = keyed.replace("expect: {", "expect: {laws: {key-routing: vacuous}, ")
    job = compile_scenario(load_text(expected, "empty.yaml", folder), out_dir=folder / "out")
    assert explore(job, RandomSchedules(), range(2)).never_examined == ()


def test_exploration_without_recording_or_with_unknown_policy_is_refused() -> None:
    with pytest.raises(BadInput, match="use recording level elements or full"):
        explore(compile_two(), RandomSchedules(), range(1), record=Level.OFF)
    with pytest.raises(BadInput, match="there is no policy 'pct'"):
        strategy_of("pct")


def test_exploration_without_seeds_has_no_finding() -> None:
    assert Exploration().first_finding is None
    assert explore(compile_two(), RandomSchedules(), ()).runs == 0
