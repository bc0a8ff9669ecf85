"""The topics of a simulated broker: those that files give, and those that sinks write. Kafka: a broker."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from flowsim.connectors.kafka.offsets import KafkaTopicPartition
from flowsim.connectors.kafka.topic import Topic
from flowsim.connectors.kafka.topic_files import CommittedOffset, PartitionCount, TopicRecord, read_topic
from flowsim.errors import BadInput, did_you_mean

_NAME: Final = re.compile(r"[A-Za-z0-9._-]{1,249}")
HOW_TO_GIVE: Final = (
    "give its records by `flowsim pyflink --topic NAME=FILE`, or in Python by `with simulated_topics({NAME: FILE}):`"
)


def checked_topic(name: object, owner: str) -> str:
    """Returns a name that Kafka allows for a topic, which is also a safe name of a file. Raises BadInput."""
    if not isinstance(name, str) or not _NAME.fullmatch(name) or name in (".", ".."):
        raise BadInput(f"{owner}: expected the name of a topic (letters, digits, '.', '_' and '-'), got {name!r:.60}")
    return name


TopicFiles = Mapping[str, str | Path | Sequence[str | Path]]
"""The file with the records of a topic, or several files, by name."""
GroupOffsets = Mapping[tuple[str, KafkaTopicPartition], int]
"""The offsets that consumer groups have committed, by group and partition."""


@dataclass(slots=True)
class _Written:
    """A record that a sink wrote; ``transaction`` None: it is visible."""

    record: TopicRecord
    sink: object
    transaction: Hashable | None


class Topics:
    """The topics that the sources of a program read and its sinks write; they outlive the attempts of a job.

    Records of an open transaction are in the topic, in the order of all records, but not visible. A sink writes to
    partition 0. A topic of files has only the records of its files.
    """

    def __init__(self, files: TopicFiles | None = None) -> None:
        self._files = {
            checked_topic(name, "topic"): (paths,) if isinstance(paths, str | Path) else tuple(paths)
            for name, paths in (files or {}).items()
        }
        self._read: dict[str, Topic] = {}
        self._committed: dict[tuple[str, KafkaTopicPartition], int] = {}
        self._written: dict[str, list[_Written]] = {}
        self._open: dict[Hashable, set[str]] = {}
        """The transactions that are not committed, each with its topics."""

    @property
    def names(self) -> list[str]:
        """The topics that have records, or a file."""
        return sorted({*self._files, *self._written})

    def records(self, name: str) -> Sequence[TopicRecord]:
        """Returns the visible records of a topic. Raises BadInput for a topic without records."""
        return self.topic(name).records

    def topic(self, name: str) -> Topic:
        """Returns a topic with its visible records. Raises BadInput for a topic without records."""
        if name in self._files:
            if name not in self._read:
                self._read[name] = self._read_files(name)
            return self._read[name]
        written = [one.record for one in self._written.get(name, ()) if one.transaction is None]
        if not written:
            raise BadInput(f"topic {name!r} has no records here{did_you_mean(name, self.names)}: {HOW_TO_GIVE}")
        return Topic(name, written)

    def _read_files(self, name: str) -> Topic:
        records: list[TopicRecord] = []
        counts: list[PartitionCount] = []
        for path in self._files[name]:
            for entry in read_topic(path):
                match entry:
                    case TopicRecord():
                        records.append(entry)
                    case PartitionCount():
                        counts.append(entry)
                    case CommittedOffset(group=group, partition=partition, offset=offset):
                        self._committed[group, KafkaTopicPartition(name, partition)] = offset
        return Topic(name, records, counts)

    # Consumer groups.

    @property
    def committed_offsets(self) -> GroupOffsets:
        """The offsets that groups have committed, to all topics that were read."""
        return dict(self._committed)

    def commit_offsets(self, offsets: GroupOffsets) -> None:
        """Commits offsets of groups; an offset may be before the committed one."""
        self._committed.update(offsets)

    def restore_offsets(self, offsets: GroupOffsets) -> None:
        """Takes back all that was committed since ``committed_offsets`` returned ``offsets``."""
        self._committed = dict(offsets)

    def write_offsets_to(self, directory: Path) -> dict[str, tuple[Path, list[CommittedOffset]]]:
        """Writes the committed offsets of each topic to ``<topic>.jsonl``, which can be one of the files of the topic."""
        done: dict[str, tuple[Path, list[CommittedOffset]]] = {}
        for group, one in sorted(self._committed, key=lambda key: (key[1].topic, key[0], key[1].partition)):
            _, offsets = done.setdefault(one.topic, (directory / f"{one.topic}.jsonl", []))
            offsets.append(CommittedOffset(group, one.partition, self._committed[group, one]))
        for path, offsets in done.values():
            directory.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{one.as_json()}\n" for one in offsets), encoding="utf-8")
        return done

    # What sinks write.

    def begin_run(self, sink: object) -> None:
        """Removes what an earlier run of the same sink wrote."""
        for name, records in self._written.items():
            self._written[name] = [one for one in records if one.sink is not sink]
        kept = {one.transaction for records in self._written.values() for one in records}
        self._open = {transaction: names for transaction, names in self._open.items() if transaction in kept}

    def append(self, name: str, record: TopicRecord, sink: object, transaction: Hashable | None = None) -> None:
        """Appends a record, visible at once or when its transaction is committed. Raises BadInput."""
        if name in self._files:
            raise BadInput(
                f"topic {name!r} has the records of a file, so a sink cannot write to it here: give the sink another topic"
            )
        if name not in self._written:
            self._written[checked_topic(name, "KafkaSink")] = []
        self._written[name].append(_Written(record, sink, transaction))
        if transaction is not None:
            self._open.setdefault(transaction, set()).add(name)

    def open_transactions(self) -> list[Hashable]:
        """The transactions that are neither committed nor aborted."""
        return list(self._open)

    def commit(self, transaction: Hashable) -> bool:
        """Makes the records of a transaction visible; returns False if it is not open."""
        for name in self._open.get(transaction, ()):
            for one in self._written[name]:
                if one.transaction == transaction:
                    one.transaction = None
        return self._open.pop(transaction, None) is not None

    def abort(self, transaction: Hashable) -> None:
        """Removes the records of a transaction."""
        for name in self._open.pop(transaction, ()):
            self._written[name] = [one for one in self._written[name] if one.transaction != transaction]

    def write_to(self, directory: Path) -> dict[str, tuple[Path, int]]:
        """Writes the visible records of each topic that a sink wrote to ``<topic>.jsonl``.

        Returns the path and the number of records of each topic.
        """
        done: dict[str, tuple[Path, int]] = {}
        for name in sorted(self._written):
            lines = [f"{one.record.as_json()}\n" for one in self._written[name] if one.transaction is None]
            path = directory / f"{name}.jsonl"
            directory.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(lines), encoding="utf-8")
            done[name] = path, len(lines)
        return done


_CONTEXT: Final[ContextVar[Topics | None]] = ContextVar("simulated topics", default=None)


def topics_of_context(owner: str) -> Topics:
    """Returns the topics of the program. Raises BadInput outside of ``simulated_topics``."""
    topics = _CONTEXT.get()
    if topics is None:
        raise BadInput(f"{owner}: no broker runs here: {HOW_TO_GIVE}")
    return topics


@contextmanager
def simulated_topics(files: TopicFiles | Topics | None = None) -> Iterator[Topics]:
    """Simulates a Kafka broker for the sources and sinks that are built meanwhile.

    ``files``: the files with the records of topics, by name (``docs/pyflink_connectors.md`` has their format). ``records``
    and ``write_to`` of the result have what sinks wrote, ``committed_offsets`` what sources have read up to.
    """
    topics = files if isinstance(files, Topics) else Topics(files)
    token = _CONTEXT.set(topics)
    try:
        yield topics
    finally:
        _CONTEXT.reset(token)
