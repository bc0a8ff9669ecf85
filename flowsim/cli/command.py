"""The common part of all commands: results as text or JSON, error messages and exit codes."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import sys
from collections.abc import Callable
from contextlib import nullcontext, redirect_stdout
from dataclasses import dataclass
from functools import wraps
from typing import Any, ParamSpec, TextIO

import typer
from rich.console import Console

from flowsim.cli.exit_code import ExitCode
from flowsim.cli.output import PrintableConsole, printable_output, raw
from flowsim.errors import BadInput, FlowsimError, InvariantViolation, RecordingFailed, ScenarioError
from flowsim.quantities import size_bytes
from flowsim.units import duration_ns

P = ParamSpec("P")

WIDTH_WHEN_PIPED = 120


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of a command, as a JSON document and as text."""

    document: dict[str, Any] | list[Any]
    show: Callable[[Console], object]
    code: ExitCode = ExitCode.FINE
    error: FlowsimError | None = None
    """The error that ended the command early; the results so far are shown first."""


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """A result that may not fit in memory: written line by line, as one JSON document or as text."""

    write_json: Callable[[TextIO], ExitCode]
    write_text: Callable[[TextIO], ExitCode]


def command(body: Callable[P, Answer | StreamedAnswer]) -> Callable[P, None]:
    """Makes a typer command from a function that returns an answer.

    The function's parameter ``json_output`` selects the format of the answer. With ``--json`` all other output goes to
    standard error. If the reader closes the pipe, the command ends without an error.
    """

    @wraps(body)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        with printable_output():
            answered(*args, **kwargs)

    def answered(*args: P.args, **kwargs: P.kwargs) -> None:
        as_json = bool(kwargs.get("json_output", False))
        try:
            with redirect_stdout(sys.stderr) if as_json else nullcontext():
                answer = body(*args, **kwargs)
            code = _give(answer, as_json)
            sys.stdout.flush()
        except BrokenPipeError:
            # Python flushes standard output once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = ExitCode.FINE
        except KeyboardInterrupt:
            raise _stopped(as_json, ExitCode.INTERRUPTED, "interrupted") from None
        except InvariantViolation as error:
            raise _stopped(as_json, ExitCode.OUR_BUG, our_bug(error), error) from None
        except RecordingFailed as error:
            raise _stopped(as_json, ExitCode.CANNOT_WRITE, f"error: {error}", error) from None
        except FlowsimError as error:
            raise _stopped(as_json, ExitCode.BAD_INPUT, f"error: {error}", error) from None
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            message = f"error: {error.filename}: {error.strerror}: choose a shorter name"
            raise _stopped(as_json, ExitCode.BAD_INPUT, message, error) from None
        raise typer.Exit(int(code))

    return run


def _give(answer: Answer | StreamedAnswer, as_json: bool) -> ExitCode:
    if isinstance(answer, StreamedAnswer):
        return answer.write_json(sys.stdout) if as_json else answer.write_text(sys.stdout)
    if as_json:
        error = {} if answer.error is None else {"error": error_data(answer.error)}
        print_json(answer.document | error if isinstance(answer.document, dict) else answer.document)
    else:
        answer.show(console())
    if answer.error is not None:
        sys.stdout.flush()
        sys.stderr.write(f"error: {answer.error}\n")
    return answer.code


def console() -> Console:
    """Standard output, as wide as its terminal or ``COLUMNS``; a pipe has a fixed width."""
    width = known_width() or WIDTH_WHEN_PIPED
    return PrintableConsole(file=raw(sys.stdout), width=width, highlight=False, markup=False, emoji=False)


def known_width() -> int | None:
    """Returns the width of the terminal or of ``COLUMNS``; None for a pipe."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal():
        return shutil.get_terminal_size().columns
    return None


def print_json(document: object) -> None:
    """Prints one document with a newline at its end. JSON has no NaN and no infinity: such numbers become text."""
    sys.stdout.write(json.dumps(_finite(document), indent=2, ensure_ascii=False, default=str) + "\n")


def _finite(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {name: _finite(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value


def our_bug(error: InvariantViolation) -> str:
    """Returns the message of a violated invariant, which is a bug in flowsim."""
    return (
        f"internal error: {error}\nThis is a bug in flowsim, not in your input: please report it with the lines above."
    )


def error_data(error: BaseException) -> dict[str, object]:
    """Returns an error as JSON values."""
    document: dict[str, object] = {"kind": type(error).__name__, "message": str(error)}
    if isinstance(error, ScenarioError) and error.position is not None:
        where = error.position
        document |= {"file": where.file, "line": where.line, "column": where.column}
    return document


def _stopped(as_json: bool, code: ExitCode, message: str, error: BaseException | None = None) -> typer.Exit:
    sys.stderr.write(message + "\n")
    if as_json:
        failure = {"kind": "Interrupted", "message": message} if error is None else error_data(error)
        print_json({"error": failure, "exit_code": int(code)})
    return typer.Exit(int(code))


def duration_argument(name: str, text: str | None) -> int | None:
    """Returns the value of an option such as ``--until 10s`` in nanoseconds; raises BadInput."""
    if text is None:
        return None
    try:
        ns = duration_ns(text)
    except ValueError as error:
        raise BadInput(f"{name}: {error}") from None
    if not 0 < ns < 2**62:
        raise BadInput(f"{name}: expected more than 0 and at most 146 years, got {text!r}")
    return ns


def size_argument(name: str, text: str | None) -> int | None:
    """Returns the value of an option such as ``--record-values '64 MiB'`` in bytes; raises BadInput."""
    if text is None:
        return None
    try:
        return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else size_bytes(text)
    except ValueError as error:
        raise BadInput(f"{name}: {error}") from None
