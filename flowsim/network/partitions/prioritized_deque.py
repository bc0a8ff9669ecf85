"""A queue whose first elements have overtaken the others. Flink: PrioritizedDeque (rules 5.28, 7.3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class PrioritizedDeque(deque[T], Generic[T]):
    """Elements with priority come first, in order, then all others, in order. Flink: PrioritizedDeque.

    ``append`` adds an element without priority, ``popleft`` takes the first of all. Elements are compared by identity.
    Invariant: the first ``priority_elements`` elements are those with priority.
    """

    __slots__ = ("priority_elements",)

    def __init__(self) -> None:
        super().__init__()
        self.priority_elements = 0

    def add_priority_element(self, element: T) -> None:
        """Adds ``element`` behind those with priority and before all others (rule 5.28)."""
        self.insert(self.priority_elements, element)
        self.priority_elements += 1

    def prioritize(self, element: T) -> None:
        """Gives priority to an element that is queued already; one that has it keeps its place."""
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
        """Takes out the first element that matches; None when none does."""
        for position, element in enumerate(self):
            if matches(element):
                del self[position]
                if position < self.priority_elements:
                    self.priority_elements -= 1
                return element
        return None

    def _position(self, element: T) -> int | None:
        return next((position for position, found in enumerate(self) if found is element), None)
