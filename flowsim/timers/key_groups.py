"""Key groups and Java's hash codes of timers, for snapshots (rule 9.15)."""

from __future__ import annotations

from typing import Final

from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import assign_to_key_group
from flowsim.state.state_table import namespace_hash
from flowsim.timers.internal_timer import InternalTimer
from flowsim.values.java_hash_code import key_hash
from flowsim.values.java_hash_map import capacity_for

_LONG: Final = 2**64 - 1
_QUEUE_CAPACITY: Final = 128
"""Initial capacity of the heap backend's queues. Flink: HeapPriorityQueueSetFactory's minimum capacity."""

_ALL_IN_ONE: Final = KeyGroupRange(0, 0)


class KeyGroups:
    """The key groups of one operator subtask; by default a single key group."""

    __slots__ = ("range", "max_parallelism", "key_type")

    def __init__(
        self,
        key_group_range: KeyGroupRange = _ALL_IN_ONE,
        max_parallelism: int = 1,
        key_type: str | None = None,
    ) -> None:
        self.range: KeyGroupRange = key_group_range
        self.max_parallelism: int = max_parallelism
        self.key_type: str | None = key_type

    def of(self, key: object) -> int:
        return assign_to_key_group(key, self.max_parallelism, self.key_type) if self.max_parallelism > 1 else 0

    @property
    def first_capacity(self) -> int:
        """The initial number of bins of the timer set of each key group. Flink: HeapPriorityQueueSet."""
        return capacity_for(1 + _QUEUE_CAPACITY // max(len(self.range), 1))

    def timer_hash(self, timer: InternalTimer) -> int:
        """Returns Java's hash code of a timer. Flink: TimerHeapInternalTimer."""
        when = timer.timestamp & _LONG
        return 31 * (31 * (when ^ (when >> 32)) + key_hash(timer.key, self.key_type)) + namespace_hash(timer.namespace)
