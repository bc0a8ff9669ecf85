"""The CSV source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flowsim.connectors.files.columns import Column, Rows, columns_of
from flowsim.connectors.files.csv_file import CsvFile
from flowsim.connectors.files.file_sources import FilesReader, Paths, files_as_params, files_of
from flowsim.connectors.source import BlockReader
from flowsim.errors import BadInput, did_you_mean
from flowsim.operators.stream_operator import OperatorContext


class CsvSource:
    """Rows of CSV files (``.gz`` too), in file order, as tuples of the declared columns in declared order.

    ``columns`` maps names to types (string, int, long, double, boolean). An empty field is ``''`` in a string column
    and None in a column of another type.

    File ``i`` of several files is a separate split; subtask ``i`` modulo the parallelism reads it. A single file is
    read at parallelism 1, unless ``split_by`` names a column. Then every subtask reads the whole file and keeps the
    rows of its groups: group ``i`` belongs to subtask ``i`` modulo the parallelism. ``groups`` lists the groups; a
    group is a value or a list of values. Every row must belong to a group. Without ``groups`` each value is a group, in
    sorted order. ``rows`` limits the rows per file.

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
        self.split_by = split_by
        self._files = [CsvFile(one, self.columns, delimiter, rows) for one in files]
        for file in self._files:
            file.check()
        self._file = self._files[0]
        self._declared_groups = None if groups is None else [_group(group) for group in groups]
        self._groups: list[list[object]] | None = None

    @property
    def params(self) -> Mapping[str, object]:
        if len(self._files) > 1:
            return files_as_params(self._files)
        params: dict[str, object] = {"file": Path(self._file.path).name, "columns": [one.name for one in self.columns]}
        if self.split_by is not None:
            params["split_by"] = self.split_by
            if self._declared_groups is not None:
                params["groups"] = self._declared_groups
        return params

    @property
    def required_parallelism(self) -> int | None:
        return None if self.split_by is not None or len(self._files) > 1 else 1

    def create_reader(self) -> BlockReader | FilesReader:
        """Creates a reader for one subtask."""
        if len(self._files) > 1:
            return FilesReader(self._files)
        return BlockReader(self._blocks, self._place_of)

    def _blocks(self, ctx: OperatorContext) -> Iterator[Rows]:
        if self.split_by is None:
            return self._file.blocks()
        own = self._own(ctx)
        return self._file.blocks((self.split_by, own)) if own else iter(())

    def _own(self, ctx: OperatorContext) -> list[object]:
        """Returns the values of ``split_by`` that a subtask reads."""
        return [value for group in self.groups()[ctx.subtask_index :: ctx.parallelism] for value in group]

    def _place_of(self, ctx: OperatorContext, record: int) -> str | None:
        keep = None if self.split_by is None else (self.split_by, self._own(ctx))
        return self._file.place_of_row(record, keep)

    def groups(self) -> list[list[object]]:
        """Returns the groups of ``split_by``; empty without ``split_by``.

        One pass over the file finds the groups for all subtasks.
        """
        if self._groups is None and self.split_by is not None:
            if self._declared_groups is None:
                self._groups = [[value] for value in self._file.distinct(self.split_by)]
            else:
                self._file.require_values(self.split_by, [value for group in self._declared_groups for value in group])
                self._groups = self._declared_groups
        return self._groups or []


def _group(group: object) -> list[object]:
    return list(group) if isinstance(group, list | tuple) else [group]
