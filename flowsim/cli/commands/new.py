"""``flowsim new``: writes a scenario to start from."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json
from flowsim.cli.shipped_scenarios import SCHEMA_FILE, SCHEMA_LINE, schema_text, write_new
from flowsim.scenario.types import NAME_PATTERN

STARTER = Path(__file__).with_name("starter.yaml")

File = Annotated[Path, typer.Argument(metavar="[FILE]", help="The file to write.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that have other content.")]


@command
def new(file: File = Path("scenario.yaml"), force: Force = False, json_output: Json = False) -> Answer:
    """Write a commented scenario to start from, with its JSON Schema beside it for editors."""
    text = SCHEMA_LINE + STARTER.read_text(encoding="utf-8")
    if re.fullmatch(NAME_PATTERN, file.stem):
        text = text.replace("name: starter", f"name: {file.stem}", 1)
    written = write_new(file.parent, {file.name: text.encode(), SCHEMA_FILE: schema_text().encode()}, force)
    document = {"scenario": str(file), "written": [str(path) for path in written]}

    def show(console: Console) -> None:
        for path in written:
            console.print(f"written  {path}", soft_wrap=True)
        console.print(f"next     flowsim run {shlex.quote(str(file))} --validate", soft_wrap=True)

    return Answer(document, show)
