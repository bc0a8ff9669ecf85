"""``flowsim pyflink``: runs a program that was written for PyFlink as it is."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, duration_argument, error_data
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import Json, PolicyName, RecordLevel, Seed, Set, Until, default_out
from flowsim.cli.repeated_program import repeated
from flowsim.cli.summary import task_data
from flowsim.cli.tables import show_text
from flowsim.cli.topics import Topic, topics_of
from flowsim.connectors.file_system.folders import empty_output_folder
from flowsim.connectors.kafka.topic_files import CommittedOffset
from flowsim.errors import BadInput, Deadlock, FlowsimError, JobFailed, RunTooLong
from flowsim.facts.kinds import Level
from flowsim.pyflink.program import ProgramFailed, run_program
from flowsim.pyflink.program_executor import ProgramExecutor, ProgramRun
from flowsim.quantities import count_text, duration_text
from flowsim.scenario.program_settings import ProgramSettings
from flowsim.sim.choice_token import ChoiceToken

if TYPE_CHECKING:
    from flowsim.cli.judged_program import JudgedProgram

CONTEXT_SETTINGS: Final = {"allow_interspersed_args": False}
"""Everything after the program belongs to the program."""

Program = Annotated[
    Path, typer.Argument(metavar="PROGRAM.py", help="A program that uses PyFlink's DataStream API.", show_default=False)
]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[ARGS]", help="The arguments of the program.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out", metavar="DIR", help="Directory of the recordings, DIR/1 for the first job; default out/<program>."
    ),
]
TokenText = Annotated[
    str | None,
    typer.Option("--token", metavar="TOKEN", help="Repeat a run of the first job that flowsim explore found."),
]
Validate = Annotated[bool, typer.Option("--validate", help="Check the recordings with the laws.")]


@command
def pyflink(
    program: Program,
    arguments: Arguments = None,
    seed: Seed = None,
    policy: PolicyName = None,
    until: Until = None,
    token: TokenText = None,
    out: Out = None,
    topic: Topic = None,
    set_: Set = None,
    record: RecordLevel = "full",
    validate: Validate = False,
    json_output: Json = False,
) -> Answer:
    """Run a program that was written for PyFlink as it is: PROGRAM.py and its arguments.

    Each job that the program executes runs here, in virtual time, and is recorded.

    Options come before PROGRAM.py. The program runs because you name it: run only programs that you trust.
    """
    level = Level[(record or "full").upper()]
    if validate and level is Level.OFF:
        raise BadInput("--validate needs a recording, but recording is off: use --record elements or full")
    out = default_out(program) if out is None else out
    executor = ProgramExecutor(
        seed, policy, duration_argument("--until", until), level, out, program, arguments or (), topic or (), set_ or ()
    )
    change = ProgramSettings(set_ or ()).apply
    files = out / "files"
    empty_output_folder(files)
    topics = topics_of(topic or ())
    if token is not None:
        if seed is not None or policy is not None or until is not None:
            raise BadInput("--token: it decides the order of the run: leave out --seed, --policy and --until")
        executor.explored = repeated(ChoiceToken.parse(token))
    failure: FlowsimError | None = None
    try:
        run_program(program, arguments or [], executor, topics, files, change)
    except (BadInput, ProgramFailed, JobFailed, Deadlock, RunTooLong) as error:
        failure = error
    written, offsets = topics.write_to(out / "topics"), topics.write_offsets_to(out / "offsets")
    judged: JudgedProgram | None = None
    if validate:
        from flowsim.cli.judged_program import judged_program

        judged = judged_program(executor.runs, json_output)
    return _answer(executor.runs, written, offsets, files if files.exists() else None, judged, failure)


def _answer(
    runs: Sequence[ProgramRun],
    topics: Mapping[str, tuple[Path, int]],
    offsets: Mapping[str, tuple[Path, Sequence[CommittedOffset]]],
    files: Path | None,
    judged: JudgedProgram | None,
    failure: FlowsimError | None,
) -> Answer:
    code = ExitCode.FINE
    if failure is not None:
        code = ExitCode.JOB_FAILED if isinstance(failure, JobFailed | Deadlock | RunTooLong) else ExitCode.BAD_INPUT
    elif judged is not None and not judged.report.passed:
        code = ExitCode.BROKEN
    document: dict[str, Any] = {
        "jobs": [_run_data(run) for run in runs],
        "topics": [{"topic": name, "file": str(file), "records": records} for name, (file, records) in topics.items()],
        "offsets": [
            {"topic": name, "file": str(file), **asdict(one)}
            for name, (file, found) in offsets.items()
            for one in found
        ],
        "files": None if files is None else str(files),
        "exit_code": int(code),
    }
    if judged is not None:
        document["validation"] = judged.data()

    def show(console: Console) -> None:
        for number, run in enumerate(runs, 1):
            _show_run(console, number, run)
        for name, (file, records) in topics.items():
            text = f"topic     {name}: {count_text(records, 'record')} in {shlex.quote(str(file))}"
            console.print(text, soft_wrap=True, markup=False)
        for name, (file, found) in offsets.items():
            text = f"offsets   {name}: {count_text(len(found), 'committed offset')} in {shlex.quote(str(file))}"
            console.print(text, soft_wrap=True, markup=False)
        if files is not None:
            console.print(f"files     below {shlex.quote(str(files))}", soft_wrap=True, markup=False)
        if not runs and failure is None:
            show_text(console, "the program executed no job")
        if judged is not None:
            judged.show(console)

    return Answer(document, show, code, failure)


def _run_data(run: ProgramRun) -> dict[str, Any]:
    result = run.result
    return {
        "job": run.job_name,
        "status": result.status.value,
        "elapsed_ns": result.elapsed_ns,
        "records_read": result.records_read,
        "tasks": [task_data(task) for task in result.tasks],
        "recording": None if run.recording is None else str(run.recording),
        "digest": run.digest,
        "is_idle": result.is_idle,
        "error": None if result.error is None else error_data(result.error),
    }


def _show_run(console: Console, number: int, run: ProgramRun) -> None:
    result = run.result
    console.print()
    show_text(
        console,
        f"job {number}     {run.job_name}: {result.status.value} after {duration_text(result.elapsed_ns)}, "
        f"{count_text(result.records_read, 'record')} read",
    )
    if result.is_idle:
        show_text(
            console, "idle      its sources have read all records of their topics; on a cluster it would wait for more"
        )
    if run.recording is not None:
        directory = shlex.quote(str(run.recording))
        console.print(f"recording {directory}", soft_wrap=True)
        console.print(f"digest    {run.digest}", soft_wrap=True)
        console.print(f"next      flowsim report {directory} --open", soft_wrap=True)
