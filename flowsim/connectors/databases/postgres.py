"""A sink that writes to a table on a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal
from uuid import uuid4

from flowsim.connectors.databases.database import (
    STAGED_COLUMNS,
    Database,
    Fields,
    StagedRows,
    quoted,
    staging_table,
)
from flowsim.connectors.databases.database_sink import BATCH_ROWS, DatabaseSink, DatabaseWriter, InsertingWriter
from flowsim.connectors.databases.postgres_server import PostgresConnection, PostgresServer
from flowsim.connectors.databases.row_history import RowHistory, check_continuation, history_of
from flowsim.connectors.files.columns import Column, ColumnType
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.errors import BadInput, SuppressRestarts, ValueNotAllowed, VirtualClockRefusal
from flowsim.operators.sink import InitContext

if TYPE_CHECKING:
    from psycopg import RawCursor
    from psycopg.rows import TupleRow

_TYPES: Final = {
    ColumnType.STRING: "text",
    ColumnType.INT: "integer",
    ColumnType.LONG: "bigint",
    ColumnType.DOUBLE: "double precision",
    ColumnType.BOOLEAN: "boolean",
}
_SYSTEM_COLUMNS: Final = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")
_KEY: Final = ", ".join(map(quoted, STAGED_COLUMNS))
_SELECTS: Final = '"flowsim_sink" = $1 AND "flowsim_subtask" = $2 AND "flowsim_number" = $3'
_IS_HISTORY: Final = '"flowsim_subtask" = -1 AND substr("flowsim_sink", 34) = $1'
_MOST_NAME_BYTES: Final = 63
"""PostgreSQL shortens longer names without an error."""


@dataclass(frozen=True, slots=True)
class NamedConnection:
    """A connection of a scenario for which the caller gave no server."""

    name: str


class PostgresSink(DatabaseSink):
    """Writes rows to a table on a PostgreSQL server, which is created if it is missing; on the real clock only.

    ``server`` is a URL, ``postgresql://USER@HOST:PORT/DATABASE``; libpq adds a password from ``PGPASSWORD`` or
    ``~/.pgpass``. ``fields`` declares names and types (string, int, long, double, boolean) in order; None is NULL.
    Rows wait for their commit in the table ``flowsim_staged_<table>``, under ``prefix`` and the name of the operator:
    jobs that write to the table at the same time need different prefixes, and a restored job the same one.
    """

    kind = "postgres"

    def __init__(
        self,
        server: str | NamedConnection,
        table: str,
        fields: Mapping[str, str],
        delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
        batch_rows: int = BATCH_ROWS,
        prefix: str = "flowsim",
    ) -> None:
        _check_name("postgres sink: table", table, _MOST_NAME_BYTES - len(staging_table("")))
        super().__init__(table, fields, delivery, batch_rows)
        for column in self.columns:
            _check_name(f"{self.owner}: column", column.name, _MOST_NAME_BYTES)
            if column.name in _SYSTEM_COLUMNS:
                raise BadInput(f"{self.owner}: column {column.name!r} is a system column of PostgreSQL: rename it")
        if "\0" in prefix:
            raise BadInput(f"{self.owner}: prefix: expected a text without NUL, got {prefix!r}")
        self.prefix: str = prefix
        self._server = server if isinstance(server, NamedConnection) else PostgresServer.of(server, self.owner)
        self._run = uuid4().hex
        self._restored: RowHistory | None = None
        """The history of the checkpoint from which the run started, empty without one; None: not known yet."""

    def check_run(self, clock: Literal["virtual", "real"]) -> None:
        """Raises BadInput if the clock is virtual, no server was given, or it cannot be reached.

        Otherwise a job whose restart strategy has no limit would restart until the server is there.
        """
        if clock != "real":
            raise VirtualClockRefusal(self.owner, "a server does not wait for virtual time")
        self.open_database().close()
        self._run, self._restored = uuid4().hex, None

    def check_restore(self, operator_name: str, writer_states: Sequence[object]) -> None:
        """Raises BadInput if the table has rows after the checkpoint, or another run has discarded rows before it."""
        self._restored = history_of(writer_states) or ()
        if self.delivery is not DeliveryGuarantee.EXACTLY_ONCE:
            return
        database = self._open()
        try:
            name = self._name(operator_name)
            check_continuation(database.history(name), self._restored, name, database.owner)
        finally:
            database.close()

    def begin(self, database: Database, context: InitContext) -> None:
        """Begins the rows of this run. A restored job continues the history of its checkpoint."""
        assert isinstance(database, PostgresDatabase)
        if self._restored is None and context.restored_checkpoint_id is None:
            self._restored = ()
        if self._restored is not None:
            database.begin_run(self.name_of(context), self._restored, self._run)

    def state(self, checkpoint_id: int) -> tuple[RowHistory]:
        """Returns the history of the rows that a checkpoint counts as written."""
        return ((*(self._restored or ()), (self._run, checkpoint_id)),)

    def restore_writer(
        self, context: InitContext, recovered_state: Sequence[object]
    ) -> DatabaseWriter | InsertingWriter:
        if self._restored is None:
            self._restored = history_of(recovered_state)
        return self.create_writer(context)

    def name_of(self, context: InitContext) -> str:
        return self._name(context.operator_name)

    def _name(self, operator_name: str) -> str:
        return f"{self.prefix}: {operator_name}"

    def open_database(self) -> Database:
        """Opens a connection to the server. Raises BadInput if that fails."""
        return self._open()

    def _open(self) -> PostgresDatabase:
        return PostgresDatabase(PostgresConnection(self._known_server(), self.owner), self.table, self.columns)

    def _known_server(self) -> PostgresServer:
        if isinstance(self._server, NamedConnection):
            name = self._server.name
            raise BadInput(
                f"{self.owner}: no server was given for its connection {name!r}: a scenario cannot name a server; add "
                f"--connect {name}=postgresql://USER@HOST/DATABASE, or connections={{{name!r}: URL}} in Python"
            )
        return self._server


class PostgresDatabase:
    """A connection to a table of a PostgreSQL server.

    The history of a sink's rows is kept beside its staged rows: one row for each run, with the subtask -1, the number of
    the last commit, and the position of the run.
    """

    def __init__(self, connection: PostgresConnection, table: str, columns: Sequence[Column]) -> None:
        self._connection = connection
        self._columns = columns
        self._texts = tuple(i for i, column in enumerate(columns) if column.type is ColumnType.STRING)
        self._table = quoted(table)
        self._staged = quoted(staging_table(table))
        self.owner: str = connection.owner
        self._names = ", ".join(quoted(column.name) for column in columns)

    def create_tables(self) -> None:
        declared = ", ".join(f"{quoted(column.name)} {_TYPES[column.type]}" for column in self._columns)
        staged = (
            '"flowsim_sink" text, "flowsim_subtask" integer, "flowsim_number" bigint, "flowsim_position" bigint, '
            f"{declared}, PRIMARY KEY ({_KEY})"
        )
        for table, content in ((self._table, declared), (self._staged, staged)):
            with self._connection.transaction() as cursor:
                # A role may write to a table and yet not create any, so an existing table is not created again.
                if cursor.execute("SELECT to_regclass($1)", (table,)).fetchone() == (None,):
                    # Without a lock two connections that create the same table may both find none, and one fails.
                    cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", (f"flowsim {table}",))
                    cursor.execute(f"CREATE TABLE IF NOT EXISTS {table} ({content})".encode())

    def reserve(self, sink: str, subtask: int) -> None:
        key = "format('flowsim %s %s %s', to_regclass($1)::oid, $2::text, $3::integer)"
        try:
            with self._connection.transaction() as cursor:
                cursor.execute(f"SELECT pg_advisory_lock(hashtextextended({key}, 0))", (self._staged, sink, subtask))
        except BadInput as error:
            raise BadInput(
                f"{error}: subtask {subtask} of another run may write as {sink!r}: end that run, or give this one another "
                "prefix"
            ) from error.__cause__

    def history(self, sink: str) -> RowHistory:
        """Returns the history of the sink's rows; empty without any."""
        with self._connection.transaction() as cursor:
            if cursor.execute("SELECT to_regclass($1)", (self._staged,)).fetchone() == (None,):
                return ()
            return self._history(cursor, sink)

    def begin_run(self, sink: str, restored: RowHistory, run: str) -> None:
        """Adds a run to the history. Raises BadInput if rows would be lost or written twice."""
        with self._connection.transaction() as cursor:
            before = self._history(cursor, sink)
            if before and before[-1][0] == run:
                return
            try:
                check_continuation(before, restored, sink, self.owner)
            except BadInput as error:
                raise error from SuppressRestarts(str(error))
            cursor.execute(f"DELETE FROM {self._staged} WHERE {_IS_HISTORY}".encode(), (sink,))
            for position, (each, number) in enumerate((*restored, (run, restored[-1][1] if restored else 0))):
                cursor.execute(
                    f"INSERT INTO {self._staged} ({_KEY}) VALUES ($1, -1, $2, $3)".encode(),
                    (f"{each} {sink}", number, position),
                )

    def _history(self, cursor: RawCursor[TupleRow], sink: str) -> RowHistory:
        rows = cursor.execute(
            f'SELECT left("flowsim_sink", 32), "flowsim_number" FROM {self._staged} WHERE {_IS_HISTORY} '
            'ORDER BY "flowsim_position"'.encode(),
            (sink,),
        ).fetchall()
        return tuple((str(run), int(number)) for run, number in rows)

    def insert(self, rows: Sequence[Fields]) -> None:
        self._copy(self._table, self._names, self._checked(rows))

    def stage(self, staged: StagedRows, first: int, rows: Sequence[Fields]) -> None:
        key = (staged.sink, staged.subtask, staged.number)
        keyed = ((*key, position, *row) for position, row in enumerate(self._checked(rows), first))
        self._copy(self._staged, f"{_KEY}, {self._names}", keyed)

    def move(self, staged: Iterable[StagedRows]) -> int:
        moved = 0
        # The DELETE locks the rows: of two connections that move them, one finds none.
        statement = (
            f'WITH moved AS (DELETE FROM {self._staged} WHERE {_SELECTS} RETURNING "flowsim_position", {self._names}) '
            f'INSERT INTO {self._table} ({self._names}) SELECT {self._names} FROM moved ORDER BY "flowsim_position"'
        )
        with self._connection.transaction() as cursor:
            for each in staged:
                moved += cursor.execute(statement.encode(), (each.sink, each.subtask, each.number)).rowcount
                # No UPDATE: a role needs no further right for it.
                cursor.execute(
                    f'WITH last AS (DELETE FROM {self._staged} WHERE {_IS_HISTORY} AND "flowsim_number" < $2 AND '
                    f'"flowsim_position" = (SELECT max("flowsim_position") FROM {self._staged} WHERE {_IS_HISTORY}) '
                    f'RETURNING "flowsim_sink", "flowsim_position") INSERT INTO {self._staged} ({_KEY}) '
                    'SELECT "flowsim_sink", -1, $2, "flowsim_position" FROM last'.encode(),
                    (each.sink, each.number),
                )
        return moved

    def discard(self, sink: str, above: int, is_mine: Callable[[int], bool]) -> None:
        with self._connection.transaction() as cursor:
            transactions = cursor.execute(
                f'SELECT DISTINCT "flowsim_subtask", "flowsim_number" FROM {self._staged} '
                'WHERE "flowsim_sink" = $1 AND "flowsim_number" > $2 ORDER BY 1, 2'.encode(),
                (sink, above),
            ).fetchall()
            for subtask, number in transactions:
                if is_mine(subtask):
                    cursor.execute(f"DELETE FROM {self._staged} WHERE {_SELECTS}".encode(), (sink, subtask, number))

    def close(self) -> None:
        self._connection.close()

    def _copy(self, table: str, names: str, rows: Iterable[Fields]) -> None:
        with (
            self._connection.transaction() as cursor,
            cursor.copy(f"COPY {table} ({names}) FROM STDIN".encode()) as copy,
        ):
            for row in rows:
                copy.write_row(row)

    def _checked(self, rows: Sequence[Fields]) -> Sequence[Fields]:
        for index in self._texts:
            for row in rows:
                text = row[index]
                if isinstance(text, str) and "\0" in text:
                    raise ValueNotAllowed(
                        f"{self._connection.owner}: column {self._columns[index].name!r}: a text of PostgreSQL cannot "
                        f"contain the character NUL: {row!r:.120}"
                    )
        return rows


def _check_name(what: str, name: str, most_bytes: int) -> None:
    if not name or "\0" in name or len(name.encode(errors="replace")) > most_bytes:
        raise BadInput(f"{what}: expected a name of at most {most_bytes} bytes, got {name!r:.200}")
