"""``flowsim conform`` of a program for PyFlink."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rich.console import Console

from flowsim.cli.command import Answer
from flowsim.cli.conformance import PROGRAM, conformance_data, show_changes, show_conformance
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.progress import CountProgress, count_progress, shortened
from flowsim.conform.java_machine import compiler
from flowsim.conform.programs.compared_program import NOT_COMPARED, ComparedProgram, conformed_program
from flowsim.conform.programs.installed_pyflink import installed, python_of_pyflink
from flowsim.conform.saved_answers import FLINK_VERSION, SavedAnswers
from flowsim.conform.seen import Answer as Given
from flowsim.units import NS_PER_SECOND

PATIENCE_NS: Final = 300 * NS_PER_SECOND
"""How long a run may take by default."""


def conform_program(
    program: ComparedProgram,
    repeat: int,
    schedules: int,
    save: Path | None,
    against: Path | None,
    verbose: bool,
    as_json: bool,
) -> Answer:
    """Runs a program on both sides, or only here if answers are saved, and compares what it gave. Raises BadInput."""
    name, digests = program.path.name, [program.digest()]
    if against is None:
        compiler()
        python_of_pyflink()
    show_changes(NOT_COMPARED)
    with count_progress("conform", as_json) as progress:

        def on_run(side: str, run: int, runs: int) -> None:
            progress(run - 1, runs, side)

        on_run("here", 1, 1)
        here = program.here()
        if against is None:
            flink: Sequence[Sequence[Given]] = [[each] for each in _on_pyflink(program, repeat, progress)]
        else:
            saved = SavedAnswers.read(against, name)
            saved.check(digests, against)
            flink = saved.runs
        found = conformed_program(program, here, [run[0] for run in flink], schedules, on_run)
    text = program.path.read_text(encoding="utf-8", errors="replace")
    written = None if save is None else SavedAnswers(name, digests, text, flink).write(save)
    code = ExitCode.FINE if found.agrees else ExitCode.BROKEN
    document = conformance_data(name, NOT_COMPARED, found) | {
        "saved": None if written is None else str(written),
        "exit_code": int(code),
    }

    def show(console: Console) -> None:
        show_conformance(console, name, found, verbose, PROGRAM)
        if written is not None:
            sys.stderr.write(f"saved in {written}\n")

    return Answer(document, show, code)


def _on_pyflink(program: ComparedProgram, repeat: int, progress: CountProgress) -> list[Given]:
    python = python_of_pyflink()
    if not python.exists():
        sys.stderr.write(f"installs PyFlink {FLINK_VERSION} into {python.parents[1]}: 850 MB, once, some minutes\n")
        installed(python, lambda line: progress(0, repeat, shortened(line)))
    answers = []
    for run in range(repeat):
        progress(run, repeat, "on PyFlink")
        answers.append(program.on_pyflink(python))
    return answers
