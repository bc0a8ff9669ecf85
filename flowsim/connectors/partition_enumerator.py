"""Discovers the partitions of a log, assigns them to readers, and reports the backlog. Flink: KafkaSourceEnumerator."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn, Protocol

from flowsim.connectors.source import unexpected_state
from flowsim.errors import BadInput
from flowsim.operators.sources.split_enumerator import SplitEnumeratorContext
from flowsim.sim.scheduler import Timer
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


class DiscoverablePartitions(Protocol):
    """The partitions that a log ever has, by index, and when they are discovered."""

    @property
    def split_ids(self) -> Sequence[str]:
        """The names of the partitions."""

    @property
    def is_bounded(self) -> bool:
        """True if readers end when they have read all partitions."""

    @property
    def discovery_interval_ns(self) -> int | None:
        """The time between two discoveries; None: partitions are discovered at the start only."""

    @property
    def changes_ns(self) -> Sequence[int]:
        """When the result of ``partitions_at`` changes, in order, in ns after the start of the log."""

    def partitions_at(self, log_ns: int) -> Iterable[int]:
        """Returns the partitions that exist at this time of the log. Raises BadInput if the discovery fails."""

    def first_split(self, index: int, log_ns: int, *, is_new: bool) -> PartitionSplit:
        """Returns the split of a partition that is discovered; ``is_new``: after the first discovery."""

    def split_of(self, split: object) -> PartitionSplit:
        """Returns the split of a checkpoint; raises BadInput for that of another source."""

    def owner_of(self, index: int, readers: int) -> int:
        """Returns the reader of a partition, by the number of readers."""


class PartitionsOfLog:
    """Makes the enumerator of a log. Flink: KafkaSource."""

    def __init__(self, log: DiscoverablePartitions, backlog: Iterable[int] = ()) -> None:
        """``backlog``: the partitions that have records at the start."""
        self._log = log
        self._backlog = tuple(backlog)

    def create_enumerator(self, context: SplitEnumeratorContext[object]) -> PartitionEnumerator:
        """Creates the enumerator of the first attempt."""
        return PartitionEnumerator(context, self._log, (), (), self._backlog, 0)

    def restore_enumerator(self, context: SplitEnumeratorContext[object], state: bytes) -> PartitionEnumerator:
        """Creates the enumerator from its state in a checkpoint. Raises BadInput for another state."""
        match decode_value(state):
            case (tuple(splits), tuple(assigned), tuple(backlog), int(log_ns)):
                return PartitionEnumerator(context, self._log, splits, assigned, backlog, log_ns)
            case other:
                raise unexpected_state(other, "the partitions of a log")


def _fail(error: BadInput) -> NoReturn:
    raise error


class PartitionEnumerator:
    """Discovers partitions at the start and at an interval, and assigns each to its reader as soon as that registers.

    Its state is the partitions without a reader, those with one, those whose backlog is not read, and the time of the log.
    A partition that does not exist any more stays with its reader. Flink: KafkaSourceEnumerator.
    """

    __slots__ = ("_context", "_log", "_pending", "_assigned", "_backlog", "_shift_ns", "_started_ns", "_timer")

    def __init__(
        self,
        context: SplitEnumeratorContext[object],
        log: DiscoverablePartitions,
        splits: Iterable[object],
        assigned: Iterable[object],
        backlog: Iterable[object],
        log_ns: int,
    ) -> None:
        """``assigned``: the names of partitions; ``log_ns``: the time of the log, in ns after its start."""
        self._context = context
        self._log = log
        self._pending = {split[0]: split for split in map(log.split_of, splits)}
        names = set(assigned)
        self._assigned = {index for index, name in enumerate(log.split_ids) if name in names}
        self._backlog = dict.fromkeys(backlog)
        # A run that starts from a savepoint has a new clock, but the time of the log goes on.
        self._shift_ns = max(0, log_ns - context.elapsed_ns)
        self._started_ns = 0
        """When discovery began, on the clock of the log."""
        self._timer: Timer | None = None

    @property
    def _log_ns(self) -> int:
        return self._context.elapsed_ns + self._shift_ns

    def start(self) -> None:
        """Reports the backlog (rule 12.43), and discovers the partitions."""
        if self._backlog:
            self._context.set_is_processing_backlog(True)
        self._started_ns = self._log_ns
        try:
            self._discover()
        except BadInput as error:
            # It fails the job once that runs, as that of a discovery in another thread.
            self._timer = self._context.call_later(0, partial(_fail, error))

    def _discover(self) -> None:
        now_ns = self._log_ns
        is_new = bool(self._pending or self._assigned)
        for index in self._log.partitions_at(now_ns):
            if index not in self._pending and index not in self._assigned:
                self._pending[index] = self._log.first_split(index, now_ns, is_new=is_new)
        next_ns = self._next_discovery_ns(now_ns)
        self._timer = None if next_ns is None else self._context.call_later(next_ns - now_ns, self._discover)
        for reader in sorted(self._context.registered_readers):
            self._assign(reader)

    def _next_discovery_ns(self, now_ns: int) -> int | None:
        """Returns the time of the next discovery that finds a change; None: there is none."""
        interval_ns = self._log.discovery_interval_ns
        change_ns = next((each for each in self._log.changes_ns if each > now_ns), None)
        if interval_ns is None or change_ns is None:
            return None
        return self._started_ns - (self._started_ns - change_ns) // interval_ns * interval_ns

    def add_reader(self, subtask: int) -> None:
        self._assign(subtask)

    def _assign(self, subtask: int) -> None:
        parallelism = self._context.current_parallelism
        own = [index for index in sorted(self._pending) if self._log.owner_of(index, parallelism) == subtask]
        if own:
            self._context.assign_splits({subtask: [self._pending.pop(index) for index in own]})
            self._assigned.update(own)
        if self._log.is_bounded and self._timer is None:
            self._context.signal_no_more_splits(subtask)

    def add_splits_back(self, splits: Sequence[object], subtask: int) -> None:
        for split in map(self._log.split_of, splits):
            self._pending[split[0]] = split
            self._assigned.discard(split[0])
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
        pending = tuple(self._pending[index] for index in sorted(self._pending))
        assigned = tuple(self._log.split_ids[index] for index in sorted(self._assigned))
        return encode_value((pending, assigned, tuple(self._backlog), self._log_ns))

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Does nothing: offsets are in the state of the readers."""

    def notify_checkpoint_aborted(self, checkpoint_id: int) -> None:
        """Does nothing."""

    def close(self) -> None:
        """Ends the discovery."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
