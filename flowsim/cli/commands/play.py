"""``flowsim play``: the learner decides which event of a job is the next, on a page."""

from __future__ import annotations

import os
import sys
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command, console
from flowsim.cli.explored_subjects import ScenarioSubject
from flowsim.cli.options import AllowPath, AllowPython, Json, Limit, Set
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.cli.tables import Column, show_table
from flowsim.errors import BadInput
from flowsim.play.puzzle import puzzle_of, puzzles
from flowsim.play.server import PlayServer


def _names(incomplete: str) -> list[tuple[str, str]]:
    return [(puzzle.name, puzzle.task) for puzzle in puzzles() if puzzle.name.startswith(incomplete)]


Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[SCENARIO|PUZZLE]",
        help="A scenario file (YAML), or a puzzle.",
        autocompletion=_names,
        show_default=False,
    ),
]
Listed = Annotated[bool, typer.Option("--list", help="List the puzzles.")]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="The port of the page at 127.0.0.1; 0: any free port.")
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the default browser.")]


@command
def play(
    name: Name = None,
    list_: Listed = False,
    port: Port = 0,
    open_: Open = False,
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
    json_output: Json = False,
) -> Answer:
    """Decide which event of a job is the next, on a page that shows what it does, or solve a puzzle (--list).

    The page is served to this machine only. The command ends when the page is closed, or by Ctrl-C.
    """
    if list_:
        return _listed()
    if json_output:
        raise BadInput("--json: applies to --list only")
    if name is None:
        raise BadInput("name a scenario file or a puzzle; flowsim play --list shows the puzzles")
    puzzle = None if Path(name).is_file() or name.endswith((".yaml", ".yml")) else puzzle_of(name)
    file = Path(name) if puzzle is None else puzzle.scenario
    with TemporaryDirectory(prefix="flowsim-play-") as folder:
        compiled = compiled_scenario(file, Path(folder) / "out", set_, allow_python, allow_path, limit)
        write_warnings(compiled)
        options = [word for override in set_ or () for word in ("--set", override)]
        options += [word for each in limit or () for word in ("--limit", each)]
        options += ["--allow-python"] * allow_python + ["--allow-path"] * allow_path
        subject = ScenarioSubject(compiled, ["flowsim", "run", _shown(file), *options], "full")
        server = PlayServer(subject.game(name, Path(folder) / "positions", puzzle), port)
        _say(f"playing {name}")
        if puzzle is not None:
            _say(f"task    {puzzle.task}")
        _say(f"page    {server.url}")
        if open_:
            webbrowser.open(server.url)
        server.run()
    return Answer({"exit_code": 0}, lambda console: console.print("the page was closed"))


def _shown(file: Path) -> str:
    """Returns the path from the working directory, if the file is below it."""
    path, here = file.absolute(), Path(os.getcwd())
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(file)


def _listed() -> Answer:
    document = [{"name": puzzle.name, "task": puzzle.task, "scenario": str(puzzle.scenario)} for puzzle in puzzles()]

    def show(console: Console) -> None:
        rows = [(puzzle.name, puzzle.task) for puzzle in puzzles()]
        show_table(console, ["puzzle"], [Column("what to do", left=True)], rows)

    return Answer(document, show)


def _say(text: str) -> None:
    console().print(text, soft_wrap=True)
    sys.stdout.flush()
