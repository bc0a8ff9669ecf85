"""A sink that writes to a SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from flowsim.connectors.databases.database import (
    STAGED_COLUMNS,
    Database,
    Fields,
    StagedRows,
    quoted,
    staging_table,
)
from flowsim.connectors.databases.database_sink import BATCH_ROWS, DatabaseSink
from flowsim.connectors.files.columns import Column, ColumnType
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.errors import BadInput, SuppressRestarts, ValueNotAllowed
from flowsim.values.closed_set import encodes

_TYPES: Final = {
    ColumnType.STRING: "TEXT",
    ColumnType.INT: "INTEGER",
    ColumnType.LONG: "INTEGER",
    ColumnType.DOUBLE: "REAL",
    ColumnType.BOOLEAN: "BOOLEAN",
}
_KEY: Final = ", ".join(map(quoted, STAGED_COLUMNS))
_SELECTS: Final = '"flowsim_sink" = ? AND "flowsim_subtask" = ? AND "flowsim_number" = ?'

_PERMANENT: Final = frozenset(
    {
        sqlite3.SQLITE_ERROR,
        sqlite3.SQLITE_PERM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CORRUPT,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_TOOBIG,
        sqlite3.SQLITE_CONSTRAINT,
        sqlite3.SQLITE_MISMATCH,
        sqlite3.SQLITE_AUTH,
        sqlite3.SQLITE_NOTADB,
    }
)
"""Results of SQLite that the same statement meets again. A full disk or a locked file may be gone at the next attempt."""


def checked_table(table: str) -> str:
    """Returns the name of a table. Raises BadInput for a name that no table of SQLite can have."""
    if not table or "\0" in table or not encodes(table) or table.lower().startswith("sqlite_"):
        raise BadInput(f"sqlite sink: table: expected a name that does not start with sqlite_, got {table!r}")
    return table


class SqliteSink(DatabaseSink):
    """Writes rows to a table of a SQLite file, which is created if it is missing.

    ``fields`` declares names and types (string, int, long, double, boolean) in order; None is NULL, a boolean 0 or 1.
    Rows wait for their commit in the table ``flowsim_staged_<table>``. NaN raises ValueNotAllowed: SQLite has none.
    """

    kind = "sqlite"

    def __init__(
        self,
        path: str | Path,
        table: str,
        fields: Mapping[str, str],
        delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        super().__init__(checked_table(table), fields, delivery, batch_rows)
        self.path: Path = Path(path)
        self._check_declaration()

    def _check_declaration(self) -> None:
        """Raises BadInput for columns that no table of SQLite can have; SQLite alone knows all its limits."""
        seen: dict[str, str] = {}
        for column in self.columns:
            if "\0" in column.name or not encodes(column.name):
                raise BadInput(f"{self.owner}: column {column.name!r}: expected a name of UTF-8 text without NUL")
            other = seen.setdefault(_folded(column.name), column.name)
            if other != column.name:
                raise BadInput(
                    f"{self.owner}: columns {other!r} and {column.name!r} are one column for SQLite, which does not "
                    "distinguish upper and lower case: rename one of them"
                )
        database = SqliteDatabase(None, self.table, self.columns, self.owner)
        try:
            database.create_tables()
        finally:
            database.close()

    def begin_run(self, restored_checkpoint_id: int | None) -> None:
        """Prepares the file for a job that starts from a checkpoint, or without one.

        Raises BadInput if the file holds rows that were committed after the checkpoint: they would be written again.
        """
        if not self.path.exists():
            return
        database = SqliteDatabase(self.path, self.table, self.columns, self.owner)
        try:
            database.begin_run(restored_checkpoint_id)
        finally:
            database.close()

    def open_database(self) -> Database:
        """Opens a connection to the file. Raises BadInput if it is no database, or cannot be created."""
        return SqliteDatabase(self.path, self.table, self.columns, self.owner)


def _folded(name: str) -> str:
    """Returns what SQLite compares: it ignores the case of ASCII letters only."""
    return "".join(letter.lower() if letter.isascii() else letter for letter in name)


class SqliteDatabase:
    """A connection to a SQLite file; ``path`` None: to a database in memory."""

    def __init__(self, path: Path | None, table: str, columns: Sequence[Column], owner: str) -> None:
        self._owner = owner if path is None else f"{owner} in {path.name}"
        self._columns = columns
        self._doubles = tuple(i for i, column in enumerate(columns) if column.type is ColumnType.DOUBLE)
        self._table = quoted(table)
        self._staged = quoted(staging_table(table))
        self._names = ", ".join(quoted(column.name) for column in columns)
        # SQLite takes an unknown quoted name for a text unless the name of the table precedes it.
        self._selected = ", ".join(f"staged.{quoted(column.name)}" for column in columns)
        self._marks = ", ".join("?" * len(columns))
        with self._errors():
            try:
                if path is not None:
                    path.parent.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise BadInput(f"{self._owner}: its folder cannot be created: {error.strerror or error}") from None
            self._connection = sqlite3.connect(":memory:" if path is None else path, isolation_level=None)
            # As for part files, a transaction survives the end of the process, not a power failure.
            self._connection.execute("PRAGMA synchronous = OFF")

    def begin_run(self, restored_checkpoint_id: int | None) -> None:
        with self._transaction() as run:
            (highest,) = run("PRAGMA user_version").fetchone()
            if restored_checkpoint_id is None:
                run("PRAGMA user_version = 0")
            elif highest > restored_checkpoint_id:
                raise BadInput(
                    f"{self._owner}: holds rows that were committed after checkpoint {restored_checkpoint_id}, and the "
                    "restored job would write them again: restore a later checkpoint, or write to another directory"
                )

    def create_tables(self) -> None:
        declared = ", ".join(f"{quoted(column.name)} {_TYPES[column.type]}" for column in self._columns)
        with self._transaction() as run:
            run(f"CREATE TABLE IF NOT EXISTS {self._table} ({declared})")
            run(
                f'CREATE TABLE IF NOT EXISTS {self._staged} ("flowsim_sink" TEXT, "flowsim_subtask" INTEGER, '
                f'"flowsim_number" INTEGER, "flowsim_position" INTEGER, {declared}, PRIMARY KEY ({_KEY})) WITHOUT ROWID'
            )

    def reserve(self, sink: str, subtask: int) -> None:
        """Does nothing: all attempts are in this process, and close their connection before the next one opens."""

    def insert(self, rows: Sequence[Fields]) -> None:
        self._check(rows)
        with self._transaction():
            self._connection.executemany(f"INSERT INTO {self._table} ({self._names}) VALUES ({self._marks})", rows)

    def stage(self, staged: StagedRows, first: int, rows: Sequence[Fields]) -> None:
        self._check(rows)
        key = (staged.sink, staged.subtask, staged.number)
        with self._transaction():
            self._connection.executemany(
                f"INSERT INTO {self._staged} ({_KEY}, {self._names}) VALUES (?, ?, ?, ?, {self._marks})",
                [(*key, position, *row) for position, row in enumerate(rows, first)],
            )

    def move(self, staged: Iterable[StagedRows]) -> int:
        """Moves rows, and keeps the highest number that was moved as the user version of the file."""
        moved = 0
        with self._transaction() as run:
            (highest,) = run("PRAGMA user_version").fetchone()
            for each in staged:
                if each.number > highest:
                    highest = each.number
                    run(f"PRAGMA user_version = {highest}")
                key = (each.sink, each.subtask, each.number)
                moved += run(
                    f"INSERT INTO {self._table} ({self._names}) SELECT {self._selected} FROM {self._staged} AS staged "
                    f'WHERE {_SELECTS} ORDER BY "flowsim_position"',
                    key,
                ).rowcount
                run(f"DELETE FROM {self._staged} WHERE {_SELECTS}", key)
        return moved

    def discard(self, sink: str, above: int, is_mine: Callable[[int], bool]) -> None:
        with self._transaction() as run:
            transactions = run(
                f'SELECT DISTINCT "flowsim_subtask", "flowsim_number" FROM {self._staged} '
                'WHERE "flowsim_sink" = ? AND "flowsim_number" > ? ORDER BY 1, 2',
                (sink, above),
            ).fetchall()
            for subtask, number in transactions:
                if is_mine(subtask):
                    run(f"DELETE FROM {self._staged} WHERE {_SELECTS}", (sink, subtask, number))

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[Callable[..., sqlite3.Cursor]]:
        with self._errors():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection.execute
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            # The upper bits of a code refine it; errors of the module itself have none.
            code = getattr(error, "sqlite_errorcode", None)
            permanent = code is None or code & 0xFF in _PERMANENT
            raise BadInput(f"{self._owner}: {error}") from (SuppressRestarts(str(error)) if permanent else None)

    def _check(self, rows: Sequence[Fields]) -> None:
        for index in self._doubles:
            for row in rows:
                if row[index] != row[index]:
                    raise ValueNotAllowed(
                        f"{self._owner}: column {self._columns[index].name!r}: SQLite has no NaN: {row!r:.120}"
                    )
