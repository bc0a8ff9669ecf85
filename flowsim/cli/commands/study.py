"""``flowsim study``: runs a scenario with every combination of some values and compares the recordings."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, duration_argument
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, PolicyName, ScenarioFile, Seed, Set, Until
from flowsim.cli.progress import count_progress
from flowsim.cli.tables import Column, show_table
from flowsim.limits import limits_of
from flowsim.studies.directory import StudyDirectory
from flowsim.studies.files import study_data, table_of
from flowsim.studies.plot import require_plotting
from flowsim.studies.run import Study, StudyPlan, StudyRow
from flowsim.studies.study import run_study
from flowsim.studies.variation import combinations_of, parse_variations

Vary = Annotated[
    list[str],
    typer.Option(
        "--vary",
        metavar="KEY=V1,V2,...",
        show_default=False,
        help="A key of the scenario and its values, e.g. settings.seed=1,2,3. May be repeated: every combination is run.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", metavar="DIR", help="Directory for the study and its runs; default out/<scenario>-study."),
]
Jobs = Annotated[
    int, typer.Option("--jobs", min=1, max=64, help="How many runs execute at the same time, each in its own process.")
]
Keep = Annotated[
    bool,
    typer.Option(
        "--keep/--discard", help="Keep the recordings and results of the runs, or delete them after each measurement."
    ),
]
Plot = Annotated[bool, typer.Option("--plot/--no-plot", help="Draw study.svg; needs the extra 'study'.")]


@command
def study(
    scenario: ScenarioFile,
    vary: Vary,
    out: Out = None,
    set_: Set = None,
    limit: Limit = None,
    seed: Seed = None,
    policy: PolicyName = None,
    until: Until = None,
    jobs: Jobs = 1,
    keep: Keep = True,
    plot: Plot = True,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    json_output: Json = False,
) -> Answer:
    """Run a scenario with every combination of the given values and compare throughput, latency and late rows.

    Every combination runs on the virtual clock at recording level elements. All numbers come from the recordings.
    """
    variations = parse_variations(vary)
    if plot:
        require_plotting()
    plan = StudyPlan(
        scenario,
        tuple(set_ or ()),
        seed,
        policy,
        duration_argument("--until", until),
        allow_python,
        allow_path,
        keep,
        limits_of(limit or ()),
    )
    directory = out or Path("out") / f"{scenario.stem}-study"
    total = sum(1 for _ in combinations_of(variations))
    with count_progress("studying", json_output) as progress:

        def on_row(row: StudyRow, done: int) -> None:
            progress(done, total, row.combination.text)

        progress(0, total)
        made = run_study(plan, variations, StudyDirectory(directory), jobs=jobs, plot=plot, on_row=on_row)
    return _answer(made, directory)


def _answer(found: Study, directory: Path) -> Answer:
    code = ExitCode.JOB_FAILED if any(row.is_unexpected for row in found.rows) else ExitCode.FINE
    document: dict[str, Any] = {**study_data(found), "out": str(directory), "exit_code": int(code)}
    return Answer(document, lambda console: _show(console, found, directory), code)


def _show(console: Console, found: Study, directory: Path) -> None:
    headings, rows = table_of(found)
    varied = len(found.variations)
    show_table(console, headings[:varied], [Column(heading) for heading in headings[varied:]], rows)
    if not found.async_operators:
        console.print("the job has no async operator: there is no latency, queue or wait to measure")
    for row in found.rows:
        if row.error is not None:
            console.print(f"{row.combination.text}: {row.status}: {row.error}", style="bold red", soft_wrap=True)
    console.print(f"study     {directory}", soft_wrap=True)
