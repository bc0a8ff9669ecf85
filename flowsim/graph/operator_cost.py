"""Costs of an operator that differ between its subtasks or its records (architecture decision D4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

RecordCost = Callable[[Any], object]
"""A function of a record that returns its cost: ns, or a Duration."""
RecordCosts = tuple[RecordCost, ...]
"""One function for all inputs of an operator, or one per input."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A time in which subtasks of an operator stand still, in ns after the start of the job, on the virtual clock.

    The first record that arrives at ``from_ns`` or later, and before ``to_ns``, is processed at ``to_ns``. ``subtask`` None:
    every subtask.
    """

    subtask: int | None
    from_ns: int
    to_ns: int


@dataclass(frozen=True, slots=True)
class OperatorCosts:
    """What replaces the constant cost of an operator: in single subtasks, and by functions of the record."""

    each: RecordCosts | None = None
    """Of all subtasks that are not in ``subtasks``; None: they have the constant cost."""
    subtasks: Mapping[int, int | RecordCosts] = field(default_factory=dict)
    """The costs of single subtasks: ns, or functions."""

    def of_subtask(self, subtask: int, constant_ns: int) -> int | RecordCosts:
        """Returns the cost of a subtask."""
        return self.subtasks.get(subtask, constant_ns if self.each is None else self.each)

    def are_positive(self, parallelism: int, constant_ns: int) -> bool:
        """True if every record has a cost above 0 in every subtask. Functions may return 0."""
        costs = (self.of_subtask(subtask, constant_ns) for subtask in range(parallelism))
        return all(isinstance(cost, int) and cost > 0 for cost in costs)

    def unknown_subtask(self, parallelism: int) -> int | None:
        """Returns the first subtask in ``subtasks`` that the operator does not have."""
        return next((subtask for subtask in self.subtasks if not 0 <= subtask < parallelism), None)
