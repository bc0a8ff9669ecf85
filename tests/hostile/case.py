"""One hostile input, and what must become of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

REFUSED: Final = 2
"""The input is refused before anything is written."""
FAILED: Final = 3
"""The job starts and fails; its recording is readable."""
OUT: Final = "out"
"""The output directory of every case, in the folder of the case."""

Call = tuple[str, ...] | Callable[[], object]
"""Arguments of ``flowsim``; or a call of the API, whose result is a ScenarioRun or is not examined."""

Make = Callable[[Path], Call]
"""Writes the files of the input below a folder, which is the working directory, and returns the call to make."""


@dataclass(frozen=True)
class Case:
    """A line of the corpus.

    ``words``: at least two texts that the message contains: the place of the mistake, and what is expected or what to do.
    """

    name: str
    make: Make
    code: int
    words: tuple[str, ...]

    def __init__(self, name: str, make: Make, code: int, *words: str) -> None:
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "make", make)
        object.__setattr__(self, "code", code)
        object.__setattr__(self, "words", words)
