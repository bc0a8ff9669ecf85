"""Each puzzle can be solved, not by the default order, and its command repeats the solution."""

from __future__ import annotations

import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.explore.job_exploration import explore_job
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.play.goal import EndedRun, Goal, Holds, Lacks, Violates
from flowsim.play.played_run import PlayedRun, play
from flowsim.play.puzzle import FOLDER, Puzzle, puzzle_of, puzzles
from flowsim.recording.reader import Recording
from flowsim.sim.choice_token import ChoiceToken
from tests.support.played import game_of_puzzle, subject_of

NAMES = [puzzle.name for puzzle in puzzles()]


def is_reached(goal: Goal, run: PlayedRun) -> bool:
    status = "complete" if run.outcome.status.value == "finished" else "failed"
    violated = [outcome.law for outcome in check_all(run.facts, status) if outcome.verdict is Verdict.VIOLATED]
    return goal.is_reached(EndedRun(run.outcome, violated))


def choices_of(token: ChoiceToken) -> list[int]:
    options = dict(token.deviations)
    return [options.get(number, 0) for number in range(max(options, default=-1) + 1)]


@cache
def solutions(name: str) -> list[tuple[int, ...]]:
    """The choices of one run of each result of the order space that reaches the goal; the search has finished.

    Runs with equal results can differ in the laws that they violate, so a goal that is a law needs all runs.
    """
    puzzle = puzzle_of(name)
    job = subject_of(puzzle.scenario, Path("/nowhere")).job
    tokens: list[ChoiceToken] = []
    of_law = isinstance(puzzle.goal, Violates)
    found = explore_job(job, 5_000, on_run=lambda token, is_new: tokens.append(token) if is_new or of_law else None)
    assert found.is_complete
    runs = [play(job, choices_of(token), pauses=False) for token in tokens]
    reached = [run for run in runs if is_reached(puzzle.goal, run)]
    return [tuple(step.chosen for step in run.source.steps if step.choice is not None) for run in reached]


def test_there_are_puzzles_with_each_kind_of_goal() -> None:
    assert len(NAMES) == len(set(NAMES)) >= 6
    assert {type(puzzle.goal).__name__ for puzzle in puzzles()} == {"Holds", "Contains", "Lacks", "Ends", "Violates"}
    assert {file.stem for file in FOLDER.glob("*.yaml")} == {*NAMES, "goals"}


@pytest.mark.parametrize("name", NAMES)
def test_default_order_does_not_solve_the_puzzle(name: str, tmp_path: Path) -> None:
    state = game_of_puzzle(name, tmp_path).finish()
    assert state["ended"] == {"status": "finished", "cause": ""}
    assert not state["solved"]


@pytest.mark.parametrize("name", NAMES)
def test_search_solves_the_puzzle_in_few_choices(name: str) -> None:
    found = solutions(name)
    assert found, "the goal cannot be reached"
    assert 3 <= min(map(len, found)) <= 10


@pytest.mark.parametrize("name", NAMES)
def test_command_of_a_solution_repeats_it(name: str, tmp_path: Path) -> None:
    game = game_of_puzzle(name, tmp_path)
    for made, option in enumerate(min(solutions(name), key=len)):
        game.choose(made, option)
    state = game.state()
    assert state["solved"]
    assert state["ended"] is not None
    command, *arguments = shlex.split(state["command"])
    assert command == "flowsim"
    CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "again")])
    again = Recording.open(tmp_path / "again/recording")
    assert again.manifest.facts_digest == game.recording(game.choices).manifest.facts_digest


@pytest.mark.parametrize("name", NAMES)
def test_goal_names_what_the_job_has(name: str) -> None:
    puzzle: Puzzle = puzzle_of(name)
    goal: Any = puzzle.goal
    if isinstance(goal, Violates):
        assert goal.law in {law.id for law in LAWS}
    if isinstance(goal, Holds | Lacks):
        job = subject_of(puzzle.scenario, Path("/nowhere")).job
        assert goal.sink in play(job, (), pauses=False).outcome.rows
