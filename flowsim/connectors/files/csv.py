"""The CSV source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from operator import length_hint
from pathlib import Path
from typing import TYPE_CHECKING

from flowsim.connectors.files.columns import Column, Rows, columns_of
from flowsim.connectors.files.file_sources import FilesReader, Paths, files_as_params, files_of, files_on_request
from flowsim.connectors.source import unexpected_state
from flowsim.connectors.split_assignment import Assignment, SplitsOnRequest, checked_assignment
from flowsim.errors import BadInput, did_you_mean
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, Value

if TYPE_CHECKING:
    from flowsim.connectors.files.csv_file import CsvFile


class CsvSource:
    """Rows of CSV files (``.gz`` too), in file order, as tuples of the declared columns in declared order.

    ``columns`` maps names to types (string, int, long, double, boolean). An empty field is ``''`` in a string column
    and None in a column of another type.

    File ``i`` of several files is a separate split; subtask ``i`` modulo the parallelism reads it. With
    ``assignment="dynamic"`` a subtask that has no file requests the next one. Otherwise a single file is read at
    parallelism 1, unless ``split_by`` names a column. Then every subtask reads the whole file and keeps the rows of its
    groups: group ``i`` belongs to subtask ``i`` modulo the parallelism. ``groups`` lists the groups; a group is a value
    or a list of values. Every row must belong to a group. Without ``groups`` each value is a group, in sorted order.
    ``rows`` limits the rows per file.

    The constructor raises BadInput for a wrong header; reading raises BadInput for a wrong row. The message contains
    ``file:line:column`` if the position is known.
    """

    kind = "csv"
    emits_watermarks = False
    needs_cost = False

    def __init__(
        self,
        path: Paths,
        columns: Mapping[str, str],
        *,
        split_by: str | None = None,
        groups: Sequence[object] | None = None,
        delimiter: str = ",",
        rows: int | None = None,
        assignment: Assignment = "fixed",
    ) -> None:
        files = files_of(path, "csv source")
        owner = f"csv source {str(files[0].path)!r}"
        self.columns: tuple[Column, ...] = columns_of(columns, owner)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise BadInput(f"{owner}: expected a delimiter of one character, got {delimiter!r}")
        if rows is not None and rows < 1:
            raise BadInput(f"{owner}: rows: expected at least 1, got {rows}")
        if split_by is not None and split_by not in columns:
            raise BadInput(f"{owner}: split_by: no column {split_by!r}{did_you_mean(split_by, list(columns))}")
        if groups is not None and split_by is None:
            raise BadInput(f"{owner}: groups need split_by, the column whose values they list")
        if split_by is not None and len(files) > 1:
            raise BadInput(
                f"{owner}: split_by distributes the rows of one file; several files are distributed as whole files"
            )
        self.assignment = checked_assignment(assignment, owner)
        if split_by is not None and assignment == "dynamic":
            raise BadInput(f"{owner}: split_by gives each subtask a fixed share: remove it, or the dynamic assignment")
        self.split_by = split_by
        from flowsim.connectors.files.csv_file import CsvFile

        self._files = [CsvFile(one, self.columns, delimiter, rows) for one in files]
        for file in self._files:
            file.check()
        self._declared_groups = None if groups is None else [_group(group) for group in groups]
        self._groups: list[list[object]] | None = None

    @property
    def params(self) -> Mapping[str, object]:
        if self._has_file_splits:
            return files_as_params(self._files, self.assignment)
        params: dict[str, object] = {"file": Path(self.file.path).name, "columns": [one.name for one in self.columns]}
        if self.split_by is not None:
            params["split_by"] = self.split_by
            if self._declared_groups is not None:
                params["groups"] = self._declared_groups
        return params

    @property
    def required_parallelism(self) -> int | None:
        return None if self.split_by is not None or self._has_file_splits else 1

    @property
    def enumerator_factory(self) -> SplitsOnRequest | None:
        """Makes the enumerator that assigns the files; None with fixed assignment."""
        return files_on_request(self._files, self.assignment)

    @property
    def _has_file_splits(self) -> bool:
        return len(self._files) > 1 or self.assignment == "dynamic"

    def create_reader(self) -> FilesReader | RowsReader:
        """Creates a reader for one subtask."""
        if self._has_file_splits:
            return FilesReader(self._files, self.assignment)
        return RowsReader(self)

    @property
    def file(self) -> CsvFile:
        """The file, if there is only one."""
        return self._files[0]

    def groups(self) -> list[list[object]]:
        """Returns the groups of ``split_by``; empty without ``split_by``.

        One pass over the file finds the groups for all subtasks.
        """
        if self._groups is None and self.split_by is not None:
            if self._declared_groups is None:
                self._groups = [[value] for value in self.file.distinct(self.split_by)]
            else:
                self.file.require_values(self.split_by, [value for group in self._declared_groups for value in group])
                self._groups = self._declared_groups
        return self._groups or []


class RowsReader:
    """Reads one CSV file, or with ``split_by`` the rows of its groups of values. Flink: SourceReader.

    A split is the file, the group (None: all rows), and the number of the next row of the file, counted from 0. A
    subtask with several restored groups reads them in one pass, in file order.
    """

    __slots__ = ("_source", "_file", "_shares", "_blocks", "_values", "_numbers", "_next_row")

    wake_time_ns = None
    hands_over = True

    def __init__(self, source: CsvSource) -> None:
        self._source = source
        self._file = source.file
        self._shares: list[tuple[list[object] | None, int]] | None = None
        """The groups of this subtask, each with the row from which it is read."""

    def open(self, ctx: OperatorContext) -> None:
        if self._shares is None:
            self._shares = [(None, 0)]
            if self._source.split_by is not None:
                self._shares = [(group, 0) for group in self._source.groups()[ctx.subtask_index :: ctx.parallelism]]
        self._values: Iterator[Value] = iter(())
        self._numbers: Sequence[int] = ()
        """The row of the file of each value of the block."""
        self._next_row = min((first for _, first in self._shares), default=0)
        """The row after the last block that was read completely."""
        self._blocks = self._open_blocks(self._shares)

    def _open_blocks(self, shares: Sequence[tuple[list[object] | None, int]]) -> Iterator[tuple[Rows, Sequence[int]]]:
        split_by = self._source.split_by
        row = self._next_row
        if split_by is None:
            for _ in shares:
                for rows in self._file.blocks(row):
                    yield rows, range(row, row + len(rows))
                    row += len(rows)
            return
        first_rows = {value: first for group, first in shares for value in group or ()}
        if not first_rows:
            return
        column = [column.name for column in self._file.columns].index(split_by)
        last_first = max(first_rows.values())
        for rows, numbers in self._file.kept_blocks(split_by, list(first_rows), row):
            if numbers[0] < last_first:
                read = [
                    number >= first_rows.get(row_values[column], 0)
                    for row_values, number in zip(rows, numbers, strict=True)
                ]
                yield list(compress(rows, read)), list(compress(numbers, read))
            else:
                yield rows, numbers

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        while True:
            if output.collect_batch(self._values):
                return DataInputStatus.MORE_AVAILABLE
            self._next_row = self._position()
            block = next(self._blocks, None)
            if block is None:
                return DataInputStatus.END_OF_DATA
            rows, self._numbers = block
            self._values = iter(rows)

    def _position(self) -> int:
        """The row after the last record."""
        read = len(self._numbers) - length_hint(self._values)
        return int(self._numbers[read - 1]) + 1 if read else self._next_row

    def add_splits(self, splits: Sequence[object]) -> None:
        self._shares = [self._share_of(split) for split in splits]

    def _share_of(self, split: object) -> tuple[list[object] | None, int]:
        has_groups = self._source.split_by is not None
        match split:
            case (str(name), None | tuple() as group, int(row)) if (
                name == self._file.file.name and (group is not None) is has_groups
            ):
                return (None if group is None else list(group)), row
            case _:
                raise unexpected_state(split, f"a row of {self._file.file.name!r}{', and a group' * has_groups}")

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        position = self._position()
        return [
            (self._file.file.name, None if group is None else tuple(group), max(first, position))
            for group, first in self._shares or ()
        ]

    def position_of(self, split: object) -> tuple[str, int]:
        group, row = self._share_of(split)
        name = self._file.file.path.name
        return (name if group is None else f"{name} {', '.join(map(str, group))}"), row

    def place_of_record(self, output: ReaderOutput) -> str | None:
        """File and line of the last record; None if the file has changed."""
        return self._file.place_of_row(self._position() - 1)

    def close(self) -> None:
        self._next_row = self._position()
        self._blocks = iter(())
        self._values = iter(())
        self._numbers = ()


def _group(group: object) -> list[object]:
    return list(group) if isinstance(group, list | tuple) else [group]
