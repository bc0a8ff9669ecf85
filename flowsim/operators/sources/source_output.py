"""The outputs of a source's reader. Flink: SourceOutput, ReaderOutput."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from flowsim.operators.stream_operator import Value


class SourceOutput(Protocol):
    """Emits the records of a source, or of one of its splits. Flink: SourceOutput.

    The cost of each record is added to the clock before the record is emitted.
    """

    @property
    def records(self) -> int:
        """The records so far."""

    def collect(self, value: Value, timestamp: int | None) -> None:
        """Emits one record; ``timestamp`` is in ms, None if the reader has no timestamp."""

    def collect_batch(self, values: Iterator[Value]) -> bool:
        """Emits values without timestamps until the batch or the values end.

        Returns True if the batch ended, False if the values ended.
        """

    def emit_watermark(self, timestamp: int) -> None:
        """Emits a watermark (event time in ms) of a reader that generates watermarks itself."""

    def mark_idle(self) -> None:
        """Marks the output as idle: downstream watermarks do not wait for it until its next record or watermark."""

    def mark_active(self) -> None: ...


class ReaderOutput(SourceOutput, Protocol):
    """The main output of a source, for records without a split, and one output per split. Flink: ReaderOutput.

    Every split has its own event time (rule 8.6): its output generates watermarks from its records alone, and the
    source's watermark is the minimum over its splits. From the creation of its output, a split holds back the watermark
    of the source. So a reader that reads splits concurrently creates the outputs of all splits before the first record.
    A reader that reads splits one after the other creates each output at the start of the split and releases it at its
    end.
    """

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        """Creates the output of a split; repeated calls return the same output."""

    def release_output_for_split(self, split_id: str) -> None:
        """Releases the output of a split that has ended: the split holds back no watermark any more.

        An unknown split is ignored.
        """
