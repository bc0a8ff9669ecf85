"""Output of the commands: no control characters of scenarios and data, and no characters that an encoding lacks."""

from __future__ import annotations

import codecs
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import TextIOWrapper
from typing import Any, Final, TextIO

from rich.console import Console
from rich.text import Text

from flowsim.errors import printable

_PLAIN: Final = {"─": "-", "━": "-", "│": "|", "…": "...", "•": "*", "→": "->", "·": "."}
"""What stands for a character of tables and progress in an encoding that lacks it; any other one is escaped."""


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Replaces characters that the encoding of a stream lacks."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lacking = error.object[error.start : error.end]
    escaped = (_PLAIN.get(each) or each.encode("ascii", "backslashreplace").decode() for each in lacking)
    return "".join(escaped), error.end


def accept_all_characters() -> None:
    """Lets standard output and standard error replace characters that their encoding lacks, as with LC_ALL=C."""
    codecs.register_error("flowsim-plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="flowsim-plain")


class PrintableStream:
    """A stream that writes control characters as escapes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(printable(text))
        return len(text)

    def writelines(self, lines: list[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Everything but writing is done by the stream itself."""
        return getattr(self.stream, name)


class PrintableConsole(Console):
    """Rich's console: escapes control characters in texts before it adds those of colours."""

    def print(self, *objects: Any, **options: Any) -> None:
        super().print(*map(_printable_object, objects), **options)


def _printable_object(value: Any) -> Any:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Text) and printable(value.plain) != value.plain:
        return Text(printable(value.plain), style=value.style)
    return value


@contextmanager
def printable_output() -> Iterator[None]:
    """Standard output and standard error escape control characters as long as the block lasts."""
    out: Any = PrintableStream(raw(sys.stdout))
    error: Any = PrintableStream(raw(sys.stderr))
    with redirect_stdout(out), redirect_stderr(error):
        yield


def raw(stream: Any) -> TextIO:
    """The stream below a PrintableStream, for a console that writes colours."""
    below: TextIO = stream.stream if isinstance(stream, PrintableStream) else stream
    return below
