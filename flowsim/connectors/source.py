"""The protocol of sources. Flink: Source."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Protocol

from flowsim.errors import BadInput
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.sources.source_reader import SourceReader
from flowsim.operators.sources.split_enumerator import EnumeratorFactory
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


class CoordinatedSource(Source, Protocol):
    """A source that may assign its splits while the job runs. Flink: Source.createEnumerator."""

    @property
    def enumerator_factory(self) -> EnumeratorFactory[object] | None:
        """Makes the enumerator that assigns the splits; None: each reader has a fixed share."""


def enumerator_factory_of(source: Source) -> EnumeratorFactory[object] | None:
    """Returns what makes the enumerator of a source; None: each reader has a fixed share."""
    factory: EnumeratorFactory[object] | None = getattr(source, "enumerator_factory", None)
    return factory


def unexpected_state(found: object, expected: str) -> BadInput:
    """Returns the error for restored splits of another source."""
    return BadInput(
        f"the state of a source: expected {expected}, got {found!r:.100}: it belongs to another source; restore with the "
        "source of the checkpoint, or give this one another uid"
    )


OpenBlocks = Callable[[OperatorContext], Iterator[Iterable[Value]]]


class BlockReader:
    """Emits blocks of values without timestamps; only the cost per record limits the rate. Flink: SourceReader.

    Its split is the number of values before the next one. After a restore these are read again and dropped.
    """

    __slots__ = ("_open_blocks", "_blocks", "_values", "_first", "_output")

    wake_time_ns = None
    hands_over = True

    def __init__(self, open_blocks: OpenBlocks) -> None:
        self._open_blocks = open_blocks
        self._first: int | None = 0
        """The number of values before the first one of this attempt; None: there is nothing to read."""
        self._output: ReaderOutput | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._values: Iterator[Value] = iter(())
        self._blocks: Iterator[Iterable[Value]] = iter(())
        if self._first == 0:
            self._blocks = self._open_blocks(ctx)
        elif self._first is not None:
            self._values = islice(chain.from_iterable(self._open_blocks(ctx)), self._first, None)

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        self._output = output
        while True:
            if output.collect_batch(self._values):
                return DataInputStatus.MORE_AVAILABLE
            block = next(self._blocks, None)
            if block is None:
                return DataInputStatus.END_OF_DATA
            self._values = iter(block)

    def add_splits(self, splits: Sequence[object]) -> None:
        match splits:
            case []:
                self._first = None
            case [int(first)]:
                self._first = first
            case _:
                raise unexpected_state(splits, "the number of values that were read")

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        if self._first is None:
            return ()
        return (self._first + (0 if self._output is None else self._output.records),)

    def position_of(self, split: object) -> tuple[str, int]:
        if not isinstance(split, int):
            raise unexpected_state(split, "the number of values that were read")
        return "all", split

    def close(self) -> None:
        self._blocks = iter(())
        self._values = iter(())
