"""The reader of a KafkaSource, and the offsets that it commits. Flink: KafkaSourceReader, KafkaPartitionSplitReader."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from flowsim.connectors.kafka.offsets import KafkaTopicPartition
from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.connectors.kafka.topics import Topics
from flowsim.connectors.partition_enumerator import PartitionSplit
from flowsim.connectors.partitioned_reader import PartitionedReader, PartitionedSource
from flowsim.connectors.schemas import DeserializationSchema
from flowsim.errors import BadInput
from flowsim.operators.sources.source_output import ReaderOutput
from flowsim.operators.stream_operator import OperatorContext


@dataclass(frozen=True, slots=True)
class ConsumerGroup:
    """The consumer group of a source, and when it commits offsets."""

    topics: Topics
    group_id: str | None
    """None: the source is in no group."""
    commits_on_checkpoint: bool
    """True if each completed checkpoint commits its offsets. Flink: commit.offsets.on.checkpoint."""
    commits_on_close: bool
    """True if the readers also commit when they are closed. Kafka: enable.auto.commit."""

    def committed(self, partition: KafkaTopicPartition) -> int | None:
        """Returns the offset that the group has committed for a partition; None without one."""
        return None if self.group_id is None else self.topics.committed_offsets.get((self.group_id, partition))

    def commit(self, offsets: Mapping[KafkaTopicPartition, int]) -> None:
        """Commits the offset of the next record of each partition."""
        if self.group_id is not None:
            self.topics.commit_offsets({(self.group_id, one): offset for one, offset in offsets.items()})


class TopicPartitionLog:
    """The records of a partition of a topic, from an offset on."""

    __slots__ = ("offset", "_records", "_stop", "_schema", "_name", "deleted_ns")

    def __init__(
        self,
        records: Sequence[TopicRecord],
        offset: int,
        stop: int | None,
        schema: DeserializationSchema,
        name: str,
        deleted_ns: int | None,
    ) -> None:
        """``stop``: the offset at which reading ends; None: never."""
        self.offset: int = offset
        self.deleted_ns: int | None = deleted_ns
        self._records = records
        self._stop = stop
        self._schema = schema
        self._name = name

    @property
    def is_at_end(self) -> bool:
        return self._stop is not None and self.offset >= self._stop

    @property
    def next_append_ns(self) -> int | None:
        return self._records[self.offset].append_ns if self.offset < len(self._records) else None

    def next_record(self) -> tuple[object, int | None] | None:
        record = self._records[self.offset]
        try:
            value = self._schema.deserialize(record.value)
        except BadInput as error:
            raise BadInput(f"{self._name}, offset {self.offset}: {error}") from error
        self.offset += 1
        return None if value is None else (value, record.kafka_timestamp_ms)


class TopicSource(PartitionedSource, Protocol):
    """What the reader needs of a KafkaSource."""

    @property
    def partitions(self) -> Sequence[KafkaTopicPartition]:
        """The partitions, by index."""

    @property
    def group(self) -> ConsumerGroup: ...

    def start_of(self, index: int, offset: int, log_ns: int) -> int:
        """Returns where a reader that gets a partition at this time of the log starts."""


class TopicReader(PartitionedReader):
    """Reads partitions of topics, and commits the offsets of completed checkpoints. Flink: KafkaSourceReader."""

    __slots__ = ("_topics", "_to_commit", "_finished", "_is_open")

    def __init__(self, source: TopicSource) -> None:
        super().__init__(source)
        self._topics = source
        self._to_commit: dict[int, Mapping[int, int]] = {}
        """The offsets by partition, for each checkpoint that has not completed."""
        self._finished: dict[int, int] = {}
        """The offsets of partitions that have ended, until they are committed."""
        self._is_open = False

    def open(self, ctx: OperatorContext) -> None:
        super().open(ctx)
        self._is_open = True

    def add_splits(self, splits: Sequence[object]) -> None:
        super().add_splits([*map(self._started, splits)])

    def position_of(self, split: object) -> tuple[str, int]:
        return super().position_of(self._started(split))

    def _started(self, split: object) -> PartitionSplit:
        """Returns a split with the offset at which reading starts."""
        index, offset, seed, name, log_ns = self._topics.split_of(split)
        if self._is_open:
            log_ns = max(log_ns, self._ctx.clock.now_ns - self._start_ns)
        return index, self._topics.start_of(index, offset, log_ns), seed, name, log_ns

    def snapshot_state(self, checkpoint_id: int) -> Sequence[object]:
        splits = super().snapshot_state(checkpoint_id)
        if self._topics.group.commits_on_checkpoint:
            self._to_commit[checkpoint_id] = self._positions()
        return splits

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        """Commits the offsets of a checkpoint, unless those of a later one are committed."""
        if checkpoint_id in self._to_commit:
            offsets = self._to_commit[checkpoint_id]
            self._commit(offsets)
            self._finished = {one: offset for one, offset in self._finished.items() if one not in offsets}
            self._to_commit = {later: to for later, to in self._to_commit.items() if later > checkpoint_id}

    def close(self) -> None:
        if self._topics.group.commits_on_close:
            self._commit(self._positions())

    def _positions(self) -> dict[int, int]:
        waiting = {index: offset for index, offset, *_ in self._added}
        return {**waiting, **{one.index: one.log.offset for one in self._partitions}, **self._finished}

    def _commit(self, offsets: Mapping[int, int]) -> None:
        partitions = self._topics.partitions
        self._topics.group.commit({partitions[index]: offset for index, offset in offsets.items()})

    def _end_first(self, output: ReaderOutput) -> None:
        ended = self._partitions[0]
        self._finished[ended.index] = ended.log.offset
        super()._end_first(output)
