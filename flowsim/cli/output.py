"""Output of the commands: control characters that come from scenarios and data reach no terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO

from rich.console import Console
from rich.text import Text

from flowsim.errors import printable


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
    found: TextIO = stream.stream if isinstance(stream, PrintableStream) else stream
    return found
