"""``flowsim watch``: runs a scenario on every save, and shows its report in a browser."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from flowsim.cli.command import Answer, command, console
from flowsim.cli.options import AllowPath, AllowPython, Limit, ScenarioFile
from flowsim.cli.watching.choices import Settings
from flowsim.cli.watching.loop import WatchLoop
from flowsim.cli.watching.run_process import RunRequest
from flowsim.errors import BadInput
from flowsim.limits import limits_of

Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="DIR",
        help="Directory for the results and the recording of the last run; default: a temporary one.",
        show_default=False,
    ),
]
Port = Annotated[
    int, typer.Option("--port", min=0, max=65535, help="The port of the page at 127.0.0.1; 0: any free port.")
]
Open = Annotated[bool, typer.Option("--open", help="Open the page in the default browser.")]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE[,VALUE...]",
        help="Change a value of the scenario, e.g. settings.parallelism=2; of several values the page chooses one.",
    ),
]


@command
def watch(
    scenario: ScenarioFile,
    out: Out = None,
    port: Port = 0,
    open_: Open = False,
    set_: Set = None,
    limit: Limit = None,
    allow_python: AllowPython = False,
    allow_path: AllowPath = False,
) -> Answer:
    """Run a scenario and check the laws on every save, and show the report on a page that follows. Ctrl-C ends it.

    The page is served to this machine only. An error, such as that of an unfinished edit, is printed and shown above the
    last report. The files that the scenario reads are watched too.
    """
    settings = Settings.parse(set_ or ())
    limits_of(limit or ())
    if not scenario.is_file():
        raise BadInput(f"{scenario}: there is no such file")
    with TemporaryDirectory(prefix="flowsim-watch-") if out is None else nullcontext(str(out)) as directory:
        request = RunRequest(str(scenario), directory, (), tuple(limit or ()), allow_python, allow_path)
        loop = WatchLoop(request, settings, _say)
        server = loop.serve(port)
        try:
            _say(f"watching  {scenario}")
            _say(f"recording {directory}")
            _say(f"page      {server.url}")
            if open_:
                webbrowser.open(server.url)
            loop.run()
        finally:
            server.close()


def _say(text: str, is_problem: bool = False) -> None:
    console().print(text, style="bold red" if is_problem else None, soft_wrap=True)
    sys.stdout.flush()
