"""Sources of several files, split over the subtasks. Flink: FileSource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from flowsim.connectors.columns import columns_of
from flowsim.connectors.files_reader import FilesReader
from flowsim.connectors.json_lines_file import JsonLinesFile
from flowsim.connectors.parquet_file import ParquetFile
from flowsim.connectors.row_file import RowFile
from flowsim.errors import BadInput

Paths = str | Path | Sequence[str | Path]


def paths_of(path: Paths, owner: str) -> list[str | Path]:
    """One path or several; raises BadInput for none."""
    paths: list[str | Path] = [path] if isinstance(path, str | Path) else list(path)
    if not paths:
        raise BadInput(f"{owner}: expected at least one file, got none")
    return paths


def files_as_params(files: Sequence[RowFile]) -> Mapping[str, object]:
    """What a recording tells of files: their names without folders, and the columns."""
    return {
        "files": [Path(file.path).name for file in files],
        "columns": [column.name for column in files[0].columns],
    }


class _FileSource:
    """File i is read by subtask i modulo the parallelism, in order, each a split of its own; checked here already."""

    emits_watermarks = False
    needs_cost = False
    required_parallelism = None

    def __init__(self, files: Sequence[RowFile]) -> None:
        for file in files:
            file.check()
        self._files = files
        self.columns = files[0].columns

    @property
    def params(self) -> Mapping[str, object]:
        return files_as_params(self._files)

    def create_reader(self) -> FilesReader:
        """A reader for one subtask."""
        return FilesReader(self._files)


class ParquetSource(_FileSource):
    """Rows of Parquet files as tuples of the declared columns; without declaration, of all columns of the first file.

    A timestamp column may be declared long: milliseconds since 1970-01-01 UTC. Raises BadInput here for a file that
    cannot be read or has other columns, and while reading for one that breaks off.
    """

    kind = "parquet"

    def __init__(self, path: Paths, columns: Mapping[str, str] | None = None) -> None:
        paths = paths_of(path, "parquet source")
        declared = None if columns is None else columns_of(columns, f"parquet source {str(paths[0])!r}")
        first = ParquetFile(paths[0], declared)
        super().__init__([first, *(ParquetFile(other, first.columns) for other in paths[1:])])


class JsonLinesSource(_FileSource):
    """Objects of files with one JSON object a line (``.gz`` too), as tuples of the declared keys.

    A key that is missing is None, other keys are ignored. Raises BadInput here for a file that cannot be read, and
    ``file:line:column`` while reading for a line that is not as declared.
    """

    kind = "jsonl"

    def __init__(self, path: Paths, fields: Mapping[str, str]) -> None:
        paths = paths_of(path, "jsonl source")
        columns = columns_of(fields, f"jsonl source {str(paths[0])!r}")
        super().__init__([JsonLinesFile(one, columns) for one in paths])
