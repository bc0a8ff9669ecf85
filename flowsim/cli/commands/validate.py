"""``flowsim validate``: checks recordings against the laws."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flowsim.cli.command import Answer, command
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.judging import Judge, laws_that_begin_with
from flowsim.cli.options import AllowPath, AllowPython, Engine, Json, Limit, Master, Remote, Verbose
from flowsim.cli.progress import count_progress
from flowsim.cli.recorded_scenarios import recompute_plan
from flowsim.cli.verdicts import OpenedRuns, report_data, show_report
from flowsim.limits import limits_of
from flowsim.scenario.new_file import new_file
from flowsim.validation.junit import to_junit

Recordings = Annotated[
    list[str],
    typer.Argument(
        metavar="RECORDING...",
        help="Recordings: output directories of 'flowsim run --out', or URIs that Spark reads, such as s3a://bucket/run.",
        show_default=False,
    ),
]
Laws = Annotated[
    list[str] | None,
    typer.Option(
        "--law",
        metavar="ID|FILE.sql",
        autocompletion=laws_that_begin_with,
        help="Check only this law. A SQL file adds a query to the laws. May be repeated.",
    ),
]
Folder = Annotated[
    Path | None, typer.Option("--folder", metavar="DIR", help="The folder of the recorded scenario, if it was moved.")
]

AllowSql = Annotated[bool, typer.Option("--allow-sql", help="Allow --law FILE.sql to run the query in the file.")]
JUnit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE", help="Also write the verdict as JUnit XML.", show_default=False),
]


@command
def validate(
    recordings: Recordings,
    law: Laws = None,
    engine: Engine = "auto",
    master: Master = None,
    remote: Remote = None,
    folder: Folder = None,
    limit: Limit = None,
    junit: JUnit = None,
    allow_sql: AllowSql = False,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    verbose: Verbose = False,
    json_output: Json = False,
) -> Answer:
    """Check the laws on recordings. Exit code 1: a law is violated, or it examined no row."""
    judge = Judge(engine, master, remote, None if law is None else tuple(law), allow_sql)
    with judge.opened(recordings, limits_of(limit or ())) as opened:
        plans = [
            recompute_plan(run, recording, folder, allow_python, allow_path, limit)
            for run, recording in enumerate(opened)
        ]
        with count_progress("judging", json_output) as progress:
            report = judge.judge(recordings, opened, [plan for plan in plans if plan is not None], progress)
    if junit is not None:
        with new_file("--junit", junit) as file:
            file.write(to_junit(report).encode())

    runs = OpenedRuns(opened, recordings)
    code = ExitCode.BAD_INPUT if report.errors else ExitCode.FINE if report.passed else ExitCode.BROKEN
    document = {**report_data(report, runs), "exit_code": int(code)}
    return Answer(document, lambda console: show_report(console, report, runs, verbose), code, report.error)
