"""From which offsets of a topic a source starts, and at which it stops. Flink: OffsetsInitializer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, NamedTuple

from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.errors import BadInput

COMMITTED: Final = -3
"""In place of an offset: the one that the group has committed when the reader opens the partition.

Flink: KafkaPartitionSplit.COMMITTED_OFFSET.
"""


class KafkaOffsetResetStrategy(Enum):
    """Where to start without a usable offset. Kafka: OffsetResetStrategy."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class KafkaTopicPartition:
    """A partition of a topic. Kafka: TopicPartition."""

    def __init__(self, topic: str, partition: int) -> None:
        self._topic = topic
        self._partition = partition

    @property
    def topic(self) -> str:
        return self._topic

    @property
    def partition(self) -> int:
        return self._partition

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KafkaTopicPartition):
            return NotImplemented
        return (self._topic, self._partition) == (other._topic, other._partition)

    def __hash__(self) -> int:
        return hash((self._topic, self._partition))

    def __repr__(self) -> str:
        return f"{self._topic}-{self._partition}"


class PartitionOffsets(NamedTuple):
    """What an initializer can know of a partition. Flink: OffsetsInitializer.PartitionOffsetsRetriever."""

    partition: KafkaTopicPartition
    records: Sequence[TopicRecord]
    """In their order."""
    committed: int | None
    """The offset that the group has committed."""
    start_ns: int | None
    """The time of the log at which the source starts there; None: it stops there."""

    @property
    def end(self) -> int:
        """The offset behind the records that are there when the source starts; of one that stops there, behind all."""
        if self.start_ns is None:
            return len(self.records)
        return bisect_right(self.records, self.start_ns, key=lambda record: record.append_ns)

    def reset(self, strategy: KafkaOffsetResetStrategy, problem: str) -> int:
        """Returns the offset of the strategy. Raises BadInput with the problem if it is NONE."""
        match strategy:
            case KafkaOffsetResetStrategy.EARLIEST:
                return 0
            case KafkaOffsetResetStrategy.LATEST:
                return self.end
        raise BadInput(
            f"KafkaSource: no offset to start {self.partition} from: {problem}, and the KafkaOffsetResetStrategy is NONE: "
            "use the strategy EARLIEST or LATEST"
        )


class KafkaOffsetsInitializer(ABC):
    """Finds an offset in each partition. Flink: OffsetsInitializer.

    Offsets count the records of a partition from 0.
    """

    reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST
    """Where a reader starts if it has no offset, or one out of range. Flink: getAutoOffsetResetStrategy."""

    @abstractmethod
    def offset_of(self, known: PartitionOffsets) -> int:
        """Returns the offset in a partition, or COMMITTED. Raises BadInput without one."""

    @property
    def needs_group(self) -> bool:
        """True if there is no offset without a consumer group."""
        return False

    def start_of(self, known: PartitionOffsets, offset: int) -> int:
        """Returns where a reader that opens a partition at ``offset`` starts: without a usable one, by the strategy.

        Raises BadInput if the strategy is NONE. Kafka: auto.offset.reset.
        """
        found = known.committed if offset == COMMITTED else offset
        if found is None:
            return known.reset(self.reset_strategy, "its group has committed no offset")
        if not 0 <= found <= len(known.records):
            return known.reset(self.reset_strategy, f"it has no offset {found}")
        return found

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """The first record."""
        return _Earliest()

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """The end: a source starts after the records that are there before the job, and stops after the last record.

        Here the records that are appended while the job runs are known when it starts; a source that stops at the
        latest offset also reads these.
        """
        return _Latest()

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """The offsets that the consumer group has committed; the strategy decides for partitions without one."""
        return _Committed(_strategy(offset_reset_strategy, "committed_offsets"))

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """The first record whose timestamp is not before ``timestamp`` in ms; without one, the end."""
        if type(timestamp) is not int or timestamp < 0:
            raise BadInput(f"KafkaOffsetsInitializer.timestamp: expected ms >= 0, got {timestamp!r:.60}")
        return _Timestamp(timestamp)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """The offset of each partition, for others that of the group; without one, or out of range, by the strategy."""
        for partition, offset in offsets.items():
            if not isinstance(partition, KafkaTopicPartition) or type(offset) is not int:
                raise BadInput(
                    "KafkaOffsetsInitializer.offsets: expected integers by KafkaTopicPartition, got "
                    f"{offset!r:.60} for {partition!r:.60}"
                )
        return _Specified(offsets, _strategy(offset_reset_strategy, "offsets"))


def _strategy(strategy: KafkaOffsetResetStrategy, owner: str) -> KafkaOffsetResetStrategy:
    if not isinstance(strategy, KafkaOffsetResetStrategy):
        raise BadInput(f"KafkaOffsetsInitializer.{owner}: expected a KafkaOffsetResetStrategy, got {strategy!r:.60}")
    return strategy


class _Earliest(KafkaOffsetsInitializer):
    def offset_of(self, known: PartitionOffsets) -> int:
        return 0


class _Latest(KafkaOffsetsInitializer):
    reset_strategy = KafkaOffsetResetStrategy.LATEST

    def offset_of(self, known: PartitionOffsets) -> int:
        return known.end


class _Timestamp(KafkaOffsetsInitializer):
    reset_strategy = KafkaOffsetResetStrategy.LATEST

    def __init__(self, timestamp: int) -> None:
        self._timestamp = timestamp

    def offset_of(self, known: PartitionOffsets) -> int:
        reached = (offset for offset, one in enumerate(known.records) if one.kafka_timestamp_ms >= self._timestamp)
        return next(reached, len(known.records))


class _Committed(KafkaOffsetsInitializer):
    def __init__(self, strategy: KafkaOffsetResetStrategy) -> None:
        self.reset_strategy = strategy

    @property
    def needs_group(self) -> bool:
        return True

    def offset_of(self, known: PartitionOffsets) -> int:
        return COMMITTED


class _Specified(KafkaOffsetsInitializer):
    def __init__(self, offsets: Mapping[KafkaTopicPartition, int], strategy: KafkaOffsetResetStrategy) -> None:
        self._offsets = dict(offsets)
        self.reset_strategy = strategy

    def offset_of(self, known: PartitionOffsets) -> int:
        offset = self._offsets.get(known.partition, known.committed)
        if offset is not None:
            return offset
        return known.reset(self.reset_strategy, "none is given, and its group has committed none")
