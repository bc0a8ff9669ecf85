"""A queue with priority elements at its head. Flink: PrioritizedDeque (rules 5.28, 7.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PrioritizedDeque(deque[T], Generic[T]):
    """Elements with priority come first, in order, then all others, in order. Flink: PrioritizedDeque.

    ``append`` adds an element without priority; ``popleft`` removes the first element. Elements are compared by
    identity. Invariant: the first ``priority_elements`` elements are those with priority.
    """

    __slots__ = ("priority_elements",)

    def __init__(self) -> None:
        super().__init__()
        self.priority_elements = 0

    def add_priority_element(self, element: T) -> None:
        """Adds ``element`` after the last priority element (rule 5.28)."""
        self.insert(self.priority_elements, element)
        self.priority_elements += 1

    def prioritize(self, element: T) -> None:
        """Gives priority to a queued element; a priority element keeps its position."""
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
        """Removes the first element that matches; None if there is none."""
        for position, element in enumerate(self):
            if matches(element):
                del self[position]
                if position < self.priority_elements:
                    self.priority_elements -= 1
                return element
        return None

    def _position(self, element: T) -> int | None:
        return next((position for position, found in enumerate(self) if found is element), None)
