"""A study: every combination is run once.

Rows are written when they are ready, so that an interruption loses no row.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import replace

from flowsim.errors import BadInput, ScenarioError, did_you_mean
from flowsim.scenario.loader import Scenario, load_scenario
from flowsim.scenario.scenario_model import ScenarioModel
from flowsim.studies.directory import CSV_FILE, JSON_FILE, PLOT_FILE, TABLE_FILE, StudyDirectory
from flowsim.studies.files import csv_text, json_text, table_text
from flowsim.studies.plot import plot_svg
from flowsim.studies.processes import run_in_processes
from flowsim.studies.run import Study, StudyPlan, StudyRow, run_combination
from flowsim.studies.variation import Combination, Variation, combinations_of

OnRow = Callable[[StudyRow, int], object]
"""Called for each new row, with the number of rows so far."""


def run_study(
    plan: StudyPlan,
    variations: Sequence[Variation],
    directory: StudyDirectory,
    *,
    jobs: int = 1,
    plot: bool = True,
    on_row: OnRow | None = None,
) -> Study:
    """Runs all combinations, ``jobs`` at a time in separate processes, and writes the study's files.

    Raises BadInput before any run if a combination is invalid. Raises KeyboardInterrupt after writing the files of the
    rows so far.
    """
    combinations = list(combinations_of(variations))
    _check(plan, combinations, directory)
    base = _base(plan)
    seed = plan.seed if plan.seed is not None else base.model.settings.seed
    study = Study(base.model.name, base.digest(), seed, plan.overrides, tuple(variations), ())
    directory.begin()
    directory.write(JSON_FILE, json_text(study))
    try:
        with closing(_rows(plan, combinations, directory, jobs)) as rows:
            for row in rows:
                study = _with_row(study, row)
                directory.write(JSON_FILE, json_text(study))
                if on_row is not None:
                    on_row(row, len(study.rows))
    finally:
        if study.rows:
            directory.write(CSV_FILE, csv_text(study))
            directory.write(TABLE_FILE, table_text(study))
            if plot:
                directory.write(PLOT_FILE, plot_svg(study))
        directory.remove_runs()
    return study


def _rows(
    plan: StudyPlan, combinations: Sequence[Combination], directory: StudyDirectory, jobs: int
) -> Generator[StudyRow]:
    tasks = [(plan, combination, directory.run(combination.number)) for combination in combinations]
    if jobs > 1 and len(tasks) > 1:
        yield from run_in_processes(tasks, jobs)
    else:
        for task in tasks:
            yield run_combination(*task)


def _with_row(study: Study, row: StudyRow) -> Study:
    rows = sorted((*study.rows, row), key=lambda one: one.combination.number)
    return replace(study, rows=tuple(rows))


def _base(plan: StudyPlan) -> Scenario:
    return load_scenario(plan.scenario, plan.overrides, plan.limits)


def _check(plan: StudyPlan, combinations: Sequence[Combination], directory: StudyDirectory) -> None:
    """Raises BadInput before the first run if the scenario or a combination is invalid; the scenario's errors first."""
    plan.compiled(Combination(0, {}), directory.run(0))
    _check_keys(plan, combinations[0].values)
    for combination in combinations:
        try:
            plan.compiled(combination, directory.run(combination.number)).stream_graph()
        except ScenarioError as error:
            raise BadInput(f"--vary: the scenario cannot be run with {combination.text}:\n{error}") from None


def _check_keys(plan: StudyPlan, keys: Iterable[str]) -> None:
    """Raises BadInput for a varied key that the scenario does not have or that an option sets for all runs."""
    decided = {"settings.seed": plan.seed, "settings.policy": plan.policy, "settings.until": plan.until_ns}
    for key in keys:
        top = key.partition(".")[0].partition("[")[0]
        if top not in ScenarioModel.model_fields:
            raise BadInput(f"--vary {key}: a scenario has no {top!r}{did_you_mean(top, ScenarioModel.model_fields)}")
        if decided.get(key) is not None:
            option = key.removeprefix("settings.")
            raise BadInput(f"--vary {key}: --{option} sets it for every run: remove one of the two")
