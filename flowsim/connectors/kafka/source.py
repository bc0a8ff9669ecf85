"""A source that reads the topics of a simulated broker. Flink: KafkaSource, KafkaSourceBuilder."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from flowsim.connectors.kafka.offsets import (
    COMMITTED,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaTopicPartition,
    PartitionOffsets,
)
from flowsim.connectors.kafka.reader import ConsumerGroup, TopicPartitionLog, TopicReader
from flowsim.connectors.kafka.subscription import Subscription
from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.connectors.kafka.topics import GroupOffsets, Topics, checked_topic, topics_of_context
from flowsim.connectors.partition_enumerator import PartitionsOfLog, PartitionSplit
from flowsim.connectors.schemas import DeserializationSchema
from flowsim.connectors.source import unexpected_state
from flowsim.errors import BadInput
from flowsim.units import NS_PER_MS
from flowsim.values.java_hash_code import java_hash
from flowsim.values.types import TypeInformation

_MAX_POLL_RECORDS: Final = "max.poll.records"
_COMMITS_ON_CHECKPOINT: Final = "commit.offsets.on.checkpoint"
_AUTO_COMMIT: Final = "enable.auto.commit"
_DISCOVERY_INTERVAL: Final = "partition.discovery.interval.ms"


class KafkaSource:
    """Reads partitions of topics, each as a split with its own event time. Flink: KafkaSource.

    A record is read when it is appended; its timestamp is that of the record. An unbounded source does not end: the run
    is stopped when nothing is left to do.
    """

    kind = "kafka"
    emits_watermarks = False
    needs_cost = False
    required_parallelism = None

    def __init__(
        self,
        subscription: Subscription,
        schema: DeserializationSchema,
        starting: KafkaOffsetsInitializer,
        stopping: KafkaOffsetsInitializer | None,
        group: ConsumerGroup,
        *,
        is_bounded: bool,
        max_poll_records: int,
        discovery_interval_ns: int | None,
    ) -> None:
        """``KafkaSource.builder()`` has the defaults."""
        self.partitions: tuple[KafkaTopicPartition, ...] = subscription.partitions
        self.split_ids: Sequence[str] = [str(partition) for partition in self.partitions]
        self._index_of = {name: index for index, name in enumerate(self.split_ids)}
        self.is_bounded: bool = is_bounded
        self.max_poll_records: int = max_poll_records
        self.group: ConsumerGroup = group
        self.discovery_interval_ns: int | None = discovery_interval_ns
        """The time between two discoveries of partitions; None: there is only the first one."""
        self.changes_ns: Sequence[int] = subscription.changes_ns
        self._subscription = subscription
        self._records = [subscription.topic_of[one.topic].records_of(one.partition) for one in self.partitions]
        self._schema = schema
        self._starting = starting
        self._stopping = stopping

    @staticmethod
    def builder() -> KafkaSourceBuilder:
        """Creates a builder."""
        return KafkaSourceBuilder()

    @property
    def params(self) -> Mapping[str, object]:
        topics = sorted({partition.topic for partition in self.partitions})
        return {"topics": topics, "partitions": len(self.partitions), "bounded": self.is_bounded}

    @property
    def produced_type(self) -> TypeInformation | None:
        """The type of the records, by their schema."""
        return self._schema.produced_type

    @property
    def enumerator_factory(self) -> AssignedPartitions:
        """Makes the enumerator that assigns the partitions."""
        return AssignedPartitions(self)

    def create_reader(self) -> TopicReader:
        """Creates a reader for one subtask."""
        return TopicReader(self)

    def start_lag(self, index: int) -> int:
        """Returns 0: a KafkaSource reports no backlog."""
        return 0

    def open_log(self, index: int, offset: int, identity: tuple[int, str]) -> TopicPartitionLog:
        """Opens a partition. Raises BadInput if it stops at a committed offset that there is not."""
        return TopicPartitionLog(
            self._records[index],
            offset,
            self._stop_of(index),
            self._schema,
            self.split_ids[index],
            self._subscription.topic_of[self.partitions[index].topic].deleted_ns,
        )

    def partitions_at(self, log_ns: int) -> Sequence[int]:
        return self._subscription.at(log_ns)

    def first_split(self, index: int, log_ns: int, *, is_new: bool) -> PartitionSplit:
        """Returns the split of a discovered partition; a new one starts at its first record. Raises BadInput without offset."""
        offset = 0 if is_new else self._starting.offset_of(self._offsets(index, log_ns))
        return index, offset, None, self.split_ids[index], 0

    def split_of(self, split: object) -> PartitionSplit:
        """Returns the split of a checkpoint, whose partition may have had another index there."""
        match split:
            case (int(), int(offset), None | int() as seed, str(name), int(log_ns)) if name in self._index_of:
                return self._index_of[name], offset, seed, name, log_ns
        raise unexpected_state(split, f"an offset of {', '.join(self.split_ids)}")

    def start_of(self, index: int, offset: int, log_ns: int) -> int:
        """Returns where a reader that gets a partition at this time of the log starts. Raises BadInput without an offset."""
        return self._starting.start_of(self._offsets(index, log_ns), offset)

    def _offsets(self, index: int, start_ns: int | None) -> PartitionOffsets:
        partition = self.partitions[index]
        return PartitionOffsets(partition, self._records[index], self.group.committed(partition), start_ns)

    def _stop_of(self, index: int) -> int | None:
        """Returns the offset at which a reader stops; None: never."""
        if self._stopping is None:
            return None
        known = self._offsets(index, None)
        stop = self._stopping.offset_of(known)
        if stop == COMMITTED and known.committed is None:
            raise BadInput(
                f"KafkaSource: partition {known.partition} stops at the committed offset, but the group {self.group.group_id!r} "
                "has committed none"
            )
        return known.committed if stop == COMMITTED else stop

    def owner_of(self, index: int, readers: int) -> int:
        """Returns the reader of a partition. Flink: KafkaSourceEnumerator.getSplitOwner."""
        partition = self.partitions[index]
        start = (java_hash(partition.topic) * 31 & 0x7FFFFFFF) % readers
        return (start + partition.partition) % readers


class AssignedPartitions(PartitionsOfLog):
    """Makes the enumerator of a source in one job."""

    def __init__(self, source: KafkaSource) -> None:
        super().__init__(source)
        self._group = source.group
        self._before: GroupOffsets | None = None

    def check_run(self, clock: Literal["virtual", "real"]) -> None:
        """Takes back what an earlier run of the same job committed."""
        if self._before is None:
            self._before = self._group.topics.committed_offsets
        else:
            self._group.topics.restore_offsets(self._before)


class KafkaSourceBuilder:
    """Builds a KafkaSource. Flink: KafkaSourceBuilder.

    Of the properties, those of the group, of its commits, ``partition.discovery.interval.ms`` and ``max.poll.records``
    have an effect.
    """

    def __init__(self) -> None:
        self._properties: dict[str, str] = {}
        self._topics: tuple[str, ...] = ()
        self._pattern: re.Pattern[str] | None = None
        self._partitions: tuple[KafkaTopicPartition, ...] = ()
        self._schema: DeserializationSchema | None = None
        self._starting = KafkaOffsetsInitializer.earliest()
        self._stopping: KafkaOffsetsInitializer | None = None
        self._is_bounded = False

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder:
        """Sets the brokers, which are not contacted."""
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder:
        """Sets the consumer group, which commits offsets with each checkpoint."""
        return self.set_property("group.id", group_id)

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder:
        return self.set_property("client.id.prefix", prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder:
        self._properties[key] = value
        return self

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder:
        self._properties |= props
        return self

    def set_topics(self, *topics: str) -> KafkaSourceBuilder:
        """Reads all partitions of these topics."""
        self._check_one_subscription("topics")
        self._topics = tuple(checked_topic(topic, "KafkaSource.set_topics") for topic in topics)
        return self

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder:
        """Reads the topics here that match a regular expression, also those that are created while the job runs."""
        self._check_one_subscription("topic pattern")
        try:
            self._pattern = re.compile(topic_pattern)
        except re.error as error:
            raise BadInput(f"KafkaSource.set_topic_pattern: {topic_pattern!r:.60}: {error}") from None
        return self

    def set_partitions(self, partitions: Iterable[KafkaTopicPartition]) -> KafkaSourceBuilder:
        """Reads these partitions."""
        self._check_one_subscription("partitions")
        self._partitions = tuple(sorted(partitions, key=lambda one: (one.topic, one.partition)))
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Sets where reading starts; by default at the earliest records."""
        self._starting = _checked_offsets(starting_offsets_initializer, "set_starting_offsets")
        return self

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Reads each partition up to an offset; the source does not end."""
        self._stopping = _checked_offsets(stopping_offsets_initializer, "set_unbounded")
        self._is_bounded = False
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder:
        """Reads each partition up to an offset; then the source ends."""
        self._stopping = _checked_offsets(stopping_offsets_initializer, "set_bounded")
        self._is_bounded = True
        return self

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema) -> KafkaSourceBuilder:
        """Sets how the value of a record is read; its key is ignored."""
        if not isinstance(deserialization_schema, DeserializationSchema):
            raise BadInput(
                "KafkaSource.set_value_only_deserializer: expected a DeserializationSchema such as SimpleStringSchema(), "
                f"got {deserialization_schema!r:.60}"
            )
        self._schema = deserialization_schema
        return self

    def build(self) -> KafkaSource:
        """Reads the records of the topics. Raises BadInput for a topic without records here, or a setting that lacks."""
        if self._schema is None:
            raise BadInput("KafkaSource: no deserializer is set: call set_value_only_deserializer(...)")
        if not self._properties.get("bootstrap.servers"):
            raise BadInput("KafkaSource: no brokers are set: call set_bootstrap_servers(...)")
        group = self._group(topics_of_context("KafkaSource"))
        subscription = self._subscription(group.topics)
        self._check_reads(subscription)
        return KafkaSource(
            subscription,
            self._schema,
            self._starting,
            self._stopping,
            group,
            is_bounded=self._is_bounded,
            max_poll_records=self._integer(_MAX_POLL_RECORDS, 500, least=1),
            discovery_interval_ns=None if self._is_bounded else self._discovery_interval_ns(),
        )

    def _group(self, topics: Topics) -> ConsumerGroup:
        group_id = self._properties.get("group.id")
        commits_on_checkpoint = self._is_true(_COMMITS_ON_CHECKPOINT)
        commits_on_close = self._is_true(_AUTO_COMMIT)
        if group_id is None and (commits_on_checkpoint or commits_on_close):
            raise BadInput("KafkaSource: to commit offsets it needs a consumer group: call set_group_id(...)")
        if group_id is None and (
            self._starting.needs_group or (self._stopping is not None and self._stopping.needs_group)
        ):
            raise BadInput("KafkaSource: committed offsets need a consumer group: call set_group_id(...)")
        if group_id is not None and _COMMITS_ON_CHECKPOINT not in self._properties:
            commits_on_checkpoint = True
        return ConsumerGroup(topics, group_id, commits_on_checkpoint, commits_on_close)

    def _is_true(self, key: str) -> bool:
        return str(self._properties.get(key)).lower() == "true"

    def _check_reads(self, subscription: Subscription) -> None:
        """Raises BadInput if the source reads nothing, whatever its group commits."""
        found = {one: subscription.topic_of[one.topic].records_of(one.partition) for one in subscription.partitions}
        records = sum(map(len, found.values()))
        if records and not any(self._may_read(*one) for one in found.items()):
            raise BadInput(
                f"KafkaSource: it starts after all {records} records of {', '.join(map(str, found))}, which are there "
                "before the job: append them while it runs, by --topic NAME=FILE@10/s or append_ms, or start at the "
                "earliest offsets"
            )

    def _may_read(self, partition: KafkaTopicPartition, records: Sequence[TopicRecord]) -> bool:
        offset = self._starting.offset_of(PartitionOffsets(partition, records, 0, 0))
        is_latest = self._starting.reset_strategy is KafkaOffsetResetStrategy.LATEST
        return offset < len(records) or (offset > len(records) and not is_latest)

    def _subscription(self, topics: Topics) -> Subscription:
        names = self._topics or tuple({one.topic: None for one in self._partitions})
        if self._pattern is not None:
            names = tuple(name for name in topics.names if self._pattern.fullmatch(name))
        if not names:
            found = "no topic here matches the pattern" if self._pattern else "no topics or partitions are set"
            raise BadInput(f"KafkaSource: {found}: call set_topics(...)")
        found_topics = [topics.topic(name) for name in dict.fromkeys(names)]
        return Subscription(found_topics, self._partitions, is_pattern=self._pattern is not None)

    def _discovery_interval_ns(self) -> int | None:
        interval_ms = self._integer(_DISCOVERY_INTERVAL, 300_000)
        return interval_ms * NS_PER_MS if interval_ms > 0 else None

    def _integer(self, key: str, default: int, least: int | None = None) -> int:
        text = str(self._properties.get(key, default))
        if not re.fullmatch(r"[+-]?\d{1,18}", text) or (least is not None and int(text) < least):
            raise BadInput(
                f"KafkaSource: {key}: expected an integer{f' >= {least}' if least else ''}, got {text!r:.60}"
            )
        return int(text)

    def _check_one_subscription(self, asked: str) -> None:
        if self._topics or self._pattern or self._partitions:
            raise BadInput(f"KafkaSource: cannot set {asked}: topics, a topic pattern or partitions are already set")


def _checked_offsets(offsets: KafkaOffsetsInitializer, method: str) -> KafkaOffsetsInitializer:
    if not isinstance(offsets, KafkaOffsetsInitializer):
        raise BadInput(f"KafkaSource.{method}: expected a KafkaOffsetsInitializer, got {offsets!r:.60}")
    return offsets
