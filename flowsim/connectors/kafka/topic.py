"""A simulated topic: its records, and how many partitions it has at each time."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.connectors.kafka.topic_files import PartitionCount, TopicRecord
from flowsim.errors import BadInput
from flowsim.units import NS_PER_MS


class Topic:
    """Without counts it has as many partitions as its records name, from the start on and for ever.

    With counts, it exists from the first one on. Partitions are only added; a count of 0, the last one, deletes the topic.
    """

    def __init__(self, name: str, records: Sequence[TopicRecord], counts: Sequence[PartitionCount] = ()) -> None:
        """Raises BadInput for counts that decrease, and for a record in a partition that does not exist then."""
        self.name = name
        self.records = records
        whole = PartitionCount(1 + max((record.partition for record in records), default=0))
        self._counts = sorted(counts, key=lambda count: count.at_ns) or [whole]
        self.partitions: int = max(count.partitions for count in self._counts)
        """The number of partitions that it ever has."""
        self.changes_ns: list[int] = [count.at_ns for count in self._counts]
        """When the number of partitions changes, in order, in ns after the start of the job."""
        self.deleted_ns: int | None = None if self._counts[-1].partitions else self._counts[-1].at_ns
        """When the topic is deleted; None: never."""
        self._check_counts()
        for record in records:
            self._check_record(record)

    def partitions_at(self, log_ns: int) -> int:
        """Returns the number of partitions at a time; 0: the topic does not exist."""
        return next((count.partitions for count in reversed(self._counts) if count.at_ns <= log_ns), 0)

    def records_of(self, partition: int) -> list[TopicRecord]:
        """Returns the records of a partition, in the order of their append."""
        return sorted((one for one in self.records if one.partition == partition), key=lambda record: record.append_ns)

    def _check_counts(self) -> None:
        before = PartitionCount(0, -1)
        for count in self._counts:
            is_deletion = before.partitions > 0 and count.partitions == 0 and count is self._counts[-1]
            if count.at_ns == before.at_ns or not (is_deletion or count.partitions > before.partitions):
                raise BadInput(
                    f"topic {self.name!r}: expected more partitions at each time, and 0 only at the last one, got "
                    f"{count.partitions} at {count.at_ns // NS_PER_MS} ms after {before.partitions}"
                )
            before = count

    def _check_record(self, record: TopicRecord) -> None:
        count = self.partitions_at(record.append_ns)
        if record.partition >= count:
            raise BadInput(
                f"topic {self.name!r}: a record of partition {record.partition} is appended at "
                f"{record.append_ns // NS_PER_MS} ms, when the topic has {count} partitions: append it later, or change the "
                "line with partitions"
            )
