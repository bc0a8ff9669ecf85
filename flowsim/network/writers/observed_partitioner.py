"""Partitioners that keep the facts of the last record's key, while facts are recorded."""

from __future__ import annotations

from mypy_extensions import i64

from flowsim.facts.tracer import TaskTrace
from flowsim.network.writers.partitioner import CustomPartitionerWrapper, KeyGroupStreamPartitioner, StreamPartitioner
from flowsim.values.keys import state_key

Value = object


class ObservedPartitioner:
    """Chooses the channel as its partitioner does."""

    __slots__ = ("key_hash", "key", "_partitioner")

    key: i64

    def __init__(self, partitioner: StreamPartitioner) -> None:
        self.key_hash = 0
        """The Java hash of the last record's key, or the result of a custom partitioner; 0 without a key."""
        self.key = 0
        """The fingerprint of the last record's key; 0 without a key."""
        self._partitioner = partitioner

    def select_channel(self, value: Value) -> int:
        """Returns the index of the subpartition for ``value``."""
        return self._partitioner.select_channel(value)


class ObservedCustomPartitioner(ObservedPartitioner):
    """Keeps the result of the user-defined function, also if it is no channel."""

    __slots__ = ("_custom",)

    def __init__(self, partitioner: CustomPartitionerWrapper) -> None:
        super().__init__(partitioner)
        self._custom = partitioner

    def select_channel(self, value: Value) -> int:
        self.key_hash = answer = self._custom.answer(value)
        return self._custom.checked(answer)


class ObservedKeyGroupPartitioner(ObservedPartitioner):
    """Keeps hash and fingerprint of the key, and describes each new key in the recording."""

    __slots__ = ("_by_key", "_trace")

    def __init__(self, partitioner: KeyGroupStreamPartitioner, trace: TaskTrace) -> None:
        super().__init__(partitioner)
        self._by_key = partitioner
        self._trace = trace

    def select_channel(self, value: Value) -> int:
        by_key = self._by_key
        key = by_key.key_selector(value)
        kind = type(key)
        key_id = key if kind is str or kind is int else state_key(key)
        identity = by_key.identities.get(key_id)
        if identity is None:
            identity = by_key.register_key(key_id, key, value, self._trace.key)
        channel, self.key_hash, self.key = identity
        return channel


def observed_partitioner(partitioner: StreamPartitioner, trace: TaskTrace) -> ObservedPartitioner:
    """Returns the observed form of a partitioner."""
    if isinstance(partitioner, KeyGroupStreamPartitioner):
        return ObservedKeyGroupPartitioner(partitioner, trace)
    if isinstance(partitioner, CustomPartitionerWrapper):
        return ObservedCustomPartitioner(partitioner)
    return ObservedPartitioner(partitioner)
