"""Checks that the parts of a job that faults name exist, so that no fault is without effect because of a wrong name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from flowsim.errors import BadInput
from flowsim.faults.catalogue import FAULT_KINDS, Component, Fault
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph, channel_rows

FaultPlace = Literal["fault", "operator", "subtask", "channel"]

_SOURCE: Final = 2
_TARGET: Final = 4
"""Columns of a row of table ``channels``."""
_OF_A_CHANNEL: Final = frozenset({Component.CHANNEL, Component.READER})
"""The components of which a task has one for each channel."""


class FaultError(BadInput):
    """A fault names a part that the job does not have. ``place``: the field with the wrong name or number."""

    def __init__(self, fault: Fault, place: FaultPlace, reason: str) -> None:
        super().__init__(reason if place == "fault" else f"fault {fault.fault}: {reason}")
        self.place = place
        self.reason = reason


def check_faults(faults: Iterable[Fault], execution: ExecutionGraph) -> None:
    """Raises FaultError for an unknown kind, operator, subtask or channel."""
    for fault in faults:
        if fault.fault not in FAULT_KINDS:
            message = f"unknown fault '{fault.fault}'; there are: {', '.join(FAULT_KINDS)}"
            raise FaultError(fault, "fault", message)
        _check_channel(fault, execution, _subtasks(fault, execution))


def subtasks_with_fault(fault: Fault, subtasks: Iterable[Subtask]) -> list[Subtask]:
    """Returns the subtasks whose components the fault breaks."""
    return [
        subtask
        for subtask in subtasks
        if (fault.subtask is None or fault.subtask == subtask.index)
        and (fault.operator is None or fault.operator in [chained.node.name for chained in subtask.vertex.operators])
    ]


def _subtasks(fault: Fault, execution: ExecutionGraph) -> Sequence[Subtask]:
    """Returns the subtasks with the fault; raises FaultError if there is none."""
    names = [chained.node.name for vertex in execution.job.vertices for chained in vertex.operators]
    if fault.operator is not None and fault.operator not in names:
        message = f"no operator '{fault.operator}'; there are: {', '.join(names)}"
        raise FaultError(fault, "operator", message)
    found = subtasks_with_fault(fault, execution.subtasks)
    if not found and fault.subtask is not None:
        of_operator = subtasks_with_fault(Fault(fault.fault, fault.operator), execution.subtasks)
        whose = "" if fault.operator is None else f" of '{fault.operator}'"
        count = 1 + max(subtask.index for subtask in of_operator)
        message = f"there is no subtask {fault.subtask}{whose}: expected {_numbers(count)}"
        raise FaultError(fault, "subtask", message)
    return found


def _check_channel(fault: Fault, execution: ExecutionGraph, subtasks: Sequence[Subtask]) -> None:
    """Raises FaultError if the kind has no channel, or no subtask with the fault has this one."""
    if fault.channel is None:
        return
    component = FAULT_KINDS[fault.fault].component
    if component not in _OF_A_CHANNEL:
        whole = "operator" if component is Component.OPERATOR else "task"
        raise FaultError(fault, "channel", f"it breaks the whole {whole}, on every channel: leave out the channel")
    count = execution.channel_count
    if fault.channel >= count:
        there_are = f"expected {_numbers(count)}" if count else "the job has no channels"
        raise FaultError(fault, "channel", f"there is no channel {fault.channel}: {there_are}")
    ends = next(row for row in channel_rows(execution) if row[0] == fault.channel)
    # The receiver of a channel breaks its elements; both ends have a part in the rest.
    tasks = [ends[_TARGET]] if component is Component.CHANNEL else [ends[_SOURCE], ends[_TARGET]]
    if not {subtask.id for subtask in subtasks}.intersection(tasks):
        names = [execution.subtasks[int(task)].name for task in tasks]
        raise FaultError(
            fault, "channel", f"channel {fault.channel} belongs to {' and '.join(names)}, which the fault does not name"
        )


def _numbers(count: int) -> str:
    return "0" if count == 1 else f"0 to {count - 1}"
