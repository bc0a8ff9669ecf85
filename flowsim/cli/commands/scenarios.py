"""``flowsim scenarios``: lists, explains and copies the scenarios that come with flowsim."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from flowsim.cli.command import Answer, command
from flowsim.cli.options import Json
from flowsim.cli.shipped_scenarios import (
    SCHEMA_FILE,
    ShippedScenario,
    schema_text,
    shipped_scenario,
    shipped_scenarios,
    write_new,
)
from flowsim.errors import BadInput

WHERE = "the source distribution and the repository have it in scenarios/"


def _names(incomplete: str) -> list[tuple[str, str]]:
    return [(each.name, each.summary) for each in shipped_scenarios() if each.name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(metavar="[NAME]", help="A scenario, or its number: 03.", autocompletion=_names, show_default=False),
]
Folder = Annotated[
    Path | None,
    typer.Argument(metavar="[DIR]", help="With --copy: the folder; default: this one.", show_default=False),
]
Copy = Annotated[bool, typer.Option("--copy", help="Copy the scenario and the files that it needs to DIR.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite files that have other content.")]


@command
def scenarios(
    name: Name = None, folder: Folder = None, copy: Copy = False, force: Force = False, json_output: Json = False
) -> Answer:
    """List the scenarios that come with flowsim. With NAME: explain one, and copy it with --copy."""
    if name is None:
        if copy or force:
            raise BadInput("--copy and --force need the NAME of a scenario")
        return _listed()
    scenario = shipped_scenario(name)
    if copy:
        return _copied(scenario, folder or Path(), force)
    if folder is not None or force:
        raise BadInput("DIR and --force need --copy")
    return _explained(scenario)


def _listed() -> Answer:
    shipped = [(each, each.summary, missing_of(each.files())) for each in shipped_scenarios()]
    document = [{"name": each.name, "summary": summary, "missing": missing} for each, summary, missing in shipped]

    def show(console: Console) -> None:
        table = Table()
        table.add_column("scenario", no_wrap=True)
        table.add_column("what it shows", overflow="fold")
        for each, summary, missing in shipped:
            table.add_row(each.name, summary + (f" (needs {', '.join(missing)})" if missing else ""))
        console.print(table)
        if any(missing for _, _, missing in shipped):
            console.print(f"this installation does not have each file that a scenario needs: {WHERE}", soft_wrap=True)

    return Answer(document, show)


def _explained(scenario: ShippedScenario) -> Answer:
    files = scenario.files()
    missing = missing_of(files)
    document = {
        "name": scenario.name,
        "path": str(scenario.path),
        "comment": "\n\n".join(scenario.comment),
        "files": list(files),
        "missing": missing,
    }

    def show(console: Console) -> None:
        console.print(scenario.name, style="bold")
        for paragraph in scenario.comment:
            console.print(f"\n{paragraph}")
        console.print()
        for name in files:
            console.print(
                f"needs  {name}" + ("  (not in this installation)" if name in missing else ""), soft_wrap=True
            )
        console.print(f"file   {scenario.path}", soft_wrap=True)
        console.print(f"copy   flowsim scenarios {scenario.name} --copy", soft_wrap=True)

    return Answer(document, show)


def _copied(scenario: ShippedScenario, folder: Path, force: bool) -> Answer:
    files = scenario.files()
    missing = [name for name in missing_of(files) if not (folder / name).is_file()]
    if missing:
        raise BadInput(
            f"{scenario.name} needs {', '.join(missing)}, which this installation does not have: {WHERE}; "
            f"copy it to {', '.join(str(folder / name) for name in missing)} first"
        )
    contents = {name: path.read_bytes() for name, path in files.items() if path is not None}
    contents[scenario.path.name] = scenario.text_beside_schema().encode()
    contents[SCHEMA_FILE] = schema_text().encode()
    written = write_new(folder, contents, force)
    target = folder / scenario.path.name
    document = {"scenario": str(target), "written": [str(path) for path in written]}

    def show(console: Console) -> None:
        for path in written:
            console.print(f"written  {path}", soft_wrap=True)
        console.print(f"next     flowsim run {shlex.quote(str(target))} --validate", soft_wrap=True)

    return Answer(document, show)


def missing_of(files: Mapping[str, Path | None]) -> list[str]:
    """Returns the names of the scenario's files that this installation does not have."""
    return [name for name, path in files.items() if path is None]
