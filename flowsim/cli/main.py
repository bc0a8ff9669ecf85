"""The command line: the group of commands. A command's module is imported when the command is called."""

from __future__ import annotations

import contextlib
import importlib
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer
from typer.core import TyperCommand, TyperGroup

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.output import accept_all_characters
from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.distribution import __version__

_SCHEMA_ERROR: Final = "SchemaError"
"""The error of pydantic_core, which not every command imports."""
_PACKAGE: Final = "flowsim.cli.commands"
_COMMANDS: Final = {
    "run": ("run", "Run a scenario. Options override --set, and --set overrides the scenario's settings."),
    "pyflink": ("pyflink", "Run a program that was written for PyFlink as it is: PROGRAM.py and its arguments."),
    "watch": (
        "watch",
        "Run a scenario and check the laws on every save, and show the report on a page that follows. Ctrl-C ends it.",
    ),
    "validate": (
        "validate",
        "Check the laws on recordings. Exit code 1: a law is violated, or it examined no row.",
    ),
    "replay": ("replay", "Run a recorded scenario or program again. Exit code 1: the new recording differs."),
    "trace": ("trace", "Print a recorded run as text, with the rules of Flink that explain each event."),
    "why": ("why", "Explain what happened in a recorded run, or why it did not happen, as a chain of causes."),
    "report": ("report", "Write a recording as one HTML file that any browser opens, without a network."),
    "export": ("export", "Write a recording in the formats of other tools: Perfetto and speedscope."),
    "checkpoints": (
        "checkpoints",
        "Show the history of the checkpoints of a recording, or what a checkpoint directory contains.",
    ),
    "metrics": ("metrics", "Show the sampled metrics of every task: times in ms per second, pools in percent."),
    "explore": (
        "explore",
        "Run a job under many schedules in memory: list the results that it can have, and check the laws and expectations.",
    ),
    "explain": (
        "explain",
        "Explain the choices of an explored run: what happened, and what the default was. -v prints every step.",
    ),
    "play": (
        "play",
        "Decide which event of a job is the next, on a page that shows what it does, or solve a puzzle (--list).",
    ),
    "conform": (
        "conform",
        "Run a job here and on the real Flink 2.3.0, and compare what every subtask saw. Exit code 1: they differ.",
    ),
    "study": (
        "study",
        "Run a scenario with every combination of the given values and compare throughput, latency and late rows.",
    ),
    "check": ("check", "Check whether a scenario is valid, and report all of its errors."),
    "graph": (
        "graph",
        "Draw the job of a scenario: its tasks (operator chains) with their parallelism, and the edges between tasks.",
    ),
    "new": ("new", "Write a commented scenario to start from, with its JSON Schema beside it for editors."),
    "scenarios": (
        "scenarios",
        "List the scenarios that come with flowsim. With NAME: explain one, and copy it with --copy.",
    ),
    "learn": (
        "learn",
        "List the lessons. With NAME: predict what a scenario does, see it, and solve an exercise (--check grades it).",
    ),
    "laws": ("catalogues", "List the laws: id, sentence, rules."),
    "rules": ("rules", "Print rules of Flink by number, section or text. Without arguments: list the sections."),
    "faults": ("catalogues", "List the faults that a scenario can switch on, and the law that detects each fault."),
    "schema": ("catalogues", "Print the JSON Schema of scenario files (with or without --json)."),
}
"""Command name to the module in flowsim.cli.commands and one line of help; the function has the command's name."""


class CommandEntry(TyperCommand):
    """A command in the list of commands: its name and one line of help."""

    def __init__(self, name: str, module: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._module = f"{_PACKAGE}.{module}"

    def load(self) -> Any:
        """Imports the command's module and returns the command with its options."""
        single = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        module = importlib.import_module(self._module)
        settings = getattr(module, "CONTEXT_SETTINGS", None)
        single.command(self.name, context_settings=settings)(getattr(module, str(self.name)))
        return typer.main.get_command(single)


class CommandGroup(TyperGroup):
    """Lists commands by their entries. Imports only the command that is called or completed."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: CommandEntry(name, *entry) for name, entry in _COMMANDS.items()}

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        name, command, rest = super().resolve_command(ctx, args)
        return name, command.load() if isinstance(command, CommandEntry) else command, rest


app = typer.Typer(
    name="flowsim",
    cls=CommandGroup,
    help="Simulates Apache Flink 2.3.0 task graphs, records every step and checks the recording.",
    epilog="Exit codes: 0 fine, 1 a law or expectation is broken, 2 bad input, 3 the job failed, "
    "74 the recording cannot be written, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(is_given: bool) -> None:
    if is_given:
        mode = execution_mode()
        typer.echo(f"flowsim {__version__} ({mode if mode == COMPILED else f'pure Python: {mode}'})")
        raise typer.Exit


@app.callback()
def flowsim(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version, and whether the core is compiled."
        ),
    ] = False,
) -> None:
    """Options of flowsim itself."""


def load_called(arguments: Sequence[str]) -> None:
    """Imports the command that is called. An import that fails is reported by ``main``, which imports it again.

    Also builds the validator of scenarios if the command has imported it: code in C would drop an interrupt there.
    """
    name = next((argument for argument in arguments if not argument.startswith("-")), None)
    if name in _COMMANDS:
        with contextlib.suppress(Exception):
            importlib.import_module(f"{_PACKAGE}.{_COMMANDS[name][0]}")
            scenarios = sys.modules.get("flowsim.scenario.scenario_model")
            if scenarios is not None:
                scenarios.scenario_model().model_rebuild()


def _is_of_interrupt(error: BaseException) -> bool:
    """Returns True for an error with which interrupted code ended, instead of the interrupt.

    Where pydantic builds a validator, in C, only the text of its error names the interrupt.
    """
    chain: list[BaseException] = [error]
    for each in chain:
        if isinstance(each, KeyboardInterrupt):
            return True
        if type(each).__name__ == _SCHEMA_ERROR and KeyboardInterrupt.__name__ in str(each):
            return True
        chain += [before for before in (each.__cause__, each.__context__) if before is not None and before not in chain]
    return False


def main() -> None:
    """The console script ``flowsim``."""
    accept_all_characters()
    try:
        app(prog_name="flowsim")
    except KeyboardInterrupt:
        sys.exit(ExitCode.INTERRUPTED)
    except MemoryError as error:
        sys.stderr.write(
            "".join(f"{line}\n" for line in ("error: not enough memory", *getattr(error, "__notes__", ())))
        )
        sys.exit(ExitCode.JOB_FAILED)
    except Exception as error:
        if _is_of_interrupt(error):
            sys.exit(ExitCode.INTERRUPTED)
        traceback.print_exc()
        sys.stderr.write("This is a bug in flowsim: please report it with the lines above.\n")
        sys.exit(ExitCode.OUR_BUG)
