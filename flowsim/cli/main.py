"""The command line. Every command lives in a file of its own and imports what it needs only when it runs."""

from __future__ import annotations

import sys
import traceback
from typing import Annotated

import typer

from flowsim.cli.command import ExitCode
from flowsim.cli.commands.catalogues import faults, laws, schema
from flowsim.cli.commands.check import check
from flowsim.cli.commands.explore import explore
from flowsim.cli.commands.graph import graph
from flowsim.cli.commands.metrics import metrics
from flowsim.cli.commands.replay import replay
from flowsim.cli.commands.run import run
from flowsim.cli.commands.study import study
from flowsim.cli.commands.trace import trace
from flowsim.cli.commands.validate import validate
from flowsim.distribution import __version__

app = typer.Typer(
    name="flowsim",
    help="Simulates Apache Flink 2.3.0 task graphs, records every step and judges the recording.",
    epilog="Exit codes: 0 fine, 1 a law or expectation is broken, 2 bad input, 3 the job failed, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"flowsim {__version__}")
        raise typer.Exit


@app.callback()
def flowsim(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of flowsim itself."""


for _command in (run, validate, replay, trace, metrics, explore, study, check, graph, laws, faults, schema):
    app.command()(_command)


def main() -> None:
    """The console script ``flowsim``."""
    try:
        app(prog_name="flowsim")
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except Exception:
        traceback.print_exc()
        sys.stderr.write("This is a bug in flowsim: please report it with the lines above.\n")
        sys.exit(ExitCode.OUR_BUG)
