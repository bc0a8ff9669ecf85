"""The contract of what a source operator reads from. Flink: SourceReader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext


class SourceReader(Protocol):
    """Reads the records of one source subtask; a connector implements it. Flink: SourceReader.

    ``poll_next`` emits records in a loop while ``ctx.clock.now_ns < ctx.clock.batch_end_ns`` and then answers
    MORE_AVAILABLE; the output charges the cost of each record, so the reader only has to look. It answers
    NOTHING_AVAILABLE when it has to wait, and then ``wake_time_ns`` says until when; END_OF_DATA or STOPPED exactly once.
    """

    hands_over: bool
    """Whether it keeps no hold of a record it emitted, and emits values of the closed set only.

    A copy could not be told from such a record, so one chained operator gets it as it is, neither copied nor checked.
    """

    @property
    def wake_time_ns(self) -> int | None:
        """After NOTHING_AVAILABLE: the clock's time at which to poll again, None when only a wake-up can tell."""

    def open(self, ctx: OperatorContext) -> None:
        """Called before the first poll; ``ctx.subtask_index`` says which share to read."""

    def poll_next(self, output: ReaderOutput) -> DataInputStatus: ...

    def close(self) -> None:
        """Called exactly once after a successful ``open``, also after a failure."""


class SplitReader(SourceReader, Protocol):
    """A reader with several splits, of which some can wait while others are read (rule 8.24). Flink: SourceReader.

    Only a source with watermark alignment asks for it. While every split that is left waits the reader answers
    NOTHING_AVAILABLE with ``wake_time_ns`` None; it is polled again when one may go on.
    """

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        """From now on these wait, and those go on; the ids are those of ``create_output_for_split``.

        Called between polls, and inside one by the very ``collect`` that put a split too far ahead: the batch ends with
        that record.
        """
