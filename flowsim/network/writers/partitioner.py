"""Partitioners choose the subpartition of a record. Flink: StreamPartitioner and its subclasses (section 2).

Every record writer has its own partitioner, so two edges never share a counter (I2.d).
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import ClassVar

from mypy_extensions import mypyc_attr

from flowsim.errors import NullKey
from flowsim.state.key_group_range_assignment import (
    MOST_REMEMBERED,
    assign_to_key_group,
    compute_operator_index_for_key_group,
)
from flowsim.state.redistribution.subtask_state_mapper import SubtaskStateMapper
from flowsim.values.java_hash_code import java_hash
from flowsim.values.keys import key_fingerprint, key_json, state_key

Value = object
KeySelector = Callable[[Value], Value]

POINTWISE = frozenset({"FORWARD", "RESCALE"})
"""The partitioners whose edges connect subtasks pointwise (rule 1.14)."""

IN_TURN = frozenset({"REBALANCE", "RESCALE"})
"""The partitioners that select channels round robin, which writers can replace by adaptive selection (rule 2.3)."""

ALWAYS_ALIGNED = POINTWISE | {"BROADCAST", "CUSTOM"}
"""The partitioners whose stored records could not be given to other subtasks (rule 12.19)."""


@mypyc_attr(allow_interpreted_subclasses=True)
class StreamPartitioner:
    """Chooses one subpartition per user record (rule 2.1). Flink: StreamPartitioner."""

    __slots__ = ("channels",)

    name: ClassVar[str]
    is_broadcast: ClassVar[bool] = False
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.ARBITRARY
    """How the stored input of a receiver is redistributed (rule 12.97)."""
    upstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.ARBITRARY
    """How the stored output of a sender is redistributed (rule 12.97)."""

    def __init__(self, channels: int) -> None:
        self.channels = channels

    def select_channel(self, value: Value) -> int:
        """Returns the index of the subpartition for ``value``."""
        raise NotImplementedError


class ForwardPartitioner(StreamPartitioner):
    """Selects the only channel. Flink: ForwardPartitioner."""

    __slots__ = ()
    name: ClassVar[str] = "FORWARD"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.UNSUPPORTED
    upstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.UNSUPPORTED

    def __init__(self, channels: int) -> None:
        super().__init__(channels)

    def select_channel(self, value: Value) -> int:
        return 0


class GlobalPartitioner(StreamPartitioner):
    """Selects the first subtask for every record. Flink: GlobalPartitioner."""

    __slots__ = ()
    name: ClassVar[str] = "GLOBAL"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.FIRST

    def __init__(self, channels: int) -> None:
        super().__init__(channels)

    def select_channel(self, value: Value) -> int:
        return 0


@mypyc_attr(allow_interpreted_subclasses=True)
class RebalancePartitioner(StreamPartitioner):
    """Selects channels round robin from a random start. Flink: RebalancePartitioner."""

    __slots__ = ("_last",)
    name: ClassVar[str] = "REBALANCE"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.ROUND_ROBIN

    def __init__(self, channels: int, random: Random) -> None:
        super().__init__(channels)
        # Senders that all began with channel 0 would load its receiver first (section 2).
        self._last = random.randrange(channels)

    def select_channel(self, value: Value) -> int:
        self._last = (self._last + 1) % self.channels
        return self._last


class RescalePartitioner(StreamPartitioner):
    """Selects channels round robin in the local group, from channel 0. Flink: RescalePartitioner."""

    __slots__ = ("_last",)
    name: ClassVar[str] = "RESCALE"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.UNSUPPORTED
    upstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.UNSUPPORTED

    def __init__(self, channels: int) -> None:
        super().__init__(channels)
        self._last = -1

    def select_channel(self, value: Value) -> int:
        self._last = (self._last + 1) % self.channels
        return self._last


class ShufflePartitioner(StreamPartitioner):
    """Selects a channel at random, uniformly. Flink: ShufflePartitioner."""

    __slots__ = ("_random",)
    name: ClassVar[str] = "SHUFFLE"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.ROUND_ROBIN

    def __init__(self, channels: int, random: Random) -> None:
        super().__init__(channels)
        self._random = random

    def select_channel(self, value: Value) -> int:
        return self._random.randrange(self.channels)


class BroadcastPartitioner(StreamPartitioner):
    """Selects every channel. Flink: BroadcastPartitioner."""

    __slots__ = ()
    name: ClassVar[str] = "BROADCAST"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.UNSUPPORTED
    upstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.UNSUPPORTED
    is_broadcast: ClassVar[bool] = True

    def __init__(self, channels: int) -> None:
        super().__init__(channels)

    def select_channel(self, value: Value) -> int:
        raise TypeError("a broadcast partitioner does not choose a channel")


@mypyc_attr(allow_interpreted_subclasses=True)
class KeyGroupStreamPartitioner(StreamPartitioner):
    """Selects the channel by the key group of the record's key (rule 1.18). Flink: KeyGroupStreamPartitioner.

    ``max_parallelism`` is the *target's* number of key groups (rule 1.23).
    """

    __slots__ = ("key_selector", "key_type", "max_parallelism", "target", "routes", "identities")
    name: ClassVar[str] = "HASH"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.RANGE

    def __init__(self, channels: int, key_selector: KeySelector, key_type: str | None, max_parallelism: int) -> None:
        super().__init__(channels)
        self.key_selector = key_selector
        self.key_type = key_type
        self.max_parallelism = max_parallelism
        self.target: str = ""
        """The operator whose key it is, for errors; set by the network."""
        self.routes: dict[object, int] = {}
        """Subpartition by ``state_key(key)``: murmur over a Java hash takes ten times as long as a dict lookup. Only so many
        whole numbers are in it, because theirs takes little time."""
        self.identities: dict[object, tuple[int, int, int]] = {}
        """(subpartition, Java hash, fingerprint) by ``state_key(key)``; filled only while recording."""

    def select_channel(self, value: Value) -> int:
        key = self.key_selector(value)
        kind = type(key)
        index = key if kind is str or kind is int else state_key(key)
        subpartition = self.routes.get(index)
        return subpartition if subpartition is not None else self.route(index, key, value)

    def route(self, index: object, key: Value, value: Value) -> int:
        """Returns the subpartition of a new key, that of ``value``; ``index`` is the key's ``state_key``."""
        try:
            group = assign_to_key_group(key, self.max_parallelism, self.key_type)
        except NullKey as error:
            error.target, error.key_selector, error.value = self.target, self.key_selector, value
            raise
        subpartition = compute_operator_index_for_key_group(self.max_parallelism, self.channels, group)
        if type(key) is not int or len(self.routes) < MOST_REMEMBERED:
            self.routes[index] = subpartition
        return subpartition

    def register_key(
        self, key_id: object, key: Value, value: Value, describe: Callable[[int, int, str, str], None]
    ) -> tuple[int, int, int]:
        """Returns (subpartition, Java hash, fingerprint) of a new key, and passes the key to ``describe``."""
        identity = (self.route(key_id, key, value), java_hash(key, self.key_type), key_fingerprint(key, self.key_type))
        self.identities[key_id] = identity
        describe(identity[2], identity[1], *key_json(key, self.key_type))
        return identity


class CustomPartitionerWrapper(StreamPartitioner):
    """Selects the channel by a user-defined function of key and number of channels (rule 2.2).

    Flink: CustomPartitionerWrapper.
    """

    __slots__ = ("_partition", "_key_selector")
    name: ClassVar[str] = "CUSTOM"
    downstream_subtask_state_mapper: ClassVar[SubtaskStateMapper] = SubtaskStateMapper.FULL

    def __init__(self, channels: int, partition: Callable[[Value, int], int], key_selector: KeySelector) -> None:
        super().__init__(channels)
        self._partition = partition
        self._key_selector = key_selector

    def answer(self, value: Value) -> int:
        """Returns the unchecked result of the user-defined function for ``value``."""
        return self._partition(self._key_selector(value), self.channels)

    def checked(self, answer: int) -> int:
        """Checks the result of the user-defined function and returns the subpartition."""
        if not 0 <= answer < self.channels:
            raise IndexError(f"the custom partitioner chose channel {answer} of {self.channels}")
        return answer

    def select_channel(self, value: Value) -> int:
        return self.checked(self.answer(value))
