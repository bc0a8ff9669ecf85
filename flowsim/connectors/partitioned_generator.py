"""A generated log with partitions, as a topic of Kafka: records are there before they are read. Flink: KafkaSource."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from flowsim.connectors.generator import Distribution
from flowsim.connectors.partition_enumerator import BacklogRead, PartitionsOfLog, PartitionSplit, partition_split_of
from flowsim.connectors.partition_log import AppendTimes, Burst, Partition, PartitionLog, Pause
from flowsim.errors import BadInput
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext
from flowsim.units import NS_PER_MS

__all__ = ["Burst", "Partition", "PartitionedGeneratorReader", "PartitionedGeneratorSource", "Pause"]

StartingOffsets = Literal["earliest", "latest"] | int | Mapping[int, int]


class PartitionedGeneratorSource:
    """Reads partitions whose records are appended at their own rates, whether they are read or not.

    A reader that is slower than its partitions, or that was down, has a lag and catches up. The timestamp of a record is
    the time of its append, so that the lag delays results and shifts no event time; with ``timestamp_field`` the
    record has the timestamp as its last field. ``start_timestamp_ms`` is the event time at the start of the run;
    without it the oldest record was appended at 0.

    Partition i is a split, read by subtask i modulo the parallelism at first, with event time of its own. With more
    subtasks than partitions some read nothing; unless all partitions end, these subtasks wait for ever, and hold back
    the watermark unless the strategy has idleness. ``starting_offsets``: earliest, latest (without the records that are
    there at the start), one offset, or one per partition (from earliest for others). A reader takes up to
    ``max_poll_records`` records of a partition before it goes to the next one.

    Records depend on the run's seed, the operator (its uid), the partition and the offset only, not on the parallelism.
    """

    kind = "partitioned_generator"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = None

    def __init__(
        self,
        partitions: Sequence[Partition],
        fields: Mapping[str, Distribution],
        *,
        timestamp_field: str | None = None,
        starting_offsets: StartingOffsets = "earliest",
        start_timestamp_ms: int | None = None,
        max_poll_records: int = 500,
    ) -> None:
        owner = "partitioned generator"
        if not partitions:
            raise BadInput(f"{owner}: expected at least one partition, got none")
        if not fields:
            raise BadInput(f"{owner}: expected at least one field, got none")
        if timestamp_field in fields:
            raise BadInput(f"{owner}: timestamp_field {timestamp_field!r} is another field's name: use a new name")
        if max_poll_records < 1:
            raise BadInput(f"{owner}: expected max_poll_records >= 1, got {max_poll_records}")
        self.partitions: tuple[Partition, ...] = tuple(partitions)
        self.fields: dict[str, Distribution] = dict(fields)
        self.timestamp_field = timestamp_field
        self.max_poll_records = max_poll_records
        oldest_ns = min(AppendTimes(partition).of(0) for partition in self.partitions)
        self.start_timestamp_ms: int = -(oldest_ns // NS_PER_MS) if start_timestamp_ms is None else start_timestamp_ms
        self._first_offsets = [_first_offset(starting_offsets, i, one) for i, one in enumerate(self.partitions)]

    @property
    def params(self) -> Mapping[str, object]:
        names = [*self.fields, *([] if self.timestamp_field is None else [self.timestamp_field])]
        return {"partitions": len(self.partitions), "fields": names}

    @property
    def enumerator_factory(self) -> PartitionsOfLog:
        """Makes the enumerator that assigns the partitions."""
        firsts = list(zip(self.partitions, self._first_offsets, strict=True))
        return PartitionsOfLog(
            ((i, first, None, None, 0) for i, first in enumerate(self._first_offsets)),
            (i for i, (partition, first) in enumerate(firsts) if first < partition.start_lag),
            is_bounded=all(partition.records is not None for partition in self.partitions),
        )

    def create_reader(self) -> PartitionedGeneratorReader:
        """Creates a reader for one subtask."""
        return PartitionedGeneratorReader(self)


def _first_offset(starting: StartingOffsets, index: int, partition: Partition) -> int:
    if starting == "latest":
        return partition.start_lag
    offset = starting.get(index, 0) if isinstance(starting, Mapping) else 0 if starting == "earliest" else starting
    if type(offset) is not int or offset < 0:
        raise BadInput(
            "partitioned generator: starting_offsets: expected earliest, latest, or offsets >= 0, got "
            f"{offset!r} for partition {index}"
        )
    return offset


@dataclass(slots=True)
class _Consumed:
    """A partition that a reader reads."""

    index: int
    log: PartitionLog
    identity: tuple[int, str]
    due_ns: int
    """When the next record can be read, on the clock of the task."""
    is_in_backlog: bool
    output: SourceOutput | None = None


class PartitionedGeneratorReader:
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

    def __init__(self, source: PartitionedGeneratorSource) -> None:
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
        self._added += [partition_split_of(split, len(self._source.partitions)) for split in splits]

    def notify_no_more_splits(self) -> None:
        self._has_all = True

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        if self._added:
            self._begin_added(output)
        clock = self._ctx.clock
        while self._partitions:
            first = self._partitions[0]
            if self._polled >= self._source.max_poll_records or not self._is_ready(first):
                if not self._go_to_next():
                    return DataInputStatus.NOTHING_AVAILABLE
                first = self._partitions[0]
            if first.log.is_at_end:
                self._end_first(output)
                continue
            value, timestamp = first.log.next_record()
            if not first.log.is_at_end:
                first.due_ns = self._start_ns + first.log.next_append_ns
            self._polled += 1
            if first.output is not None:
                first.output.collect(value, timestamp)
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
        index, offset, *_ = partition_split_of(split, len(self._source.partitions))
        return _split_id(index), offset

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
            identity = (ctx.run_seed if seed is None else seed, ctx.operator_id if name is None else name)
            log = PartitionLog(
                source.partitions[index],
                index,
                len(source.partitions),
                source.fields,
                identity,
                source.start_timestamp_ms,
                adds_timestamp=source.timestamp_field is not None,
                offset=offset,
            )
            begun = _Consumed(index, log, identity, 0, source.partitions[index].start_lag > 0)
            begun.output = output.create_output_for_split(_split_id(index))
            self._partitions.append(begun)
            if begun.is_in_backlog:
                self._check_backlog(begun)
        self._added = []
        for partition in self._partitions:
            partition.due_ns = self._start_ns + partition.log.next_append_ns

    def _is_ready(self, one: _Consumed) -> bool:
        """True if a record or the end of the partition can be read."""
        if _split_id(one.index) in self._paused:
            return False
        return one.log.is_at_end or one.due_ns <= self._ctx.clock.now_ns

    def _go_to_next(self) -> bool:
        """Goes to the next partition that is ready; if there is none, sets the wake time and returns False."""
        self._polled = 0
        for _ in range(len(self._partitions)):
            self._partitions.rotate(-1)
            if self._is_ready(self._partitions[0]):
                return True
        waiting = [partition.due_ns for partition in self._partitions if _split_id(partition.index) not in self._paused]
        self.wake_time_ns = min(waiting, default=None)
        return False

    def _end_first(self, output: ReaderOutput) -> None:
        ended = self._partitions.popleft()
        self._polled = 0
        output.release_output_for_split(_split_id(ended.index))

    def _check_backlog(self, one: _Consumed) -> None:
        if one.log.offset >= one.log.partition.start_lag:
            one.is_in_backlog = False
            send = self._ctx.send_to_coordinator
            if send is not None:
                send(BacklogRead(one.index))


def _split_id(index: int) -> str:
    return f"partition-{index}"
