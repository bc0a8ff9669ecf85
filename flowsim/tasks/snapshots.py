"""Snapshots of a task: the elements that its operators hold (rules 11.20, 11.37)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field

from flowsim.facts.tracer import TaskTrace
from flowsim.streamrecord.elements import StreamElement
from flowsim.tasks.operator_chain import OperatorChain


@dataclass(frozen=True, slots=True)
class OperatorSnapshot:
    """The snapshot of one operator.

    It has the number of records started, the elements held, and whether an element was in progress.
    """

    operator: str
    records_in: int
    elements: tuple[StreamElement, ...]
    inside: bool


@dataclass(slots=True)
class TaskSnapshot:
    """A snapshot of one task: requested at ``requested_ns`` of the job's clock; taken later, or missed for a reason.

    Nothing is stored: there is no recovery.
    """

    task: str
    requested_ns: int
    taken_ns: int | None = None
    operators: tuple[OperatorSnapshot, ...] = field(default_factory=tuple)
    """The snapshots of the operators, head first."""
    missed: str = ""

    def miss(self, reason: str) -> None:
        """Marks the snapshot as missed, with the reason."""
        if self.taken_ns is None and not self.missed:
            self.missed = reason


def take_snapshot(
    snapshot: TaskSnapshot, chain: OperatorChain, trace: TaskTrace | None, taken_ns: int, inside: Set[int]
) -> None:
    """Takes the snapshot; the caller may read the task's state now. ``inside``: operators inside an element, by index."""
    taken: list[OperatorSnapshot] = []
    for wrapper in chain.wrappers:
        operator = wrapper.operator
        elements = tuple(operator.held_elements())
        is_inside = wrapper.index in inside
        taken.append(OperatorSnapshot(wrapper.name, operator.records_in, elements, is_inside))
        if trace is not None:
            trace.snapshot(wrapper.index, snapshot.requested_ns, operator.records_in, len(elements), is_inside)
    snapshot.taken_ns = taken_ns
    snapshot.operators = tuple(taken)
