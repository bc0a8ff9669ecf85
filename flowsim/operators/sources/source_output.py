"""What a source's reader emits through. Flink: SourceOutput, ReaderOutput."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from flowsim.operators.stream_operator import Value


class SourceOutput(Protocol):
    """Where the records of a source, or of one of its splits, go. Flink: SourceOutput.

    Each record costs the source operator's time, which is added before the record goes out.
    """

    def collect(self, value: Value, timestamp: int | None) -> None:
        """Emits one record; ``timestamp`` in ms, None when the reader knows none."""

    def collect_batch(self, values: Iterator[Value]) -> bool:
        """Emits values without timestamps until the batch ends; True when it ended, False when the values did."""

    def emit_watermark(self, timestamp: int) -> None:
        """Event time in ms, from a reader that knows it by itself."""

    def mark_idle(self) -> None:
        """Nobody downstream waits for this output until its next record or watermark."""

    def mark_active(self) -> None: ...


class ReaderOutput(SourceOutput, Protocol):
    """The main output of a source, for records that belong to no split, and one output per split. Flink: ReaderOutput.

    Every split has event time of its own (rule 8.6): its output makes watermarks from its records alone, and the source's
    watermark is the least of those of its splits. A split holds the others back from the moment its output is made, so
    a reader makes the outputs of all splits it reads side by side before it emits the first record of any; one that
    reads them one after the other makes each when it begins and releases it when it is done.
    """

    def create_output_for_split(self, split_id: str) -> SourceOutput:
        """The output of a split; the same one when it is asked for again."""

    def release_output_for_split(self, split_id: str) -> None:
        """The split has ended and holds nothing back any more; an unknown one is ignored."""
