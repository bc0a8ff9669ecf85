"""What one run of a program gave, as the child process that ran it writes it.

Standard library only: ``on_pyflink.py`` imports this file in the Python of PyFlink, which has no flowsim.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

MARK = "flowsim-print-"


class Outcome:
    """How a program ended, and the results of each ``execute_and_collect`` as far as the program read them."""

    def __init__(self) -> None:
        self.exit_status = 0
        self.cause: str | None = None
        """Class and message of the error that ended the program."""
        self.refused: str | None = None
        """Why flowsim does not run the program."""
        self.collected: list[list[str]] = []
        self.prints: list[str] = []
        """The identifier of each call of ``print``, which prints ``MARK`` and its number in place of it."""

    def write(self, path: str) -> None:
        """Writes the outcome as JSON."""
        Path(path).write_text(json.dumps(vars(self)), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> Outcome:
        """Reads what ``write`` wrote. Raises OSError and ValueError."""
        outcome = cls()
        vars(outcome).update(json.loads(path.read_text(encoding="utf-8")))
        return outcome

    def exits(self, code: object) -> None:
        """Notes the argument of ``sys.exit``; a text is printed, and the exit status is 1."""
        self.exit_status = code if isinstance(code, int) else int(code is not None)

    def fails(self, cause: str) -> None:
        """Notes an error that Python would print with its traceback."""
        self.exit_status, self.cause = 1, cause

    def watch(self, stream: Any) -> None:
        """Lets a class of streams note what the program reads of its results, and mark the lines of each sink."""
        collect, print_stream = stream.execute_and_collect, stream.print

        def print_marked(self_: Any, sink_identifier: str | None = None) -> Any:
            self.prints.append(sink_identifier or "")
            return print_stream(self_, f"{MARK}{len(self.prints)}")

        def execute_and_collect(self_: Any, *args: Any, **kwargs: Any) -> Any:
            found = collect(self_, *args, **kwargs)
            texts: list[str] = []
            self.collected.append(texts)
            if isinstance(found, list):
                texts += map(value_text, found)
                return found
            return _Watched(found, texts)

        stream.execute_and_collect, stream.print = execute_and_collect, print_marked


class _Watched:
    """Notes what is read from an iterator over results."""

    def __init__(self, values: Any, texts: list[str]) -> None:
        self._values = values
        self._texts = texts

    def __iter__(self) -> _Watched:
        return self

    def __next__(self) -> Any:
        value = next(self._values)
        self._texts.append(value_text(value))
        return value

    next = __next__

    def close(self) -> None:
        self._values.close()

    def __enter__(self) -> _Watched:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()


def value_text(value: object) -> str:
    """Returns the text of a value, without the address of an object."""
    return re.sub(r" at 0x[0-9a-f]+>", ">", repr(value))


def error_text(error: BaseException) -> str:
    """Returns the class of an error, without its module, and its message."""
    message = str(error)
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def python_error(text: str) -> str | None:
    """Returns class and message of the last error of a Python traceback in a text; None without a traceback."""
    _, found, rest = text.rpartition("\n  File ")
    if not found:
        return None
    lines = rest.splitlines()[1:]
    while lines and (lines[0].startswith("    ") or not lines[0].strip()):
        del lines[0]
    return without_module("\n".join(lines).strip())


def without_module(error: str) -> str:
    """Returns an error without the module or package of its class."""
    return re.sub(r"^(?:[\w$<>]+\.)+(?=[\w$]+(?::|$))", "", error)


def cause_of(error: BaseException) -> str:
    """Returns class and message of an error: of a failed job, of the error in the function of the user."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return error_text(error)
    while java.getCause() is not None:
        java = java.getCause()
    text = str(java.toString())
    return python_error(text) or without_module(text)
