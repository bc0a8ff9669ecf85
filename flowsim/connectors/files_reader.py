"""Reads several files, one after the other, each a split with event time of its own. Flink: FileSourceReader."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from flowsim.connectors.row_file import RowFile, Rows
from flowsim.operators.data_input_status import DataInputStatus
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import OperatorContext, Value


class FilesReader:
    """The files of one subtask: those whose index is its own modulo the parallelism. Flink: FileSourceReader.

    In Flink the subtasks ask for their next file as they are done with one, so that who reads what is a matter of speed;
    here it is fixed, and the same in every run.
    """

    __slots__ = ("_files", "_waiting", "_blocks", "_values", "_split", "_output", "_paused")

    wake_time_ns = None
    hands_over = True

    def __init__(self, files: Sequence[RowFile]) -> None:
        self._files = files
        self._split: str | None = None
        self._paused = False

    def open(self, ctx: OperatorContext) -> None:
        mine = self._files[ctx.subtask_index :: ctx.parallelism]
        self._waiting: Iterator[RowFile] = iter(mine)
        self._blocks: Iterator[Rows] = iter(())
        self._values: Iterator[Value] = iter(())
        self._output: SourceOutput | None = None

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        while True:
            if self._paused:
                return DataInputStatus.NOTHING_AVAILABLE
            if self._output is not None and self._output.collect_batch(self._values):
                return DataInputStatus.MORE_AVAILABLE
            block = next(self._blocks, None)
            if block is not None:
                self._values = iter(block)
            elif not self._begin_next(output):
                return DataInputStatus.END_OF_DATA

    def _begin_next(self, output: ReaderOutput) -> bool:
        """Ends the split that was read and opens the next; False when there is none."""
        if self._split is not None:
            output.release_output_for_split(self._split)
            self._split = None
        file = next(self._waiting, None)
        if file is None:
            return False
        self._split = file.path
        self._output = output.create_output_for_split(file.path)
        self._blocks = file.blocks()
        return True

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        """Rule 8.24: only one split is read at a time, so when it waits all wait."""
        if self._split in splits_to_pause:
            self._paused = True
        elif self._split in splits_to_resume:
            self._paused = False

    def close(self) -> None:
        self._waiting = iter(())
        self._blocks = iter(())
        self._values = iter(())
