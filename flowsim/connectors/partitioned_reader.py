"""Reads the partitions of a log in turn, each record when it is appended. Flink: KafkaSourceReader."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flowsim.connectors.partition_enumerator import BacklogRead, PartitionSplit
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext


class ReadLog(Protocol):
    """One partition, from an offset on."""

    @property
    def offset(self) -> int:
        """The offset of the next record."""

    @property
    def is_at_end(self) -> bool:
        """True if the partition has ended: it is not read any more."""

    @property
    def next_append_ns(self) -> int | None:
        """When the next record is appended, in ns after the start; None: never."""

    @property
    def deleted_ns(self) -> int | None:
        """When the partition is deleted, with the records that are not read, in ns after the start; None: never."""

    def next_record(self) -> tuple[object, int | None] | None:
        """Returns the next record and its timestamp, and advances the offset; None: the record is skipped."""


class PartitionedSource(Protocol):
    """A source whose splits are the partitions of a log."""

    @property
    def split_ids(self) -> Sequence[str]:
        """The names of the partitions, by index."""

    @property
    def max_poll_records(self) -> int:
        """How many records of a partition are read before the next partition."""

    def split_of(self, split: object) -> PartitionSplit:
        """Returns the split of a checkpoint; raises BadInput for that of another source."""

    def start_lag(self, index: int) -> int:
        """Returns how many records of a partition are there at the start and are reported as backlog."""

    def open_log(self, index: int, offset: int, identity: tuple[int, str]) -> ReadLog:
        """Opens a partition; ``identity``: the seed and the name of the run that read it first."""


@dataclass(slots=True)
class _Consumed:
    """A partition that a reader reads."""

    index: int
    log: ReadLog
    identity: tuple[int, str]
    due_ns: int | None
    """When the next record can be read, on the clock of the task; None: never."""
    is_in_backlog: bool
    output: SourceOutput | None = None


class PartitionedReader:
    """Reads its partitions in turn. Flink: KafkaSourceReader, KafkaPartitionSplitReader."""

    __slots__ = (
        "_source",
        "_ctx",
        "_added",
        "_partitions",
        "_paused",
        "_polled",
        "_shift_ns",
        "_has_all",
        "wake_time_ns",
    )

    hands_over = True

    def __init__(self, source: PartitionedSource) -> None:
        self._source = source
        self._ctx: OperatorContext
        self._added: list[PartitionSplit] = []
        self._partitions: deque[_Consumed] = deque()
        """The partition that is read, then the others in their order."""
        self._paused: set[str] = set()
        self._polled = 0
        """The records of the first partition since it came first."""
        self._shift_ns = 0
        self._has_all = False
        self.wake_time_ns: int | None = None

    def open(self, ctx: OperatorContext) -> None:
        self._ctx = ctx

    def add_splits(self, splits: Sequence[object]) -> None:
        self._added += map(self._source.split_of, splits)

    def notify_no_more_splits(self) -> None:
        self._has_all = True

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        if self._added:
            self._begin_added(output)
        clock = self._ctx.clock
        for partition in self._partitions:
            if partition.log.deleted_ns is not None:
                self._set_due(partition)
        while self._partitions:
            first = self._partitions[0]
            if self._polled >= self._source.max_poll_records or not self._is_ready(first):
                if not self._go_to_next():
                    return DataInputStatus.NOTHING_AVAILABLE
                first = self._partitions[0]
            if first.log.is_at_end:
                self._end_first(output)
                continue
            record = first.log.next_record()
            if not first.log.is_at_end:
                self._set_due(first)
            self._polled += 1
            if first.output is not None and record is not None:
                first.output.collect(*record)
            if first.is_in_backlog:
                self._check_backlog(first)
            if clock.now_ns >= clock.batch_end_ns:
                return DataInputStatus.MORE_AVAILABLE
        self.wake_time_ns = None
        return DataInputStatus.END_OF_DATA if self._has_all else DataInputStatus.NOTHING_AVAILABLE

    def pause_or_resume_splits(self, splits_to_pause: Sequence[str], splits_to_resume: Sequence[str]) -> None:
        self._paused.update(splits_to_pause)
        self._paused.difference_update(splits_to_resume)

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        log_ns = self._ctx.clock.now_ns - self._start_ns
        consumed = [
            (partition.index, partition.log.offset, *partition.identity, log_ns) for partition in self._partitions
        ]
        return [*consumed, *self._added]

    def position_of(self, split: object) -> tuple[str, int]:
        index, offset, *_ = self._source.split_of(split)
        return self._source.split_ids[index], offset

    @property
    def has_read_all(self) -> bool:
        """True if the reader waits for records that no partition will ever get."""
        if self._has_all or self._added:
            return False
        return all(one.due_ns is None and not one.log.is_at_end for one in self._partitions)

    def close(self) -> None:
        """Does nothing: there are no resources."""

    @property
    def _start_ns(self) -> int:
        """The start of the log on the clock of the task."""
        return self._ctx.run_started_ns - self._shift_ns

    def _begin_added(self, output: ReaderOutput) -> None:
        ctx, source = self._ctx, self._source
        for index, offset, seed, name, log_ns in self._added:
            # A run that starts from a savepoint has a new clock, but the time of the log goes on.
            self._shift_ns = max(self._shift_ns, log_ns - (ctx.clock.now_ns - ctx.run_started_ns))
            identity = (ctx.run_seed if seed is None else seed, ctx.uid_or_position if name is None else name)
            begun = _Consumed(index, source.open_log(index, offset, identity), identity, 0, source.start_lag(index) > 0)
            begun.output = output.create_output_for_split(source.split_ids[index])
            self._partitions.append(begun)
            if begun.is_in_backlog:
                self._check_backlog(begun)
        self._added = []
        for partition in self._partitions:
            self._set_due(partition)

    def _set_due(self, one: _Consumed) -> None:
        append_ns, deleted_ns = one.log.next_append_ns, one.log.deleted_ns
        is_deleted = deleted_ns is not None and self._ctx.clock.now_ns - self._start_ns >= deleted_ns
        one.due_ns = None if append_ns is None or is_deleted else self._start_ns + append_ns

    def _is_ready(self, one: _Consumed) -> bool:
        """True if a record or the end of the partition can be read."""
        if self._is_paused(one):
            return False
        return one.log.is_at_end or (one.due_ns is not None and one.due_ns <= self._ctx.clock.now_ns)

    def _is_paused(self, one: _Consumed) -> bool:
        return self._source.split_ids[one.index] in self._paused

    def _go_to_next(self) -> bool:
        """Goes to the next partition that is ready; if there is none, sets the wake time and returns False."""
        self._polled = 0
        for _ in range(len(self._partitions)):
            self._partitions.rotate(-1)
            if self._is_ready(self._partitions[0]):
                return True
        waiting = [one.due_ns for one in self._partitions if one.due_ns is not None and not self._is_paused(one)]
        self.wake_time_ns = min(waiting, default=None)
        return False

    def _end_first(self, output: ReaderOutput) -> None:
        ended = self._partitions.popleft()
        self._polled = 0
        output.release_output_for_split(self._source.split_ids[ended.index])

    def _check_backlog(self, one: _Consumed) -> None:
        if one.log.offset >= self._source.start_lag(one.index):
            one.is_in_backlog = False
            send = self._ctx.send_to_coordinator
            if send is not None:
                send(BacklogRead(one.index))
