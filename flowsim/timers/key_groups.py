"""Where timers belong when they are taken apart: key groups, and Java's hash codes of timers (rule 9.15)."""

from __future__ import annotations

from typing import Any, Final, Protocol, runtime_checkable

from flowsim.state.key_group_range import KeyGroupRange, assign_to_key_group
from flowsim.timers.internal_timer import InternalTimer
from flowsim.values.java_hash_code import java_hash, key_hash
from flowsim.values.java_hash_map import capacity_for

_LONG: Final = 2**64 - 1
_VOID_NAMESPACE_HASH: Final = 99
_QUEUE_CAPACITY: Final = 128
"""Of the queues of the heap backend. Flink: HeapPriorityQueueSetFactory's minimum capacity."""

_ALL_IN_ONE: Final = KeyGroupRange(0, 0)


class KeyGroups:
    """The key groups of one subtask of an operator; by default a single one."""

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
        """Bins with which the set of timers of each key group begins. Flink: HeapPriorityQueueSet."""
        return capacity_for(1 + _QUEUE_CAPACITY // max(len(self.range), 1))

    def timer_hash(self, timer: InternalTimer[Any]) -> int:
        """Java's hash code of a timer. Flink: TimerHeapInternalTimer."""
        when = timer.timestamp & _LONG
        return 31 * (31 * (when ^ (when >> 32)) + key_hash(timer.key, self.key_type)) + namespace_hash(timer.namespace)


@runtime_checkable
class HashesAsInJava(Protocol):
    """A namespace that knows Java's hash code of itself: a window."""

    def java_hash(self) -> int: ...


def namespace_hash(namespace: object) -> int:
    """Java's hash code of a namespace; None is the one of all that is no window's.

    >>> namespace_hash(None), namespace_hash("CLEANUP_LEFT")
    (99, 2038325474)
    """
    if namespace is None:
        return _VOID_NAMESPACE_HASH
    return namespace.java_hash() if isinstance(namespace, HashesAsInJava) else java_hash(namespace)
