"""Which tasks take part in a checkpoint. Flink: DefaultCheckpointPlan (rules 12.1, 12.35, 12.99)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from flowsim.checkpoints.execution import Execution, ExecutionJobVertex, ExecutionVertex
from flowsim.checkpoints.storage.operator_state import FinishedOperatorSubtaskState, OperatorState
from flowsim.errors import FlowsimError


class PartialFinishingNotSupportedByState(FlowsimError):
    """Some subtasks of a vertex with union list state had finished (rule 12.99).

    Flink: PartialFinishingNotSupportedByStateException.
    """


@dataclass(slots=True, eq=False)
class CheckpointPlan:
    """The tasks of one checkpoint, all in topological order. Flink: DefaultCheckpointPlan."""

    tasks_to_trigger: list[Execution]
    """The tasks that get a request."""
    tasks_to_wait_for: list[Execution]
    """The tasks that must acknowledge."""
    tasks_to_commit_to: list[ExecutionVertex]
    """The tasks that are notified of the end of the checkpoint, in the attempt that runs then."""
    finished_tasks: list[Execution]
    fully_finished_vertices: list[ExecutionJobVertex]
    """The vertices all of whose tasks are finished, or finished when they were restored."""
    may_have_finished_tasks: bool
    _tasks_with_finished_operators: dict[int, int] = field(default_factory=dict)
    """The number of such tasks by vertex."""

    def report_task_finished_on_restore(self, task: ExecutionVertex) -> None:
        """Records that a task was deployed as finished: so was its whole vertex (rule 12.100)."""
        if task.job_vertex not in self.fully_finished_vertices:
            self.fully_finished_vertices.append(task.job_vertex)

    def report_task_has_finished_operators(self, task: ExecutionVertex) -> None:
        """Records that a task acknowledged after it had finished its operators."""
        vertex = task.job_vertex.id
        self._tasks_with_finished_operators[vertex] = self._tasks_with_finished_operators.get(vertex, 0) + 1

    def fulfill_finished_task_status(self, operator_states: dict[str, OperatorState]) -> None:
        """Adds the finished tasks to the states of a complete checkpoint.

        Raises PartialFinishingNotSupportedByState for a vertex with union list state that has finished in part.
        """
        if not self.may_have_finished_tasks:
            return
        partly_finished: dict[int, ExecutionJobVertex] = {}
        for task in self.finished_tasks:
            vertex = task.vertex.job_vertex
            if vertex not in self.fully_finished_vertices:
                partly_finished[vertex.id] = vertex
        self._check_union_state(partly_finished, operator_states)
        for vertex in self.fully_finished_vertices:
            for state in _states_of(vertex, operator_states):
                state.subtask_states.clear()
                state.is_fully_finished = True
        for task in self.finished_tasks:
            for state in _states_of(task.vertex.job_vertex, operator_states):
                if not state.is_fully_finished:
                    state.put_state(task.vertex.subtask, FinishedOperatorSubtaskState())

    def _check_union_state(
        self, partly_finished: dict[int, ExecutionJobVertex], operator_states: dict[str, OperatorState]
    ) -> None:
        for vertex in partly_finished.values():
            if _has_union_list_state(vertex, operator_states):
                raise PartialFinishingNotSupportedByState(
                    f"The vertex {vertex.name} has used UnionListState, but part of its tasks are FINISHED."
                )
        vertices = {task.vertex.job_vertex.id: task.vertex.job_vertex for task in self.tasks_to_wait_for}
        for number, finished in self._tasks_with_finished_operators.items():
            vertex = vertices[number]
            if number in partly_finished or finished == len(vertex.task_vertices):
                continue
            if _has_union_list_state(vertex, operator_states):
                raise PartialFinishingNotSupportedByState(
                    f"The vertex {vertex.name} has used UnionListState, but part of its tasks has called operators' "
                    "finish method."
                )


def _has_union_list_state(vertex: ExecutionJobVertex, operator_states: dict[str, OperatorState]) -> bool:
    states = (operator_states[operator] for operator in vertex.operator_ids if operator in operator_states)
    return any(subtask.has_union_list_state for state in states for subtask in state.subtask_states.values())


def _states_of(vertex: ExecutionJobVertex, operator_states: dict[str, OperatorState]) -> Iterable[OperatorState]:
    """Yields the states of the operators of a vertex, new ones for operators without state."""
    for operator in vertex.operator_ids:
        if operator not in operator_states:
            operator_states[operator] = OperatorState(operator, len(vertex.task_vertices), vertex.max_parallelism)
        yield operator_states[operator]
