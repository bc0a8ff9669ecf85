"""A sink that writes rows to a table of a database, with staged rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar, Final

from flowsim.connectors.databases.database import STAGED_COLUMNS, Database, Fields, StagedRows
from flowsim.connectors.files.columns import Column, RowLayout, columns_of
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.errors import BadInput
from flowsim.operators.sink import InitContext

BATCH_ROWS: Final = 1000
"""Number of rows of one statement."""


class DatabaseSink:
    """The common part of the sinks that write to a table of a database.

    With checkpoints, rows are staged in the database, and one transaction moves those of a checkpoint into the table
    when the checkpoint has completed; a repeated commit finds none. Without checkpoints this happens when the job ends.
    With at-least-once ``delivery`` rows are inserted at once, so rows after the restored checkpoint are there again.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        table: str,
        fields: Mapping[str, str],
        delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
        batch_rows: int = BATCH_ROWS,
    ) -> None:
        self.table: str = table
        self.delivery: DeliveryGuarantee = delivery
        self.columns: tuple[Column, ...] = columns_of(fields, self.owner)
        for column in self.columns:
            if column.name.lower() in STAGED_COLUMNS:
                raise BadInput(f"{self.owner}: column {column.name!r} is used for staged rows: choose another name")
        self.batch_rows: int = batch_rows
        self.committed_rows: int = 0
        """The number of rows that runs of this sink have moved or inserted into the table."""

    @property
    def params(self) -> Mapping[str, object]:
        described: dict[str, object] = {
            "table": self.table,
            "columns": {column.name: column.type.value for column in self.columns},
        }
        if self.delivery is not DeliveryGuarantee.EXACTLY_ONCE:
            described["delivery"] = self.delivery.value
        return described

    @property
    def owner(self) -> str:
        """The sink in error messages."""
        return f"{self.kind} sink {self.table!r}"

    def open_database(self) -> Database:
        """Opens a connection."""
        raise NotImplementedError

    def name_of(self, context: InitContext) -> str:
        """Returns the name of the sink for its staged rows."""
        return context.operator_name

    def begin(self, database: Database, context: InitContext) -> None:
        """Called by every writer before it discards staged rows. Raises BadInput if rows would be lost or repeated."""

    def state(self, checkpoint_id: int) -> Sequence[object]:
        """Returns the state of each writer in a checkpoint."""
        return ()

    def create_writer(self, context: InitContext) -> DatabaseWriter | InsertingWriter:
        """Creates the writer of one subtask in a job with checkpoints."""
        if self.delivery is DeliveryGuarantee.EXACTLY_ONCE:
            return DatabaseWriter(self, context)
        return InsertingWriter(self)

    def restore_writer(
        self, context: InitContext, recovered_state: Sequence[object]
    ) -> DatabaseWriter | InsertingWriter:
        return self.create_writer(context)

    def create_direct_writer(self, context: InitContext) -> DirectDatabaseWriter | InsertingWriter:
        """Creates the writer of one subtask in a job without checkpoints."""
        if self.delivery is DeliveryGuarantee.EXACTLY_ONCE:
            return DirectDatabaseWriter(self, context)
        return InsertingWriter(self)

    def create_committer(self, context: InitContext) -> DatabaseCommitter:
        return DatabaseCommitter(self, context)


class _RowBuffer:
    """Checks rows, and passes them on in batches."""

    def __init__(self, sink: DatabaseSink, write: Callable[[Sequence[Fields]], None]) -> None:
        self._layout = RowLayout(sink.columns, sink.owner)
        self._batch_rows = sink.batch_rows
        self._write = write
        self._rows: list[Fields] = []

    def add(self, value: object) -> None:
        self._rows.append(self._layout.row(value))
        if len(self._rows) >= self._batch_rows:
            self.flush()

    def flush(self) -> None:
        if self._rows:
            rows, self._rows = self._rows, []
            self._write(rows)


class DatabaseWriter:
    """Stages the rows of one subtask."""

    def __init__(self, sink: DatabaseSink, context: InitContext) -> None:
        self._database = sink.open_database()
        self._sink = sink.name_of(context)
        self._state = sink.state
        self._subtask = context.subtask_index
        self._staged = self._named(1 + (context.restored_checkpoint_id or 0))
        self._count = 0
        self._buffer = _RowBuffer(sink, self._stage)
        try:
            self._database.create_tables()
            me, parallelism = context.subtask_index, context.parallelism
            self._database.reserve(self._sink, me)
            sink.begin(self._database, context)
            self._database.discard(
                self._sink,
                context.restored_checkpoint_id or 0,
                lambda subtask: subtask == me or (me == 0 and subtask >= parallelism),
            )
        except BaseException:
            self._database.close()
            raise

    def write(self, value: object, timestamp: int | None) -> None:
        self._buffer.add(value)

    def flush(self, end_of_input: bool) -> None:
        """Stages the rows in memory."""
        self._buffer.flush()

    def prepare_commit(self) -> Sequence[tuple[str, int, int]]:
        """Returns the name of the rows staged since the last call."""
        self._buffer.flush()
        staged, count, self._count = self._staged, self._count, 0
        return [(staged.sink, staged.subtask, staged.number)] if count else []

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        """Gives the next rows their number; returns the state of the sink."""
        self._staged = self._named(checkpoint_id + 1)
        return self._state(checkpoint_id)

    def close(self) -> None:
        """Closes the connection; a restore deletes what no checkpoint has."""
        self._database.close()

    def _named(self, number: int) -> StagedRows:
        return StagedRows(self._sink, self._subtask, number)

    def _stage(self, rows: Sequence[Fields]) -> None:
        self._database.stage(self._staged, self._count, rows)
        self._count += len(rows)


class DirectDatabaseWriter(DatabaseWriter):
    """Stages the rows of one subtask in a job without checkpoints, and moves them when the job has ended."""

    def __init__(self, sink: DatabaseSink, context: InitContext) -> None:
        super().__init__(sink, context)
        self._counts = sink
        self._is_complete = False

    def flush(self, end_of_input: bool) -> None:
        super().flush(end_of_input)
        self._is_complete = end_of_input

    def close(self) -> None:
        try:
            if self._is_complete:
                self._counts.committed_rows += self._database.move([self._staged])
            else:
                self._database.discard(self._sink, 0, lambda subtask: subtask == self._subtask)
        finally:
            super().close()


class InsertingWriter:
    """Inserts the rows of one subtask at once."""

    def __init__(self, sink: DatabaseSink) -> None:
        self._sink = sink
        self._database = sink.open_database()
        self._buffer = _RowBuffer(sink, self._insert)
        try:
            self._database.create_tables()
        except BaseException:
            self._database.close()
            raise

    def write(self, value: object, timestamp: int | None) -> None:
        self._buffer.add(value)

    def flush(self, end_of_input: bool) -> None:
        """Inserts the rows in memory."""
        self._buffer.flush()

    def prepare_commit(self) -> Sequence[object]:
        """Returns nothing: the rows are inserted."""
        return ()

    def close(self) -> None:
        """Inserts the rows in memory, also after a failure: they were written."""
        try:
            self._buffer.flush()
        finally:
            self._database.close()

    def _insert(self, rows: Sequence[Fields]) -> None:
        self._database.insert(rows)
        self._sink.committed_rows += len(rows)


class DatabaseCommitter:
    """Moves staged rows into the table, those of one checkpoint together."""

    def __init__(self, sink: DatabaseSink, context: InitContext) -> None:
        self._sink = sink
        self._database = sink.open_database()
        try:
            self._database.create_tables()
        except BaseException:
            self._database.close()
            raise

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        """Moves all rows in one transaction; rows that are not there were moved by an earlier attempt."""
        self._sink.committed_rows += self._database.move([self._staged(request.committable) for request in requests])

    def close(self) -> None:
        self._database.close()

    def _staged(self, committable: object) -> StagedRows:
        match committable:
            case (str(sink), int(subtask), int(number)):
                return StagedRows(sink, subtask, number)
        raise BadInput(
            f"{self._sink.owner}: expected the sink, subtask and number of staged rows, got {committable!r:.100}: the state "
            "belongs to another sink"
        )
