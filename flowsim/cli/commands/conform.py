"""``flowsim conform``: runs a job or a program here and on the real Flink 2.3.0, and compares the results."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, duration_argument
from flowsim.cli.conformance import conformance_data, show_changes, show_conformance
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.explored_conformance import Explored, explored, show_explored, sinks_of
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, Seed, Set, Verbose
from flowsim.cli.program_conformance import PATIENCE_NS, conform_program
from flowsim.cli.programs import ScenarioOrFunction, environment_of, is_program
from flowsim.cli.progress import count_progress
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.conform.both_sides import Conformed, Here, conformed, repeated_on_flink
from flowsim.conform.compared_job import ComparedJob, job_of_environment, jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.conform.java_machine import check_installed
from flowsim.conform.programs.compared_program import ComparedProgram
from flowsim.conform.saved_answers import SavedAnswers
from flowsim.conform.settings import Difference
from flowsim.errors import BadInput
from flowsim.units import NS_PER_SECOND
from flowsim.validation.java import user_cache

Arguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ARGS]", help="The arguments of a program, behind --.", show_default=False),
]
Repeat = Annotated[
    int | None,
    typer.Option(
        "--repeat",
        min=1,
        max=1_000,
        help="How often the job runs on Flink; default 5, of a program 2.",
        show_default=False,
    ),
]
Timeout = Annotated[
    str | None,
    typer.Option(
        "--timeout", metavar="DURATION", help="How long a run of a program may take; default 5min.", show_default=False
    ),
]
Schedules = Annotated[
    int,
    typer.Option(
        "--schedules",
        min=1,
        max=10_000,
        help="The number of schedules here if the first one differs from Flink's runs.",
    ),
]
Save = Annotated[
    Path | None, typer.Option("--save", metavar="DIR", help="Keep what Flink answered as a file in this folder.")
]
Against = Annotated[
    Path | None,
    typer.Option("--against", metavar="DIR", help="Compare with the answers saved in this folder, without Java."),
]
ExploredRuns = Annotated[
    int,
    typer.Option(
        "--explored",
        metavar="RUNS",
        min=0,
        max=100_000_000,
        help="Also explore the orders of events in so many runs here, and say if each result of Flink is among the results.",
    ),
]


@command
def conform(
    scenario: ScenarioOrFunction,
    arguments: Arguments = None,
    repeat: Repeat = None,
    schedules: Schedules = 20,
    explored_runs: ExploredRuns = 0,
    seed: Seed = None,
    save: Save = None,
    against: Against = None,
    timeout: Timeout = None,
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    verbose: Verbose = False,
    json_output: Json = False,
) -> Answer:
    """Run a job here and on the real Flink 2.3.0, and compare what every subtask saw. Exit code 1: they differ.

    Of a program for PyFlink, PROGRAM.py [-- ARGS], what it prints, collects and writes is compared with PyFlink 2.3.0.
    """
    if save is not None and against is not None:
        raise BadInput("--save and --against: saved answers would be saved again; give one of them")
    if is_program(scenario):
        _refuse(scenario, {"--set": set_, "--limit": limit, "--explored": explored_runs, "--seed": seed}, "a program")
        patience_ns = duration_argument("--timeout", timeout) or PATIENCE_NS
        program = ComparedProgram(Path(scenario), arguments or (), patience_ns / NS_PER_SECOND)
        return conform_program(program, repeat or 2, schedules, save, against, verbose, json_output)
    _refuse(scenario, {"arguments": arguments, "--timeout": timeout}, "a job that is no program (PROGRAM.py)")
    repeat = repeat or 5
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="flowsim-conform-")))
        asked = _asked(scenario, folder / "out", seed, set_, limit, allow_python, allow_path)
        for job in asked.jobs:
            job.check()
        if explored_runs:
            sinks_of(asked.jobs)
        if against is None:
            check_installed()
        show_changes(asked.changes)
        progress = stack.enter_context(count_progress("conform", json_output))

        def on_run(side: str, run: int, runs: int) -> None:
            progress(run - 1, runs, side)

        here = Here(asked.jobs).run()
        if against is None:
            flink = _answers(asked.jobs, here, folder / "flink", repeat, on_run)
        else:
            saved = SavedAnswers.read(against, asked.name)
            saved.check(asked.digests, against)
            flink = saved.runs
        found = conformed(asked.jobs, here, flink, schedules, on_run)
        results = explored(asked.jobs, flink, explored_runs) if explored_runs else None
    written = None if save is None else SavedAnswers(asked.name, asked.digests, asked.text, flink).write(save)
    return _answer(asked, found, results, verbose, written)


def _refuse(scenario: str, options: Mapping[str, object], of: str) -> None:
    """Raises BadInput for an option that this kind of job does not have."""
    for name, value in options.items():
        if value:
            raise BadInput(f"{scenario}: {name}: not for {of}")


@dataclass(frozen=True, slots=True)
class _Asked:
    """The job that the command compares."""

    name: str
    jobs: Sequence[ComparedJob]
    text: str | None
    """The text of the scenario."""

    @property
    def changes(self) -> list[Difference]:
        """What the comparison changes."""
        return [change for job in self.jobs for change in job.changes]

    @property
    def digests(self) -> list[str]:
        """The digest of each phase."""
        return [job.digest() for job in self.jobs]


def _asked(
    name: str,
    out: Path,
    seed: int | None,
    overrides: list[str] | None,
    limits: list[str] | None,
    allow_python: bool,
    allow_path: bool,
) -> _Asked:
    env = environment_of(name, overrides, limits, allow_python=allow_python)
    if env is not None:
        return _Asked(name, [job_of_environment(env, seed)], None)
    compiled = compiled_scenario(Path(name), out, overrides, allow_python, allow_path, limits)
    write_warnings(compiled)
    jobs = jobs_of_scenario(compiled, seed)
    if any(phase.faults for phase in (compiled, *compiled.phases)):
        no_faults = Difference("faults", "Flink has none: off on both sides")
        jobs = [replace(job, changes=[*job.changes, no_faults]) for job in jobs]
    return _Asked(compiled.scenario.model.name, jobs, compiled.scenario.text)


def _answers(
    jobs: Sequence[ComparedJob], here: Any, folder: Path, repeat: int, on_run: Callable[[str, int, int], None]
) -> Any:
    """Runs the job on Flink, which ends with this call, also at an interrupt."""
    on_run("starts Flink", 1, repeat)
    runner = FlinkRunner.start(user_cache() / "conform")
    try:
        return repeated_on_flink(runner, jobs, here, folder, repeat, on_run)
    finally:
        runner.close()


def _answer(asked: _Asked, found: Conformed, results: Explored | None, verbose: bool, written: Path | None) -> Answer:
    code = ExitCode.FINE if found.agrees and (results is None or results.agrees) else ExitCode.BROKEN
    document = conformance_data(asked.name, asked.changes, found) | {
        "explored": None if results is None else results.data(),
        "saved": None if written is None else str(written),
        "exit_code": int(code),
    }

    def show(console: Console) -> None:
        show_conformance(console, asked.name, found, verbose)
        if results is not None:
            show_explored(console, results)
        if written is not None:
            sys.stderr.write(f"saved in {written}\n")

    return Answer(document, show, code)
