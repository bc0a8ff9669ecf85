"""File sources, which assign files to subtasks. Flink: FileSource."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import length_hint
from pathlib import Path
from typing import Protocol

from flowsim.connectors.files.columns import Column, RowFile, columns_of
from flowsim.connectors.files.input_file import InputFile, input_file_of
from flowsim.connectors.files.json_lines_file import JsonLinesFile
from flowsim.connectors.source import unexpected_state
from flowsim.connectors.split_assignment import Assignment, SplitRequests, SplitsOnRequest, checked_assignment
from flowsim.errors import BadInput
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, Value

Paths = str | Path | InputFile | Sequence[str | Path | InputFile]


def files_of(path: Paths, owner: str) -> list[InputFile]:
    """Returns the files at one path or several paths. Raises BadInput if there is no file."""
    paths = [path] if isinstance(path, str | Path | InputFile) else list(path)
    if not paths:
        raise BadInput(f"{owner}: expected at least one file, got none")
    return [input_file_of(path_or_file) for path_or_file in paths]


def files_as_params(files: Sequence[RowFile], assignment: Assignment) -> Mapping[str, object]:
    """Returns the files as recordings show them: names without folders, the columns, and a dynamic assignment."""
    params: dict[str, object] = {
        "files": [Path(file.path).name for file in files],
        "columns": [column.name for column in files[0].columns],
    }
    return params if assignment == "fixed" else {**params, "assignment": assignment}


def files_on_request(files: Sequence[RowFile], assignment: Assignment) -> SplitsOnRequest | None:
    """Returns what makes the enumerator of the files; None with fixed assignment."""
    return None if assignment == "fixed" else SplitsOnRequest((file.file.name, 0) for file in files)


class _FileSource:
    """Assigns the files to subtasks; each file is a split. The constructor checks the files."""

    emits_watermarks = False
    needs_cost = False
    required_parallelism = None

    def __init__(self, files: Sequence[RowFile], assignment: Assignment, owner: str) -> None:
        for file in files:
            file.check()
        self._files = files
        self.columns: tuple[Column, ...] = files[0].columns
        self.assignment = checked_assignment(assignment, owner)

    @property
    def params(self) -> Mapping[str, object]:
        return files_as_params(self._files, self.assignment)

    @property
    def enumerator_factory(self) -> SplitsOnRequest | None:
        """Makes the enumerator that assigns the files; None with fixed assignment."""
        return files_on_request(self._files, self.assignment)

    def create_reader(self) -> FilesReader:
        """Creates a reader for one subtask."""
        return FilesReader(self._files, self.assignment)


class ParquetSource(_FileSource):
    """Rows of Parquet files as tuples of the declared columns; by default of all columns of the first file.

    A timestamp column may be declared long: milliseconds since 1970-01-01 UTC. Raises BadInput in the constructor for a
    file that cannot be read or has other columns, and while reading for a truncated file.
    """

    kind = "parquet"

    def __init__(
        self, path: Paths, columns: Mapping[str, str] | None = None, *, assignment: Assignment = "fixed"
    ) -> None:
        from flowsim.connectors.files.parquet_file import ParquetFile

        files = files_of(path, "parquet source")
        owner = f"parquet source {str(files[0].path)!r}"
        first = ParquetFile(files[0], None if columns is None else columns_of(columns, owner))
        super().__init__([first, *(ParquetFile(other, first.columns) for other in files[1:])], assignment, owner)


class JsonLinesSource(_FileSource):
    """Objects of files with one JSON object per line (``.gz`` too), as tuples of the declared keys.

    A missing key is None; other keys are ignored. Raises BadInput in the constructor for a file that cannot be read,
    and ``file:line:column`` while reading for a line that does not match the declaration.
    """

    kind = "jsonl"

    def __init__(self, path: Paths, fields: Mapping[str, str], *, assignment: Assignment = "fixed") -> None:
        files = files_of(path, "jsonl source")
        owner = f"jsonl source {str(files[0].path)!r}"
        columns = columns_of(fields, owner)
        super().__init__([JsonLinesFile(file, columns) for file in files], assignment, owner)


class SplitFile(Protocol):
    """A file that is read record by record."""

    file: InputFile
    path: str

    def blocks(self, first_row: int = 0) -> Iterator[Sequence[Value]]:
        """Yields blocks of records in file order, from record ``first_row`` on, counted from 0."""

    def place_of_row(self, row: int) -> str | None:
        """File, without folder, and line or row of a record, counted from 0; None if it is unknown."""


class FilesReader:
    """Reads files one after the other. Flink: FileSourceReader.

    With fixed assignment these are the files whose index modulo the parallelism is the subtask's index, the same in every
    run. With dynamic assignment the reader requests its next file when it has none. A split is the file, as the user
    wrote it, and the number of its next row, counted from 0.
    """

    __slots__ = (
        "_files",
        "_requests",
        "_file",
        "_waiting",
        "_blocks",
        "_values",
        "_next_block_row",
        "_split",
        "_output",
        "_paused",
    )

    wake_time_ns = None
    hands_over = True

    def __init__(self, files: Sequence[SplitFile], assignment: Assignment) -> None:
        self._files = files
        self._requests = None if assignment == "fixed" else SplitRequests()
        self._file: SplitFile | None = None
        self._split: str | None = None
        self._paused = False
        self._waiting: deque[tuple[SplitFile, int]] | None = None
        """The files after the current one, each with its first row."""

    def open(self, ctx: OperatorContext) -> None:
        if self._requests is not None:
            self._requests.open(ctx)
        if self._waiting is None:
            share = [] if self._requests is not None else self._files[ctx.subtask_index :: ctx.parallelism]
            self._waiting = deque((file, 0) for file in share)
        self._blocks: Iterator[Sequence[Value]] = iter(())
        self._values: Iterator[Value] = iter(())
        self._next_block_row = 0
        """The row after the current block."""
        self._output: SourceOutput | None = None

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        while True:
            if self._paused:
                return DataInputStatus.NOTHING_AVAILABLE
            if self._output is not None and self._output.collect_batch(self._values):
                return DataInputStatus.MORE_AVAILABLE
            block = next(self._blocks, None)
            if block is not None:
                self._next_block_row += len(block)
                self._values = iter(block)
            elif not self._begin_next(output):
                if self._requests is not None and self._requests.next_may_follow():
                    return DataInputStatus.NOTHING_AVAILABLE
                return DataInputStatus.END_OF_DATA

    def _begin_next(self, output: ReaderOutput) -> bool:
        """Ends the current split and opens the next file. Returns False if there is no next file."""
        if self._split is not None:
            output.release_output_for_split(self._split)
            self._split = None
            self._output = None
        if not self._waiting:
            return False
        self._file, self._next_block_row = self._waiting.popleft()
        self._split = self._file.path
        self._output = output.create_output_for_split(self._split)
        self._blocks = self._file.blocks(self._next_block_row)
        return True

    def _position(self) -> int:
        """The row of the current file after the last record."""
        return self._next_block_row - length_hint(self._values)

    def add_splits(self, splits: Sequence[object]) -> None:
        waiting = self._waiting = deque() if self._waiting is None else self._waiting
        waiting.extend(self._file_and_row(split) for split in splits)
        if self._requests is not None:
            self._requests.answered()

    def notify_no_more_splits(self) -> None:
        if self._requests is not None:
            self._requests.notify_no_more_splits()

    def _file_and_row(self, split: object) -> tuple[SplitFile, int]:
        match split:
            case (str(name), int(row)):
                for file in self._files:
                    if file.file.name == name:
                        return file, row
        names = ", ".join(file.file.name for file in self._files[:10])
        raise unexpected_state(split, f"a row of one of the files {names}")

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        current = [] if self._file is None or self._split is None else [(self._file.file.name, self._position())]
        return current + [(file.file.name, row) for file, row in self._waiting or ()]

    def position_of(self, split: object) -> tuple[str, int]:
        file, row = self._file_and_row(split)
        return file.file.path.name, row

    @property
    def has_read_all(self) -> bool:
        """True if the reader waits for a file that its enumerator does not have."""
        return self._requests is not None and self._requests.is_waiting

    def place_of_record(self, output: ReaderOutput) -> str | None:
        """Where the last record of the current split comes from."""
        return None if self._file is None else self._file.place_of_row(self._position() - 1)

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        """Pauses or resumes the reader, which reads one split at a time (rule 8.24)."""
        if self._split in splits_to_pause:
            self._paused = True
        elif self._split in splits_to_resume:
            self._paused = False

    def close(self) -> None:
        self._next_block_row = self._position()
        self._waiting = deque()
        self._blocks = iter(())
        self._values = iter(())
