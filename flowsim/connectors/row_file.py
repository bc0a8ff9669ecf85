"""What the file formats have in common: a file is a sequence of rows of declared columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from flowsim.connectors.columns import Column

Rows = list[tuple[object, ...]]


class RowFile(Protocol):
    """One file of rows. A row is a tuple of the declared columns, in declared order."""

    path: str
    columns: tuple[Column, ...]

    def check(self) -> None:
        """Raises BadInput when the file cannot be read or does not have the declared columns."""

    def blocks(self) -> Iterator[Rows]:
        """Rows in file order, some at a time; raises BadInput at the first that is not as declared."""


def reason_of(error: Exception) -> str:
    """What went wrong, in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return (str(error) or type(error).__name__).splitlines()[0]
