"""A sequence of numbers, as splits that readers request one by one. Flink: NumberSequenceSource, IteratorSourceReader."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from operator import length_hint

from flowsim.connectors.source import unexpected_state
from flowsim.connectors.split_assignment import RequestedSplits, SplitRequests, SplitsOnRequest
from flowsim.errors import BadInput
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.sources.split_enumerator import SplitEnumeratorContext
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext

_LONG = range(-(2**63), 2**63)

NumberSplit = tuple[str, int, int]
"""The id of a split, its next number and its last one."""


class NumberSequenceSource:
    """Emits the numbers from ``start`` to ``end``, both included. Flink: NumberSequenceSource.

    There is a split for each subtask, with numbers in order: at parallelism 1 all numbers are in order. A subtask that
    is fast may read several splits.
    """

    kind = "number_sequence"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = None

    def __init__(self, start: int, end: int) -> None:
        for number in (start, end):
            if type(number) is not int or number not in _LONG:
                raise BadInput(f"NumberSequenceSource: expected a long, got {number!r:.60}")
        if start > end:
            raise BadInput(f"NumberSequenceSource: 'from' must be <= 'to', got {start} and {end}")
        self.start = start
        self.end = end

    @property
    def params(self) -> Mapping[str, object]:
        return {"start": self.start, "end": self.end}

    @property
    def enumerator_factory(self) -> NumberSplits:
        """Makes the enumerator that assigns the splits."""
        return NumberSplits(self.start, self.end)

    def create_reader(self) -> NumberSequenceReader:
        """Creates a reader for one subtask."""
        return NumberSequenceReader()


def number_splits(start: int, end: int, splits: int) -> list[NumberSplit]:
    """Returns parts of almost equal length, the longer ones first; none is empty. Flink: NumberSequenceIterator.split.

    >>> number_splits(1, 8, 3), number_splits(1, 2, 3)
    ([('0', 1, 3), ('1', 4, 6), ('2', 7, 8)], [('0', 1, 1), ('1', 2, 2)])
    """
    length, longer = divmod(end - start + 1, splits)
    found: list[NumberSplit] = []
    for index in range(splits if length else longer):
        last = start + length - (0 if index < longer else 1)
        found.append((str(index), start, last))
        start = last + 1
    return found


class NumberSplits:
    """Makes the enumerator of a sequence, with as many splits as subtasks. Flink: IteratorSourceEnumerator."""

    def __init__(self, start: int, end: int) -> None:
        self._start = start
        self._end = end

    def create_enumerator(self, context: SplitEnumeratorContext[object]) -> RequestedSplits:
        return RequestedSplits(context, number_splits(self._start, self._end, context.current_parallelism))

    def restore_enumerator(self, context: SplitEnumeratorContext[object], state: bytes) -> RequestedSplits:
        return SplitsOnRequest(()).restore_enumerator(context, state)


class NumberSequenceReader:
    """Reads one split after the other, and requests the next one when it has none. Flink: IteratorSourceReader."""

    __slots__ = ("_requests", "_splits", "_id", "_last", "_numbers")

    wake_time_ns = None
    hands_over = True

    def __init__(self) -> None:
        self._requests = SplitRequests()
        self._splits: deque[NumberSplit] = deque()
        """The splits after the current one."""
        self._id: str | None = None
        self._last = 0
        self._numbers: Iterator[int] = iter(())

    def open(self, ctx: OperatorContext) -> None:
        self._requests.open(ctx)

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        while True:
            if output.collect_batch(self._numbers):
                return DataInputStatus.MORE_AVAILABLE
            self._id = None
            if self._splits:
                self._id, first, self._last = self._splits.popleft()
                self._numbers = iter(range(first, self._last + 1))
            elif self._requests.next_may_follow():
                return DataInputStatus.NOTHING_AVAILABLE
            else:
                return DataInputStatus.END_OF_DATA

    def add_splits(self, splits: Sequence[object]) -> None:
        self._splits.extend(_split_of(split) for split in splits)
        self._requests.answered()

    def notify_no_more_splits(self) -> None:
        self._requests.notify_no_more_splits()

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        current = [] if self._id is None else [(self._id, self._last + 1 - length_hint(self._numbers), self._last)]
        return [*current, *self._splits]

    def position_of(self, split: object) -> tuple[str, int]:
        name, first, _ = _split_of(split)
        return name, first

    def close(self) -> None:
        """Does nothing: there are no resources."""


def _split_of(split: object) -> NumberSplit:
    match split:
        case (str(name), int(first), int(last)):
            return name, first, last
    raise unexpected_state(split, "a range of numbers")
