"""``flowsim replay``: runs a recorded scenario again and compares the facts."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.commands.validate import Folder
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit
from flowsim.cli.progress import run_progress
from flowsim.cli.recorded_scenarios import compiled_as_recorded, savepoint_as_recorded
from flowsim.cli.repeated_program import replayed
from flowsim.errors import BadInput
from flowsim.limits import limits_of
from flowsim.pyflink.recorded_program import RecordedProgram
from flowsim.recording.reader import Recording
from flowsim.scenario.run_description import rerun_of
from flowsim.scenario.runner import run_compiled
from flowsim.trace.difference import Difference, differences

RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="The output directory of 'flowsim run --out'.", show_default=False)
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Directory for the results and the recording of the replay; without it they are deleted.",
    ),
]


DIFFERENCES_SHOWN = 5


@command
def replay(
    recording: RecordingPath,
    out: Out = None,
    folder: Folder = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    json_output: Json = False,
) -> Answer:
    """Run a recorded scenario or program again. Exit code 1: the new recording differs."""
    opened = Recording.open(recording, limits=limits_of(limit or ()))
    opened.verify()
    if opened.how_it_broke_off:
        raise BadInput(
            f"{recording}: cannot be replayed: {opened.how_it_broke_off}, so there is no digest to compare with; "
            "wait for the end of the run, or run the scenario again"
        )
    if out is not None and opened.directory.resolve().is_relative_to(out.resolve()):
        raise BadInput(f"--out {out}: contains the recording to replay; choose another directory")
    with nullcontext(out) if out is not None else TemporaryDirectory(prefix="flowsim-replay-") as directory:
        again = _again(opened, recording, Path(directory), folder, limit, allow_python, allow_path, json_output)
        return _answer(opened, again)


def _again(
    recording: Recording,
    path: Path,
    out: Path,
    folder: Path | None,
    limit: list[str] | None,
    allow_python: bool,
    allow_path: bool,
    quiet: bool,
) -> Recording:
    program = RecordedProgram.of_manifest(recording.manifest)
    if program is not None:
        if not allow_python:
            raise BadInput(f"{path}: runs the program {program.path} again: use --allow-python if you trust it")
        return replayed(recording, program, folder, out)
    try:
        rerun = rerun_of(recording.manifest)
        savepoint = savepoint_as_recorded(recording)
    except BadInput as error:
        raise BadInput(f"{path}: cannot be replayed: {error}") from None
    compiled = compiled_as_recorded(recording, folder, out, allow_python, allow_path, limit)
    with run_progress(f"replaying {compiled.scenario.model.name}", quiet) as progress:
        run = run_compiled(
            compiled,
            out=out,
            seed=rerun.seed,
            policy=rerun.policy,
            clock="virtual",
            record=rerun.record,
            record_values_bytes=rerun.record_values_bytes,
            record_state=rerun.record_state,
            until_ns=rerun.until_ns,
            budget_records=rerun.budget_records,
            on_progress=progress if progress.is_shown else None,
            savepoint=savepoint,
        )
    if run.recording is None:
        raise BadInput("the run was made with recording off: there are no facts to compare")
    return Recording.open(run.recording)


def _answer(recording: Recording, replayed: Recording) -> Answer:
    recorded, again = recording.manifest, replayed.manifest
    tables = sorted(t for t, digest in recorded.table_digests.items() if again.table_digests.get(t) != digest)
    differing = differences(recording, replayed, tables) if tables else []
    same = again.facts_digest == recorded.facts_digest and again.status is recorded.status
    code = ExitCode.FINE if same else ExitCode.BROKEN
    versions = {
        name: [version, again.versions.get(name)]
        for name, version in recorded.versions.items()
        if again.versions.get(name) != version
    }
    document: dict[str, Any] = {
        "same": same,
        "recorded": {"digest": recorded.facts_digest, "status": recorded.status.value},
        "replayed": {"digest": again.facts_digest, "status": again.status.value},
        "different_tables": tables,
        "first_differences": [difference.as_data() for difference in differing],
        "different_versions": versions,
        "exit_code": int(code),
    }

    def show(console: Console) -> None:
        if same:
            console.print(f"the same: {again.status.value}, digest {again.facts_digest}", soft_wrap=True)
            return
        console.print(f"recorded: {recorded.status.value}, digest {recorded.facts_digest}", soft_wrap=True)
        console.print(f"replayed: {again.status.value}, digest {again.facts_digest}", soft_wrap=True)
        console.print(f"different tables: {', '.join(tables) or 'none'}", soft_wrap=True)
        for difference in differing[:DIFFERENCES_SHOWN]:
            _show_difference(console, difference)
        if tables and not differing:
            console.print(
                "no row differs: the digests in the manifest were changed, the facts were not", soft_wrap=True
            )
        for name, (then, now) in versions.items():
            console.print(f"recorded under {name} {then}, replayed under {now}")

    return Answer(document, show, code)


def _show_difference(console: Console, one: Difference) -> None:
    lines = [
        f"- first different row of table {one.table}{': ' if one.where else ''}{one.where}",
        f"  recorded: {one.recorded}",
        f"  replayed: {one.replayed}",
        *(f"  {column}: {values}" for column, values in one.columns),
    ]
    for line in lines:
        console.print(line, soft_wrap=True, markup=False, highlight=False)
