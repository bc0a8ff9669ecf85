"""``flowsim export``: a recording in the formats of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json, Limit
from flowsim.errors import BadInput
from flowsim.export.perfetto import export_perfetto
from flowsim.export.speedscope import export_speedscope
from flowsim.facts.kinds import Level
from flowsim.limits import limits_of
from flowsim.quantities import count_text
from flowsim.recording.reader import Recording
from flowsim.scenario.new_file import new_file

RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="The output directory of 'flowsim run --out'.", show_default=False)
]
Perfetto = Annotated[
    Path | None,
    typer.Option("--perfetto", metavar="FILE", help="Write a trace for ui.perfetto.dev, such as run.pftrace."),
]
Speedscope = Annotated[
    Path | None,
    typer.Option(
        "--speedscope", metavar="FILE", help="Write a profile for speedscope.app, such as run.speedscope.json."
    ),
]


@command
def export(
    recording: RecordingPath,
    perfetto: Perfetto = None,
    speedscope: Speedscope = None,
    limit: Limit = None,
    json_output: Json = False,
) -> Answer:
    """Write a recording in the formats of other tools: Perfetto and speedscope.

    A FILE that ends with .gz is compressed.

    --perfetto: a track per subtask with its actions and waits; its mails and elements, which arrows connect from sending to
    receiving; credits, backlogs, queues and the lag of watermarks as counters. --speedscope: the actions and waits.
    """
    opened = Recording.open(recording, limits=limits_of(limit or ()))
    if perfetto is None and speedscope is None:
        raise BadInput("export: give --perfetto FILE, --speedscope FILE, or both")
    files: list[dict[str, Any]] = []
    for option, path, write in (
        ("--perfetto", perfetto, export_perfetto),
        ("--speedscope", speedscope, export_speedscope),
    ):
        if path is not None:
            with new_file(option, path) as file:
                facts = write(opened, file)
            files.append({"file": str(path), "bytes": path.stat().st_size, "facts": facts})
    lines = [
        f"wrote {written['file']}: {count_text(written['facts'], 'fact')}, {written['bytes'] / 1e6:.2f} MB"
        for written in files
    ]
    if opened.level < Level.FULL:
        level = opened.level.name.lower()
        lines.append(
            f"note: recorded at level {level}, without actions, mails, buffers and credits: run with --record full"
        )
    document = {"files": files, "level": opened.level.name.lower(), "exit_code": 0}
    return Answer(document, lambda console: console.print("\n".join(lines), soft_wrap=True))
