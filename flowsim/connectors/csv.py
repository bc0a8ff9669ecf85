"""The CSV source."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from flowsim.connectors.columns import columns_of, nearest
from flowsim.connectors.csv_blocks import CsvFile
from flowsim.connectors.row_file import Rows
from flowsim.connectors.source import BlockReader
from flowsim.errors import BadInput
from flowsim.operators.stream_operator import OperatorContext


class CsvSource:
    """Rows of a CSV file (``.gz`` too), in file order, as tuples of the declared columns in declared order.

    ``columns`` maps names to types (string, int, long, double, boolean); an empty field is ``''`` in a string column
    and None in every other. Without ``split_by`` it is read at parallelism 1. With ``split_by`` every subtask reads the
    whole file and keeps the rows of its groups: group ``i`` belongs to subtask ``i`` modulo the parallelism. ``groups``
    lists them, each a value or a list of values, and every row must belong to one; without it each value is a group, in
    sorted order.

    Raises BadInput, with ``file:line:column`` where there is one, here for a wrong header and while reading for a row.
    """

    kind = "csv"
    emits_watermarks = False
    needs_cost = False

    def __init__(
        self,
        path: str | Path,
        columns: Mapping[str, str],
        *,
        split_by: str | None = None,
        groups: Sequence[object] | None = None,
        delimiter: str = ",",
    ) -> None:
        owner = f"csv source {str(path)!r}"
        self.columns = columns_of(columns, owner)
        if len(delimiter) != 1 or delimiter in '"\r\n':
            raise BadInput(f"{owner}: expected a delimiter of one character, got {delimiter!r}")
        if split_by is not None and split_by not in columns:
            raise BadInput(f"{owner}: split_by: no column {split_by!r}{nearest(split_by, list(columns))}")
        if groups is not None and split_by is None:
            raise BadInput(f"{owner}: groups need split_by, the column whose values they list")
        self.split_by = split_by
        self._file = CsvFile(path, self.columns, delimiter)
        self._file.check()
        self._declared_groups = None if groups is None else [_group(group) for group in groups]
        self._groups: list[list[object]] | None = None

    @property
    def params(self) -> Mapping[str, object]:
        params: dict[str, object] = {"file": Path(self._file.path).name, "columns": [one.name for one in self.columns]}
        if self.split_by is not None:
            params["split_by"] = self.split_by
            if self._declared_groups is not None:
                params["groups"] = self._declared_groups
        return params

    @property
    def required_parallelism(self) -> int | None:
        return None if self.split_by is not None else 1

    def create_reader(self) -> BlockReader:
        """A reader for one subtask."""
        return BlockReader(self._blocks)

    def _blocks(self, ctx: OperatorContext) -> Iterator[Rows]:
        if self.split_by is None:
            return self._file.blocks()
        mine = [value for group in self.groups()[ctx.subtask_index :: ctx.parallelism] for value in group]
        return self._file.blocks((self.split_by, mine)) if mine else iter(())

    def groups(self) -> list[list[object]]:
        """The groups of ``split_by``, found by one pass over the file that all subtasks share; empty without it."""
        if self._groups is None and self.split_by is not None:
            if self._declared_groups is None:
                self._groups = [[value] for value in self._file.distinct(self.split_by)]
            else:
                self._file.require_values(self.split_by, [value for group in self._declared_groups for value in group])
                self._groups = self._declared_groups
        return self._groups or []


def _group(group: object) -> list[object]:
    return list(group) if isinstance(group, list | tuple) else [group]
