"""Assigns the partitions of a log to readers, and reports the backlog. Flink: KafkaSourceEnumerator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from flowsim.connectors.source import unexpected_state
from flowsim.errors import BadInput
from flowsim.operators.sources.split_enumerator import SplitEnumeratorContext
from flowsim.streamrecord.operator_event import OperatorEvent
from flowsim.values.encoding import decode_value, encode_value

PartitionSplit = tuple[int, int, int | None, str | None, int]
"""The partition, the offset of its next record, the seed and the name of the log (None: those of the run that reads it
first), and the time of the log in ns after its start.
"""


def partition_split_of(split: object, partitions: int) -> PartitionSplit:
    """Returns the split of a checkpoint; raises BadInput for that of another source."""
    match split:
        case (int(partition), int(offset), None | int() as seed, None | str() as name, int(log_ns)) if (
            partition < partitions
        ):
            return partition, offset, seed, name, log_ns
    raise unexpected_state(split, f"an offset of one of {partitions} partitions")


@dataclass(frozen=True, slots=True)
class BacklogRead(OperatorEvent):
    """A reader has read the records of a partition that were there at the start."""

    partition: int


OwnerOf = Callable[[int, int], int]
"""Returns the reader of a partition, by its index and the number of readers."""


def partition_modulo_readers(partition: int, readers: int) -> int:
    """Returns the reader of a partition of a generated log."""
    return partition % readers


class PartitionsOfLog:
    """Makes the enumerator of a log. Flink: KafkaSource."""

    def __init__(
        self,
        partitions: int,
        first_split: Callable[[int], PartitionSplit],
        backlog: Iterable[int],
        *,
        is_bounded: bool,
        owner_of: OwnerOf = partition_modulo_readers,
    ) -> None:
        """``first_split`` returns the split of a partition when the job starts.

        ``backlog``: the partitions that have records at the start; ``owner_of`` returns the reader of a partition.
        """
        self._partitions = partitions
        self._first_split = first_split
        self._backlog = tuple(backlog)
        self._is_bounded = is_bounded
        self._owner_of = owner_of

    def create_enumerator(self, context: SplitEnumeratorContext[object]) -> PartitionEnumerator:
        """Creates the enumerator of the first attempt."""
        return self._enumerator(context, [*map(self._first_split, range(self._partitions))], self._backlog)

    def restore_enumerator(self, context: SplitEnumeratorContext[object], state: bytes) -> PartitionEnumerator:
        """Creates the enumerator from its state in a checkpoint. Raises BadInput for another state."""
        match decode_value(state):
            case (tuple(splits), tuple(backlog)):
                return self._enumerator(context, splits, backlog)
            case other:
                raise unexpected_state(other, "the partitions without a reader")

    def _enumerator(
        self, context: SplitEnumeratorContext[object], splits: Sequence[object], backlog: Sequence[object]
    ) -> PartitionEnumerator:
        return PartitionEnumerator(context, splits, backlog, self._partitions, self._is_bounded, self._owner_of)


class PartitionEnumerator:
    """Assigns each partition to its reader, as soon as the reader registers.

    Its state is the partitions without a reader, and those whose backlog is not read. Flink: KafkaSourceEnumerator.
    """

    __slots__ = ("_context", "_pending", "_backlog", "_partitions", "_is_bounded", "_owner_of")

    def __init__(
        self,
        context: SplitEnumeratorContext[object],
        splits: Sequence[object],
        backlog: Sequence[object],
        partitions: int,
        is_bounded: bool,
        owner_of: OwnerOf,
    ) -> None:
        self._context = context
        self._owner_of = owner_of
        self._partitions = partitions
        self._is_bounded = is_bounded
        self._pending = {split[0]: split for split in (partition_split_of(one, partitions) for one in splits)}
        self._backlog = dict.fromkeys(backlog)

    def start(self) -> None:
        """Reports the backlog (rule 12.43)."""
        if self._backlog:
            self._context.set_is_processing_backlog(True)

    def add_reader(self, subtask: int) -> None:
        self._assign(subtask)
        if self._is_bounded:
            self._context.signal_no_more_splits(subtask)

    def _assign(self, subtask: int) -> None:
        parallelism = self._context.current_parallelism
        own = [partition for partition in sorted(self._pending) if self._owner_of(partition, parallelism) == subtask]
        if own:
            self._context.assign_splits({subtask: [self._pending.pop(partition) for partition in own]})

    def add_splits_back(self, splits: Sequence[object], subtask: int) -> None:
        for split in (partition_split_of(one, self._partitions) for one in splits):
            self._pending[split[0]] = split
        for reader in sorted(self._context.registered_readers):
            self._assign(reader)

    def handle_split_request(self, subtask: int) -> None:
        """Does nothing: readers do not request partitions."""

    def handle_source_event(self, subtask: int, event: OperatorEvent) -> None:
        if not isinstance(event, BacklogRead):
            raise BadInput(f"the enumerator of a log got an unexpected {type(event).__name__}")
        if event.partition in self._backlog:
            del self._backlog[event.partition]
            if not self._backlog:
                self._context.set_is_processing_backlog(False)

    def snapshot_state(self, checkpoint_id: int) -> bytes:
        pending = tuple(self._pending[partition] for partition in sorted(self._pending))
        return encode_value((pending, tuple(self._backlog)))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing: offsets are in the state of the readers."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Does nothing: there are no resources."""
