"""A generated log with partitions, as a topic of Kafka: records are there before they are read. Flink: KafkaSource."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from flowsim.connectors.generator import Distribution
from flowsim.connectors.partition_enumerator import PartitionsOfLog, PartitionSplit, partition_split_of
from flowsim.connectors.partition_log import AppendTimes, Burst, Partition, PartitionLog, Pause
from flowsim.connectors.partitioned_reader import PartitionedReader
from flowsim.errors import BadInput
from flowsim.units import NS_PER_MS

__all__ = ["Burst", "Partition", "PartitionedGeneratorSource", "Pause"]

StartingOffsets = Literal["earliest", "latest"] | int | Mapping[int, int]


class PartitionedGeneratorSource:
    """Reads partitions whose records are appended at their own rates, whether they are read or not.

    A reader that is slower than its partitions, or that was down, has a lag and catches up. The timestamp of a record is
    the time of its append, so that the lag delays results and shifts no event time; with ``timestamp_field`` the
    record has the timestamp as its last field. ``start_timestamp_ms`` is the event time at the start of the run;
    without it the oldest record was appended at 0.

    Partition i is a split, read by subtask i modulo the parallelism at first, with event time of its own. With more
    subtasks than partitions some read nothing; unless all partitions end, these subtasks wait for ever, and hold back
    the watermark unless the strategy has idleness. A partition that is created later is discovered ``discovery_interval_ms``
    after the start, or a multiple of it (0: never), and read from its first record. ``starting_offsets``: earliest, latest
    (without the records that are there at the start), one offset, or one per partition (from earliest for others). A
    reader takes up to ``max_poll_records`` records of a partition before it goes to the next one.

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
        discovery_interval_ms: int = 300_000,
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
        if discovery_interval_ms < 0:
            raise BadInput(f"{owner}: expected discovery_interval_ms >= 0, got {discovery_interval_ms}")
        self.partitions: tuple[Partition, ...] = tuple(partitions)
        self.split_ids: Sequence[str] = [f"partition-{index}" for index in range(len(partitions))]
        self.fields: dict[str, Distribution] = dict(fields)
        self.timestamp_field = timestamp_field
        self.max_poll_records = max_poll_records
        self.discovery_interval_ms: int = discovery_interval_ms
        oldest_ns = min(0, *(AppendTimes(partition).of(0) for partition in self.partitions))
        self.start_timestamp_ms: int = -(oldest_ns // NS_PER_MS) if start_timestamp_ms is None else start_timestamp_ms
        self._first_offsets = [_first_offset(starting_offsets, i, one) for i, one in enumerate(self.partitions)]

    @property
    def params(self) -> Mapping[str, object]:
        names = [*self.fields, *([] if self.timestamp_field is None else [self.timestamp_field])]
        return {"partitions": len(self.partitions), "fields": names}

    @property
    def enumerator_factory(self) -> PartitionsOfLog:
        """Makes the enumerator that assigns the partitions."""
        firsts = zip(self.partitions, self._first_offsets, strict=True)
        return PartitionsOfLog(self, (i for i, (partition, first) in enumerate(firsts) if first < partition.start_lag))

    @property
    def is_bounded(self) -> bool:
        """True if all partitions end."""
        return all(partition.records is not None for partition in self.partitions)

    @property
    def discovery_interval_ns(self) -> int | None:
        return self.discovery_interval_ms * NS_PER_MS or None

    @property
    def changes_ns(self) -> Sequence[int]:
        return sorted({partition.from_ms * NS_PER_MS for partition in self.partitions})

    def partitions_at(self, log_ns: int) -> Sequence[int]:
        return [i for i, one in enumerate(self.partitions) if one.exists_at(log_ns)]

    def first_split(self, index: int, log_ns: int, *, is_new: bool) -> PartitionSplit:
        return index, 0 if is_new else self._first_offsets[index], None, None, 0

    def split_of(self, split: object) -> PartitionSplit:
        return partition_split_of(split, len(self.partitions))

    def owner_of(self, index: int, readers: int) -> int:
        return index % readers

    def create_reader(self) -> PartitionedReader:
        """Creates a reader for one subtask."""
        return PartitionedReader(self)

    def start_lag(self, index: int) -> int:
        return self.partitions[index].start_lag

    def open_log(self, index: int, offset: int, identity: tuple[int, str]) -> PartitionLog:
        """Opens a partition; its records follow from the identity."""
        return PartitionLog(
            self.partitions[index],
            index,
            len(self.partitions),
            self.fields,
            identity,
            self.start_timestamp_ms,
            adds_timestamp=self.timestamp_field is not None,
            offset=offset,
        )


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
