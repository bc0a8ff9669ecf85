"""The partitions that a source subscribes to, and when it discovers them. Flink: KafkaSubscriber."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flowsim.connectors.kafka.offsets import KafkaTopicPartition
from flowsim.connectors.kafka.topic import Topic
from flowsim.errors import BadInput
from flowsim.quantities import duration_text

_FAILED = "KafkaSource: Failed to list subscribed topic partitions"


class Subscription:
    """Topics, the topics that match a pattern, or partitions.

    Flink: TopicListSubscriber, TopicPatternSubscriber, PartitionSetSubscriber.
    """

    def __init__(
        self, topics: Sequence[Topic], wanted: Collection[KafkaTopicPartition] = (), *, is_pattern: bool = False
    ) -> None:
        """``wanted``: the partitions; none: all of the topics. A pattern finds the topics that exist, others must exist."""
        self._topics = topics
        self._wanted = set(wanted)
        self._is_pattern = is_pattern
        self.partitions: tuple[KafkaTopicPartition, ...] = tuple(
            partition
            for topic in topics
            for partition in (KafkaTopicPartition(topic.name, number) for number in range(topic.partitions))
            if not wanted or partition in wanted
        )
        """All that ever exist."""
        self.topic_of: dict[str, Topic] = {topic.name: topic for topic in topics}
        for partition in wanted:
            if partition not in self.partitions:
                raise BadInput(
                    f"KafkaSource: the topic {partition.topic!r} never has partition {partition.partition} here"
                )

    @property
    def changes_ns(self) -> list[int]:
        """When the result of ``at`` changes, in order, in ns after the start of the job."""
        return sorted({change for topic in self._topics for change in topic.changes_ns})

    def at(self, log_ns: int) -> list[int]:
        """Returns the indices of the partitions that exist at a time. Raises BadInput if one that must exist does not."""
        counts = {topic.name: topic.partitions_at(log_ns) for topic in self._topics}
        for name, count in counts.items():
            if not count and not self._is_pattern:
                raise BadInput(f"{_FAILED}: the topic {name!r} does not exist at {duration_text(log_ns)}")
        found = [index for index, one in enumerate(self.partitions) if one.partition < counts[one.topic]]
        if self._wanted and len(found) < len(self.partitions):
            missing = next(one for one in self.partitions if one.partition >= counts[one.topic])
            raise BadInput(f"{_FAILED}: the partition {missing} does not exist at {duration_text(log_ns)}")
        return found
