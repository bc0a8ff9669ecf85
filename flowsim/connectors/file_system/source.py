"""A source that reads the records of files: lines, or rows of CSV. Flink: FileSource, TextLineInputFormat."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

from flowsim.connectors.file_system.folders import input_path
from flowsim.connectors.files.columns import reason_of
from flowsim.connectors.files.file_sources import FilesReader, SplitFile
from flowsim.connectors.files.input_file import InputFile
from flowsim.connectors.schemas import checked_charset
from flowsim.connectors.split_assignment import SplitsOnRequest
from flowsim.errors import BadInput
from flowsim.values.durations import Duration
from flowsim.values.types import TypeInformation, Types

_BLOCK_CHARS = 1 << 18


class TextLinesFile:
    """A file (``.gz`` too) whose lines are records, without their ends. Flink: TextLineInputFormat."""

    def __init__(self, file: InputFile, charset: str) -> None:
        self.file: InputFile = file
        self.path: str = str(file.path)
        self._charset = charset

    def blocks(self, first_row: int = 0) -> Iterator[Sequence[object]]:
        """Yields blocks of lines, from line ``first_row`` on, counted from 0. Raises BadInput."""
        try:
            with self._open() as text:
                for _ in islice(text, first_row):
                    """Reads a line that was a record before."""
                while lines := text.readlines(_BLOCK_CHARS):
                    yield [line.rstrip("\r\n") for line in lines]
        except OSError as error:
            raise BadInput(f"{self.path}: cannot be read to its end: {reason_of(error)}") from None

    def place_of_row(self, row: int) -> str | None:
        """``file:line`` of a record, counted from 0."""
        return f"{self.file.path.name}:{row + 1}"

    def _open(self) -> io.TextIOWrapper:
        content = io.BufferedReader(self.file.open())
        return io.TextIOWrapper(content, encoding=self._charset, errors="replace", newline="")


class StreamFormat:
    """How the content of a file becomes records; by default each line is one. Flink: StreamFormat."""

    produced_type: TypeInformation = Types.STRING()

    def __init__(self, charset: str) -> None:
        self.charset: str = charset

    def records_of(self, file: InputFile) -> SplitFile:
        """Returns the records of a file."""
        return TextLinesFile(file, self.charset)

    @staticmethod
    def text_line_format(charset_name: str = "UTF-8") -> StreamFormat:
        """Each line is a record. Flink: TextLineInputFormat."""
        return StreamFormat(checked_charset(charset_name, "StreamFormat.text_line_format"))


class FileEnumeratorProvider:
    """Finds the files of a source; here all of them find the same files. Flink: FileEnumerator."""

    @staticmethod
    def default_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Files in folders at any depth; text is not split."""
        return FileEnumeratorProvider()

    @staticmethod
    def default_non_splittable_file_enumerator() -> FileEnumeratorProvider:
        """Files in folders at any depth. Flink: NonSplittingRecursiveEnumerator."""
        return FileEnumeratorProvider()


class FileSplitAssignerProvider:
    """Chooses the next file of a reader; here it is the next one in order. Flink: FileSplitAssigner."""

    @staticmethod
    def locality_aware_split_assigner() -> FileSplitAssignerProvider:
        """No file is nearer to a reader than another one."""
        return FileSplitAssignerProvider()


class FileSource:
    """Reads files: each is a split, which a reader requests when it has none. Flink: FileSource.

    The files of a folder are in the order of their names; those that begin with ``.`` or ``_`` are hidden.
    """

    kind = "text_lines"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = None

    def __init__(self, files: Sequence[SplitFile], produced_type: TypeInformation, *, is_bounded: bool = True) -> None:
        self._files = tuple(files)
        self.produced_type: TypeInformation = produced_type
        self.is_bounded: bool = is_bounded

    @staticmethod
    def for_record_stream_format(stream_format: StreamFormat, *paths: str) -> FileSourceBuilder:
        """Reads the records of files, and of the files in folders."""
        if not isinstance(stream_format, StreamFormat):
            raise BadInput(
                "FileSource: expected a StreamFormat such as StreamFormat.text_line_format(), got "
                f"{stream_format!r:.60}"
            )
        return FileSourceBuilder(stream_format, paths)

    @staticmethod
    def for_bulk_file_format(bulk_format: object, *paths: str) -> FileSourceBuilder:
        """Raises BadInput: flowsim has no bulk formats."""
        raise BadInput(
            "FileSource.for_bulk_file_format: flowsim does not have this: use a StreamFormat, or ParquetSource of "
            "flowsim.connectors"
        )

    @property
    def params(self) -> Mapping[str, object]:
        return {"files": [file.file.path.name for file in self._files]}

    @property
    def enumerator_factory(self) -> SplitsOnRequest:
        """Makes the enumerator that assigns the files."""
        return SplitsOnRequest(((file.file.name, 0) for file in self._files), is_bounded=self.is_bounded)

    def create_reader(self) -> FilesReader:
        """Creates a reader for one subtask."""
        return FilesReader(self._files, "dynamic")


class FileSourceBuilder:
    """Builds a FileSource. Flink: FileSource.FileSourceBuilder."""

    def __init__(self, stream_format: StreamFormat, paths: Sequence[str]) -> None:
        self._format = stream_format
        self._paths = paths
        self._is_bounded = True

    def monitor_continuously(self, discovery_interval: Duration) -> FileSourceBuilder:
        """The source does not end. Files that come while the job runs are not read."""
        if not isinstance(discovery_interval, Duration):
            raise BadInput(f"FileSource.monitor_continuously: expected a Duration, got {discovery_interval!r:.60}")
        self._is_bounded = False
        return self

    def process_static_file_set(self) -> FileSourceBuilder:
        """The source ends after its files; the default."""
        self._is_bounded = True
        return self

    def set_file_enumerator(self, file_enumerator: FileEnumeratorProvider) -> FileSourceBuilder:
        """Has no effect: all enumerators find the same files."""
        return self

    def set_split_assigner(self, split_assigner: FileSplitAssignerProvider) -> FileSourceBuilder:
        """Has no effect: a reader gets the next file."""
        return self

    def build(self) -> FileSource:
        """Finds the files. Raises BadInput if a path does not exist, or if there is no file."""
        found = [file for path in self._paths for file in _files_at(input_path(path, "FileSource"))]
        if not found:
            raise BadInput(f"FileSource: there is no file at {', '.join(map(str, self._paths)) or 'no path'}")
        files = {str(path): self._format.records_of(InputFile(path)) for path in found}
        return FileSource(list(files.values()), self._format.produced_type, is_bounded=self._is_bounded)


def _files_at(path: Path) -> list[Path]:
    try:
        if not path.is_dir():
            with suppress(IsADirectoryError), path.open("rb"):
                return [path]
        return [
            file
            for entry in sorted(path.iterdir())
            if not entry.name.startswith((".", "_"))
            for file in (_files_at(entry) if entry.is_dir() else [entry])
        ]
    except OSError as error:
        raise BadInput(f"FileSource: {path}: cannot be read: {reason_of(error)}") from None
