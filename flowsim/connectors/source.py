"""The protocols of sources and sinks. Flink: Source, Sink."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol

from flowsim.operators.sink import SinkWriter
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.sources.source_reader import SourceReader
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext, Value


class Source(Protocol):
    """A description of input; every subtask gets its own reader. Flink: Source."""

    @property
    def kind(self) -> str:
        """A short name for output and laws, such as ``csv``."""

    @property
    def params(self) -> Mapping[str, object]:
        """The source's parameters in a recording, as JSON values; paths have no folders."""

    @property
    def required_parallelism(self) -> int | None:
        """The only supported parallelism; None: any parallelism."""

    @property
    def emits_watermarks(self) -> bool:
        """True if the readers of this source emit watermarks and idleness themselves."""

    @property
    def needs_cost(self) -> bool:
        """True if the source never ends and never waits: at cost 0, virtual time would not advance."""

    def create_reader(self) -> SourceReader: ...


class Sink(Protocol):
    """A description of output; every subtask gets its own writer. Flink: Sink."""

    @property
    def kind(self) -> str:
        """A short name for output and laws, such as ``parquet``."""

    @property
    def params(self) -> Mapping[str, object]:
        """The sink's parameters in a recording, as JSON values; paths have no folders."""

    def create_writer(self) -> SinkWriter: ...


OpenBlocks = Callable[[OperatorContext], Iterator[Iterable[Value]]]


PlaceOfRecord = Callable[[OperatorContext, int], str | None]
"""Where a record of the subtask, counted from 0, comes from: file and line."""


class BlockReader:
    """Emits blocks of values without timestamps; only the cost per record limits the rate. Flink: SourceReader."""

    __slots__ = ("_open_blocks", "_place_of", "_ctx", "_blocks", "_values")

    wake_time_ns = None
    hands_over = True

    def __init__(self, open_blocks: OpenBlocks, place_of: PlaceOfRecord | None = None) -> None:
        self._open_blocks = open_blocks
        self._place_of = place_of

    def open(self, ctx: OperatorContext) -> None:
        self._ctx = ctx
        self._blocks = self._open_blocks(ctx)
        self._values: Iterator[Value] = iter(())

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        while True:
            if output.collect_batch(self._values):
                return DataInputStatus.MORE_AVAILABLE
            block = next(self._blocks, None)
            if block is None:
                return DataInputStatus.END_OF_DATA
            self._values = iter(block)

    def place_of_record(self, output: ReaderOutput) -> str | None:
        """Where the last record comes from; None if that is unknown."""
        return None if self._place_of is None else self._place_of(self._ctx, output.records - 1)

    def close(self) -> None:
        self._blocks = iter(())
        self._values = iter(())
