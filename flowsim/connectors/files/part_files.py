"""The part files of a sink: their names, their commit, and the removal of those that no job completes.

Flink: FileSink, FileWriter, FileCommitter.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final, Protocol

from flowsim.connectors.files.columns import Column, RowLayout, columns_of
from flowsim.connectors.sinks.committables.commit_request import CommitRequest
from flowsim.connectors.sinks.sink import DeliveryGuarantee
from flowsim.errors import BadInput, SuppressRestarts
from flowsim.operators.sink import InitContext

WriteRow = Callable[[tuple[object, ...]], object]

_PERMANENT: Final = frozenset(
    {
        errno.EACCES,
        errno.EEXIST,
        errno.EISDIR,
        errno.ELOOP,
        errno.ENAMETOOLONG,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
"""A full disk is not among them: it can have space again when the job has restarted."""


@contextmanager
def _permanent_errors() -> Iterator[None]:
    """Errors that every restart would meet again fail the job."""
    try:
        yield
    except OSError as error:
        if error.errno in _PERMANENT:
            raise error from SuppressRestarts(str(error))
        raise


class RowPart(Protocol):
    """A file of rows that is being written."""

    @property
    def write_row(self) -> WriteRow: ...

    def finish(self) -> None:
        """Writes the rows that are still in memory; no row follows."""

    def close(self) -> None: ...


OpenPart = Callable[[Path], RowPart]


class PartFolder:
    """The folder of one sink. Visible files contain committed rows only, so a reader may use them at any time.

    ``part-<subtask>.<suffix>`` is the file of a job without checkpoints, ``part-<subtask>-<number>.<suffix>`` one of
    several in a job with checkpoints. The number is 1 more than the last checkpoint before the file; so after a restore
    from checkpoint n exactly the files above n contain rows that are read again, and no number is used twice. Files of
    a sink with at-least-once delivery also have the attempt, ``part-<subtask>-<number>-<attempt>.<suffix>``.

    A file that is not visible yet is ``.<name>.inprogress``. ``rows`` has the number of rows of each visible file.
    """

    def __init__(self, directory: str | Path, suffix: str) -> None:
        self.path: Path = Path(directory)
        self.rows: dict[str, int] = {}
        self._suffix = suffix
        self._name = re.compile(rf"\.?part-(\d+)(?:-(\d+))?(?:-\d+)?\.{re.escape(suffix)}(?:\.inprogress)?")

    def name(self, *numbers: int) -> str:
        """Returns the name of the file of a subtask, a number and perhaps an attempt."""
        return f"part-{'-'.join(map(str, numbers))}.{self._suffix}"

    def growing(self, name: str) -> Path:
        """Returns the path of a file until it is visible."""
        return self.path / f".{name}.inprogress"

    @_permanent_errors()
    def begin(self, context: InitContext, *, keeps_visible: bool = False) -> None:
        """Removes the files of a subtask that an attempt does not continue: those above the restored checkpoint.

        The first attempt also removes those of an earlier run, so a folder never mixes two runs. The first subtask
        removes those of subtasks that the sink has no longer. ``keeps_visible``: only files that are not visible.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        me, restored = context.subtask_index, context.restored_checkpoint_id or 0
        for path in sorted(self.path.iterdir()):
            match = self._name.fullmatch(path.name)
            if match is None or (keeps_visible and not path.name.startswith(".")):
                continue
            subtask, number = int(match.group(1)), match.group(2)
            is_old = context.attempt_number == 0 if number is None else int(number) > restored
            if is_old and (subtask == me or (me == 0 and subtask >= context.parallelism)):
                path.unlink()
                self.rows.pop(path.name, None)

    @_permanent_errors()
    def open(self, open_part: OpenPart, name: str) -> RowPart:
        """Opens the file of a name, which is not visible yet."""
        return open_part(self.growing(name))

    @_permanent_errors()
    def publish(self, name: str, rows: int) -> bool:
        """Makes a file visible; returns False if it is neither visible nor in progress."""
        growing, final = self.growing(name), self.path / name
        if growing.exists():
            os.replace(growing, final)
        elif not final.exists():
            return False
        self.rows[name] = rows
        return True


class DirectPartWriter:
    """Writes the one file of a subtask, which becomes visible when the job ends."""

    def __init__(self, folder: PartFolder, open_part: OpenPart, layout: RowLayout, context: InitContext) -> None:
        self._layout = layout
        self._folder = folder
        self._name = folder.name(context.subtask_index)
        self._is_complete = False
        folder.begin(context)
        self._part = folder.open(open_part, self._name)
        self._write_row = self._part.write_row

    def write(self, value: object, timestamp: int | None) -> None:
        self._write_row(self._layout.row(value))

    def flush(self, end_of_input: bool) -> None:
        """Accepts the end of the input: no more rows follow."""
        if end_of_input:
            self._part.finish()
            self._is_complete = True

    def close(self) -> None:
        self._part.close()
        if self._is_complete:
            self._folder.publish(self._name, 0)
        else:
            self._folder.growing(self._name).unlink(missing_ok=True)


class PartFileWriter:
    """Writes one file per checkpoint that has rows. Flink: FileWriter.

    ``publishes_at_once``: a file becomes visible before the barrier and after a failure, not on commit.
    """

    def __init__(
        self,
        folder: PartFolder,
        open_part: OpenPart,
        layout: RowLayout,
        context: InitContext,
        *,
        publishes_at_once: bool,
    ) -> None:
        self._folder = folder
        self._open_part = open_part
        self._layout = layout
        self._subtask = context.subtask_index
        self._attempt = (context.attempt_number,) if publishes_at_once else ()
        self._number = 1 + (context.restored_checkpoint_id or 0)
        self._publishes_at_once = publishes_at_once
        self._part: RowPart | None = None
        self._name = ""
        self._rows = 0
        self._write_row: WriteRow = self._first_row
        folder.begin(context, keeps_visible=publishes_at_once and context.attempt_number > 0)

    def write(self, value: object, timestamp: int | None) -> None:
        self._write_row(self._layout.row(value))
        self._rows += 1

    def flush(self, end_of_input: bool) -> None:
        """Publishes the file of a sink with at-least-once delivery."""
        if self._publishes_at_once:
            self._publish()

    def prepare_commit(self) -> Sequence[tuple[str, int]]:
        """Completes the file, which is then waiting for its commit; returns its name and its number of rows."""
        rows = self._complete()
        return [(self._name, rows)] if rows else []

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        """Gives the next file its number; a writer has no state."""
        self._number = checkpoint_id + 1
        return ()

    def close(self) -> None:
        """Removes the file in progress: its rows belong to no checkpoint. At-least-once delivery keeps them."""
        if self._part is None:
            return
        if self._publishes_at_once:
            self._publish()
        else:
            self._part.close()
            self._part = None
            self._folder.growing(self._name).unlink(missing_ok=True)

    def _first_row(self, row: tuple[object, ...]) -> None:
        """Opens the next file for its first row."""
        self._name = self._folder.name(self._subtask, self._number, *self._attempt)
        self._part = self._folder.open(self._open_part, self._name)
        self._write_row = self._part.write_row
        self._write_row(row)

    def _complete(self) -> int:
        """Completes the file in progress; returns its number of rows, 0 without a file."""
        if self._part is None:
            return 0
        part, rows = self._part, self._rows
        self._part, self._rows, self._write_row = None, 0, self._first_row
        try:
            part.finish()
        finally:
            part.close()
        return rows

    def _publish(self) -> None:
        rows = self._complete()
        if rows:
            self._folder.publish(self._name, rows)


class PartFileCommitter:
    """Makes files visible by renaming them. Flink: FileCommitter."""

    def __init__(self, folder: PartFolder) -> None:
        self._folder = folder

    def commit(self, requests: Sequence[CommitRequest[object]]) -> None:
        """Renames each file, unless an earlier attempt did.

        A file that is nowhere belongs to the folder of the run that took the savepoint; this one has only what follows.
        """
        for request in requests:
            match request.committable:
                case (str(name), int(rows)):
                    if not self._folder.publish(name, rows):
                        request.signal_already_committed()
                case other:
                    raise BadInput(
                        f"sink in {self._folder.path.name!r}: expected the name and rows of a part file, got {other!r:.100}: "
                        "the state belongs to another sink"
                    )

    def close(self) -> None:
        """Does nothing: a committer holds no resources."""


class FileSink:
    """The common part of the sinks that write rows to files in a folder, which belongs to the sink. Flink: FileSink.

    In a job without checkpoints each subtask writes one file, which is visible when the job has ended. With checkpoints
    it writes one file per checkpoint, which is visible when the checkpoint has completed; with at-least-once
    ``delivery`` the file is visible before that, and rows after the restored checkpoint are in it again.
    """

    kind: ClassVar[str]

    def __init__(
        self,
        directory: str | Path,
        fields: Mapping[str, str],
        delivery: DeliveryGuarantee = DeliveryGuarantee.EXACTLY_ONCE,
    ) -> None:
        self.directory: str | Path = directory
        self.delivery: DeliveryGuarantee = delivery
        self.columns: tuple[Column, ...] = columns_of(fields, self._owner)
        self._folder = PartFolder(directory, self.kind)

    @property
    def params(self) -> Mapping[str, object]:
        columns = {column.name: column.type.value for column in self.columns}
        if self.delivery is DeliveryGuarantee.EXACTLY_ONCE:
            return {"columns": columns}
        return {"columns": columns, "delivery": self.delivery.value}

    @property
    def committed_rows(self) -> int:
        """The number of rows in visible files of the last run with checkpoints."""
        return sum(self._folder.rows.values())

    def create_writer(self, context: InitContext) -> PartFileWriter:
        """Creates the writer of one subtask in a job with checkpoints."""
        at_once = self.delivery is not DeliveryGuarantee.EXACTLY_ONCE
        return PartFileWriter(self._folder, self._open_part, self._layout, context, publishes_at_once=at_once)

    def restore_writer(self, context: InitContext, recovered_state: Sequence[object]) -> PartFileWriter:
        return self.create_writer(context)

    def create_direct_writer(self, context: InitContext) -> DirectPartWriter:
        """Creates the writer of one subtask in a job without checkpoints."""
        return DirectPartWriter(self._folder, self._open_part, self._layout, context)

    def create_committer(self, context: InitContext) -> PartFileCommitter:
        return PartFileCommitter(self._folder)

    @property
    def _owner(self) -> str:
        return f"{self.kind} sink {str(self.directory)!r}"

    @property
    def _layout(self) -> RowLayout:
        return RowLayout(self.columns, self._owner)

    def _open_part(self, path: Path) -> RowPart:
        raise NotImplementedError
