"""A queue with priority elements at its head. Flink: PrioritizedDeque (rules 5.28, 7.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, MutableSequence
from typing import Final, Generic, TypeVar

T = TypeVar("T")

LONGEST_LIST: Final = 64
"""A longer list takes noticeably longer to remove its first element."""


class PrioritizedDeque(deque[T], Generic[T]):
    """A queue that returns priority elements before all other elements; both groups keep their order.

    Flink: PrioritizedDeque.

    ``append`` adds an element without priority; ``popleft`` removes the first element. Elements are compared by
    identity. Invariant: the first ``priority_elements`` elements are those with priority.
    """

    __slots__ = ("priority_elements",)

    def __init__(self) -> None:
        super().__init__()
        self.priority_elements = 0

    def add_priority_element(self, element: T) -> None:
        """Adds ``element`` after the last priority element (rule 5.28)."""
        # Behind the others with priority: barriers overtake data, never one another (rule 5.28).
        self.insert(self.priority_elements, element)
        self.priority_elements += 1

    def prioritize(self, element: T) -> None:
        """Gives priority to a queued element; an element that already has priority keeps its position."""
        position = self._position(element)
        if position is None:
            self.add_priority_element(element)
        elif position >= self.priority_elements:
            del self[position]
            self.add_priority_element(element)

    def contains_priority_element(self, element: T) -> bool:
        position = self._position(element)
        return position is not None and position < self.priority_elements

    def popleft(self) -> T:
        if self.priority_elements:
            self.priority_elements -= 1
        return deque.popleft(self)

    def clear(self) -> None:
        deque.clear(self)
        self.priority_elements = 0

    def get_and_remove(self, matches: Callable[[T], bool]) -> T | None:
        """Removes and returns the first element that matches; None if there is none."""
        first = _first(self, matches)
        if first is None:
            return None
        position, element = first
        del self[position]
        self.priority_elements -= position < self.priority_elements
        return element

    def appended(self, element: T) -> PrioritizedDeque[T]:
        """Appends the element and returns the queue to use from now on."""
        self.append(element)
        return self

    def _position(self, element: T) -> int | None:
        first = _first(self, lambda queued: queued is element)
        return None if first is None else first[0]


class PrioritizedList(list[T], Generic[T]):
    """A ``PrioritizedDeque`` of at most ``LONGEST_LIST`` elements: for the queue of a channel.

    An empty deque has room for 64 elements: 700 bytes, which a job with a million channels cannot spare.
    """

    __slots__ = ("priority_elements",)

    def __init__(self) -> None:
        super().__init__()
        self.priority_elements = 0

    def add_priority_element(self, element: T) -> None:
        """Adds ``element`` after the last priority element (rule 5.28)."""
        self.insert(self.priority_elements, element)
        self.priority_elements += 1

    def popleft(self) -> T:
        if self.priority_elements:
            self.priority_elements -= 1
        return self.pop(0)

    def clear(self) -> None:
        list.clear(self)
        self.priority_elements = 0

    def get_and_remove(self, matches: Callable[[T], bool]) -> T | None:
        """Removes the first element that matches; None if there is none."""
        first = _first(self, matches)
        if first is None:
            return None
        position, element = first
        del self[position]
        self.priority_elements -= position < self.priority_elements
        return element

    def appended(self, element: T) -> PrioritizedQueue[T]:
        """Appends the element; the queue to use from now on, a deque above ``LONGEST_LIST`` elements."""
        self.append(element)
        if len(self) <= LONGEST_LIST:
            return self
        longer = PrioritizedDeque[T]()
        longer.extend(self)
        longer.priority_elements = self.priority_elements
        return longer


PrioritizedQueue = PrioritizedDeque[T] | PrioritizedList[T]


def _first(queue: MutableSequence[T], matches: Callable[[T], bool]) -> tuple[int, T] | None:
    """Position and element of the first element that matches."""
    return next(((position, element) for position, element in enumerate(queue) if matches(element)), None)
