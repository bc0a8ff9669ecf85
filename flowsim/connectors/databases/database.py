"""The database of a sink: a table, and staged rows that a commit moves into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

Fields = tuple[object, ...]
"""The fields of a row in the order of the declared columns."""
STAGED_COLUMNS: Final = ("flowsim_sink", "flowsim_subtask", "flowsim_number", "flowsim_position")
"""The key of a staged row: the columns before those of the table."""


def quoted(name: str) -> str:
    """Returns a name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def staging_table(table: str) -> str:
    """Returns the name of the table for staged rows."""
    return f"flowsim_staged_{table}"


@dataclass(frozen=True, slots=True)
class StagedRows:
    """The name of rows that wait for their commit.

    ``sink``: the sink, by a name that no other sink of the database has. ``number``: 1 more than the last checkpoint
    before the rows, so after a restore from checkpoint n exactly the numbers above n contain rows that are read again.
    """

    sink: str
    subtask: int
    number: int


class Database(Protocol):
    """A connection of one writer or committer. Each method is one transaction, and raises BadInput if it fails.

    A sink with at-least-once delivery calls ``insert``; the others stage rows, and move them when they commit.
    """

    def create_tables(self) -> None:
        """Creates the table and the place for staged rows, unless they exist."""

    def reserve(self, sink: str, subtask: int) -> None:
        """Waits until no other connection reserves this name, and reserves it until this connection is closed.

        A writer reserves its name before it discards and stages rows, so an earlier attempt cannot stage rows later.
        """

    def insert(self, rows: Sequence[Fields]) -> None:
        """Inserts rows into the table."""

    def stage(self, staged: StagedRows, first: int, rows: Sequence[Fields]) -> None:
        """Adds rows to those of this name; ``first`` is the number of rows staged before."""

    def move(self, staged: Iterable[StagedRows]) -> int:
        """Moves all these rows into the table, in the order of staging, together; returns their number.

        Rows that are not staged were moved before: a repeated call moves nothing.
        """

    def discard(self, sink: str, above: int, is_mine: Callable[[int], bool]) -> None:
        """Deletes staged rows with a number above ``above``, of the subtasks for which ``is_mine`` is true."""

    def close(self) -> None:
        """Closes the connection."""
