"""The interface of source readers. Flink: SourceReader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext


class SourceReader(Protocol):
    """Reads the records of one source subtask; a connector implements it. Flink: SourceReader.

    ``poll_next`` emits records in a loop while ``ctx.clock.now_ns < ctx.clock.batch_end_ns`` and then returns
    MORE_AVAILABLE; the output adds the cost of each record. It returns NOTHING_AVAILABLE if it has to wait; then
    ``wake_time_ns`` is the end of the wait. It returns END_OF_DATA or STOPPED exactly once.
    """

    hands_over: bool
    """True if the reader keeps no reference to an emitted record, and emits only values of the closed set.

    Then a single chained operator gets the record itself, without a copy and without a check.
    """

    @property
    def wake_time_ns(self) -> int | None:
        """The time of the next poll after NOTHING_AVAILABLE, in ns; None: only after a wake-up."""

    def open(self, ctx: OperatorContext) -> None:
        """Called before the first poll. Unless splits were added before, ``ctx.subtask_index`` selects the share."""

    def poll_next(self, output: ReaderOutput) -> DataInputStatus: ...

    def close(self) -> None:
        """Called exactly once after a successful ``open``, also after a failure."""


class SplitReader(SourceReader, Protocol):
    """A reader with several splits that can be paused individually (rule 8.24). Flink: SourceReader.

    Used only with watermark alignment. While all remaining splits are paused, the reader returns NOTHING_AVAILABLE with
    ``wake_time_ns`` None; it is polled again when a split may continue.
    """

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        """Pauses and resumes splits; the ids are those of ``create_output_for_split``.

        Called between polls, and inside the ``collect`` call after which a split is too far ahead: the batch ends with
        that record.
        """


@runtime_checkable
class CheckpointedReader(SourceReader, Protocol):
    """A reader whose position is state (rule 12.111); a job with checkpoints needs one. Flink: SourceReader.

    A split is a value of the closed set: what is to be read, and the position in it.
    """

    def add_splits(self, splits: Sequence[object], /) -> None:
        """Adds splits after those that the reader has.

        Called before ``open`` with the restored splits, also if there are none: then the reader takes no share of its
        own.
        """

    def snapshot_state(self, checkpoint_id: int, /) -> Sequence[object]:
        """Returns the splits that are not read to their end, each with the position of its next record."""


@runtime_checkable
class PositionedReader(CheckpointedReader, Protocol):
    """A reader whose positions are recorded (table ``source_positions``)."""

    def position_of(self, split: object, /) -> tuple[str, int]:
        """Returns the name of a split that the reader stored or restored, and the number of the next record."""


@runtime_checkable
class AssignedReader(CheckpointedReader, Protocol):
    """A reader whose splits the enumerator of its source assigns. Flink: SourceReader."""

    def notify_no_more_splits(self) -> None:
        """Called when no more splits follow: the reader ends after those that it has."""
