"""The queue of timers: a binary heap without duplicates.

Flink: HeapPriorityQueue, HeapPriorityQueueSet (rules 9.2, 9.3). Python's ``heapq`` orders ties differently than Flink's
heap, and the order of ties is visible in a job's output. So this heap moves its elements as Flink's heap does.
"""

from __future__ import annotations

from typing import Final

from mypy_extensions import mypyc_attr

from flowsim.errors import InvariantViolation
from flowsim.state.key_group_range_assignment import MOST_REMEMBERED
from flowsim.timers.internal_timer import NOT_IN_QUEUE, InternalTimer
from flowsim.timers.key_groups import KeyGroups
from flowsim.units import MAX_WATERMARK
from flowsim.values.java_hash_map import capacity_after, in_order_of_bins

_BEFORE_ALL: Final[InternalTimer] = InternalTimer(-(2**64), None, None, None)


class _KeyGroupSet:
    """The timers of one key group, and the highest number of timers so far."""

    __slots__ = ("timers", "largest")

    def __init__(self) -> None:
        self.timers: dict[InternalTimer, InternalTimer] = {}
        self.largest: int = 0


@mypyc_attr(allow_interpreted_subclasses=True)
class HeapPriorityQueueSet:
    """Timers by timestamp, without duplicates. Flink: HeapPriorityQueueSet.

    The heap is 1-based: the children of index i are 2i and 2i+1. The same timers are also stored by key group, for
    snapshots (rule 9.15). Invariants, checked by ``validate``: no child is earlier than its parent; every timer knows
    its index; the sets and the heap contain the same timers, each in the set of its key group.
    """

    __slots__ = ("_heap", "_key_groups", "_sets", "_group_of")

    def __init__(self, key_groups: KeyGroups | None = None) -> None:
        """``key_groups`` None: all keys are in one key group."""
        # Index 0 is a sentinel before all timers, so that no timer rises above index 1.
        self._heap: list[InternalTimer] = [_BEFORE_ALL]
        self._key_groups = key_groups if key_groups is not None else KeyGroups()
        self._sets: dict[int, _KeyGroupSet] = {}
        self._group_of: dict[object, int] = {}
        """The key groups of the keys seen last, by ``key_id``."""

    def __len__(self) -> int:
        return len(self._heap) - 1

    def __contains__(self, timer: InternalTimer) -> bool:
        return timer in self._set_for(timer).timers

    def timers_of_key_group(self, key_group: int) -> list[InternalTimer]:
        """Returns the timers in the iteration order of Flink's set, a Java hash map. Flink: getSubsetForKeyGroup."""
        group_set = self._sets.get(key_group)
        if group_set is None:
            return []
        groups = self._key_groups
        capacity = capacity_after(group_set.largest, groups.first_capacity)
        return in_order_of_bins(group_set.timers.values(), groups.timer_hash, capacity)

    @property
    def in_heap_order(self) -> list[InternalTimer]:
        """The timers in the order of the heap's array, in which the heap backend stores them."""
        return self._heap[1:]

    def _set_for(self, timer: InternalTimer) -> _KeyGroupSet:
        """Returns the set of the timer's key group, and stores the key group in the timer."""
        known = self._group_of.get(timer.key_id)
        group = known if known is not None else self._find_group(timer)
        timer.key_group = group
        group_set = self._sets.get(group)
        if group_set is None:
            group_set = self._sets[group] = _KeyGroupSet()
        return group_set

    def _find_group(self, timer: InternalTimer) -> int:
        if len(self._group_of) >= MOST_REMEMBERED:
            self._group_of.clear()
        group = self._group_of[timer.key_id] = self._key_groups.of(timer.key)
        return group

    def peek(self) -> InternalTimer | None:
        """Returns the earliest timer, or None."""
        heap = self._heap
        return heap[1] if len(heap) > 1 else None

    def add(self, timer: InternalTimer) -> bool:
        """Adds the timer unless an equal timer exists; returns True if ``timer`` is the new head."""
        group_set = self._set_for(timer)
        timers = group_set.timers
        if timers.setdefault(timer, timer) is not timer:
            return False
        if len(timers) > group_set.largest:
            group_set.largest = len(timers)
        heap = self._heap
        index = timer.index = len(heap)
        heap.append(timer)
        # Timers come roughly in order: most are not moved.
        if timer.timestamp < heap[index >> 1].timestamp:
            self._sift_up(timer, index)
        return timer.index == 1

    def poll(self, until: int = MAX_WATERMARK) -> InternalTimer | None:
        """Removes the earliest timer if it is due by ``until`` (ms), and returns it; otherwise None."""
        heap = self._heap
        if len(heap) == 1:
            return None
        timer = heap[1]
        if timer.timestamp > until:
            return None
        del self._sets[timer.key_group].timers[timer]
        last = heap.pop()
        if last is not timer:
            self._sift_down(last, 1)
        timer.index = NOT_IN_QUEUE
        return timer

    def remove(self, timer: InternalTimer) -> bool:
        """Removes the timer equal to ``timer``, if any; True if it was the head."""
        stored = self._set_for(timer).timers.pop(timer, None)
        if stored is None:
            return False
        index = stored.index
        self._remove_at(index)
        stored.index = NOT_IN_QUEUE
        return index == 1

    def _remove_at(self, index: int) -> None:
        """Removes a timer: the last element takes its place, sinks, and rises only if it did not sink (rule 9.3)."""
        heap = self._heap
        last = heap.pop()
        if index == len(heap):
            return
        self._sift_down(last, index)
        if heap[index] is last:
            self._sift_up(last, index)

    def _sift_up(self, timer: InternalTimer, index: int) -> None:
        heap = self._heap
        timestamp = timer.timestamp
        parent = heap[index >> 1]
        while timestamp < parent.timestamp:
            heap[index] = parent
            parent.index = index
            index >>= 1
            parent = heap[index >> 1]
        heap[index] = timer
        timer.index = index

    def _sift_down(self, timer: InternalTimer, index: int) -> None:
        heap = self._heap
        last = len(heap) - 1
        timestamp = timer.timestamp
        child_index = 2 * index
        while child_index <= last:
            child = heap[child_index]
            earliest = child.timestamp
            if child_index < last:
                second = heap[child_index + 1]
                if second.timestamp < earliest:
                    child, earliest, child_index = second, second.timestamp, child_index + 1
            if earliest >= timestamp:
                break
            heap[index] = child
            child.index = index
            index = child_index
            child_index = 2 * index
        heap[index] = timer
        timer.index = index

    def validate(self) -> None:
        """Raises InvariantViolation if an invariant of the class docstring does not hold."""
        heap = self._heap
        for index in range(1, len(heap)):
            timer, parent = heap[index], heap[index >> 1]
            group_set = self._sets[self._key_groups.of(timer.key)]
            if timer.index != index or group_set.timers.get(timer) is not timer:
                raise InvariantViolation(f"timer queue: the timer at index {index} is misplaced", (repr(timer),))
            if timer.timestamp < parent.timestamp:
                raise InvariantViolation(f"timer queue: {timer!r} is earlier than its parent", (repr(parent),))
        in_sets = sum(len(group_set.timers) for group_set in self._sets.values())
        if in_sets != len(heap) - 1:
            raise InvariantViolation(f"timer queue: {in_sets} in the sets, {len(heap) - 1} in the heap")
