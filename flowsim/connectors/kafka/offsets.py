"""From which offsets of a topic a source starts, and at which it stops. Flink: OffsetsInitializer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from enum import Enum

from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.errors import BadInput


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


class KafkaOffsetsInitializer(ABC):
    """Finds an offset in each partition. Flink: OffsetsInitializer.

    Offsets count the records of a partition from 0.
    """

    @abstractmethod
    def offset_of(self, partition: KafkaTopicPartition, records: Sequence[TopicRecord], *, is_start: bool) -> int:
        """Returns the offset in a partition with these records, by offset. Raises BadInput if there is none.

        ``is_start``: the source starts there, otherwise it stops there.
        """

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
        """The offsets that the consumer group committed: the simulated broker has none, so the strategy decides."""
        return _Specified({}, _strategy(offset_reset_strategy, "committed_offsets"))

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
        """The offset of each partition; the strategy decides for others, and for offsets out of range."""
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
    def offset_of(self, partition: KafkaTopicPartition, records: Sequence[TopicRecord], *, is_start: bool) -> int:
        return 0


class _Latest(KafkaOffsetsInitializer):
    def offset_of(self, partition: KafkaTopicPartition, records: Sequence[TopicRecord], *, is_start: bool) -> int:
        return sum(record.append_ns <= 0 for record in records) if is_start else len(records)


class _Timestamp(KafkaOffsetsInitializer):
    def __init__(self, timestamp: int) -> None:
        self._timestamp = timestamp

    def offset_of(self, partition: KafkaTopicPartition, records: Sequence[TopicRecord], *, is_start: bool) -> int:
        reached = (offset for offset, one in enumerate(records) if one.kafka_timestamp_ms >= self._timestamp)
        return next(reached, len(records))


class _Specified(KafkaOffsetsInitializer):
    def __init__(self, offsets: Mapping[KafkaTopicPartition, int], strategy: KafkaOffsetResetStrategy) -> None:
        self._offsets = dict(offsets)
        self._strategy = strategy

    def offset_of(self, partition: KafkaTopicPartition, records: Sequence[TopicRecord], *, is_start: bool) -> int:
        offset = self._offsets.get(partition)
        if offset is not None and 0 <= offset <= len(records):
            return offset
        match self._strategy:
            case KafkaOffsetResetStrategy.EARLIEST:
                return 0
            case KafkaOffsetResetStrategy.LATEST:
                return _Latest().offset_of(partition, records, is_start=is_start)
        found = "has no committed offset" if offset is None else f"has no offset {offset}"
        raise BadInput(
            f"KafkaSource: partition {partition} {found}, and the KafkaOffsetResetStrategy is NONE: start with the "
            "strategy EARLIEST or LATEST"
        )
