"""Checks that finished tasks of a snapshot fit the restored job. Flink: VertexFinishedStateChecker (rule 12.101)."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from flowsim.checkpoints.execution import ExecutionJobVertex
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
from flowsim.errors import BadInput


class VertexFinishedState(Enum):
    """Flink: VertexFinishedState."""

    ALL_RUNNING = "all running"
    PARTIALLY_FINISHED = "partially finished"
    FULLY_FINISHED = "fully finished"


class VertexFinishedStateChecker:
    """Compares which operators of a snapshot had finished with the graph. Flink: VertexFinishedStateChecker."""

    __slots__ = ("_state", "_vertices")

    def __init__(self, vertices: Sequence[ExecutionJobVertex], state: SnapshotState) -> None:
        self._vertices = vertices
        self._state = state

    def validate_operators_finished_state(self) -> None:
        """Raises BadInput if a finished vertex would read from one that was not finished."""
        for vertex in self._vertices:
            finished = self._of_vertex(vertex)
            if finished is VertexFinishedState.FULLY_FINISHED:
                self._check_predecessors_of_fully_finished(vertex)
            elif finished is VertexFinishedState.PARTIALLY_FINISHED:
                self._check_predecessors_of_partially_finished(vertex)

    def _check_predecessors_of_fully_finished(self, vertex: ExecutionJobVertex) -> None:
        for edge in vertex.inputs:
            # A finished vertex reads nothing more: what a running one sends it would be lost.
            if self._of_vertex(edge.source) is not VertexFinishedState.FULLY_FINISHED:
                raise _illegal(
                    "fully finished vertices predeceased with the ones not fully finished",
                    vertex,
                    "predecessor not fully finished",
                )

    def _check_predecessors_of_partially_finished(self, vertex: ExecutionJobVertex) -> None:
        all_to_all = {edge.source.id for edge in vertex.inputs if edge.is_all_to_all}
        for edge in vertex.inputs:
            before = self._of_vertex(edge.source)
            if edge.source.id in all_to_all and before is not VertexFinishedState.FULLY_FINISHED:
                raise _illegal(
                    "partially finished vertices predeceased with running or partially finished ones and connected via "
                    "the ALL_TO_ALL edges",
                    vertex,
                    f"{before.value} predecessor",
                )
            if before is VertexFinishedState.ALL_RUNNING:
                raise _illegal(
                    "partially finished vertices predeceased with all running ones", vertex, "all running predecessor"
                )

    def _of_vertex(self, vertex: ExecutionJobVertex) -> VertexFinishedState:
        found = {self._of_operator(operator_id) for operator_id in vertex.operator_ids}
        if len(found) != 1:
            names = ", ".join(each.name for each in VertexFinishedState if each in found)
            raise BadInput(
                f"Can not restore vertex {vertex.name}({vertex.id}) which contain mixed operator finished state: [{names}]"
            )
        return found.pop()

    def _of_operator(self, operator_id: str) -> VertexFinishedState:
        if operator_id in self._state.fully_finished_operators:
            return VertexFinishedState.FULLY_FINISHED
        if self._state.finished_subtasks.get(operator_id):
            return VertexFinishedState.PARTIALLY_FINISHED
        return VertexFinishedState.ALL_RUNNING


def _illegal(program: str, vertex: ExecutionJobVertex, predecessor: str) -> BadInput:
    return BadInput(
        f"Illegal JobGraph modification. Cannot run a program with {program}. Task vertex {vertex.name}({vertex.id}) has a "
        f"{predecessor}"
    )
