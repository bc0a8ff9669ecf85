"""Which tasks take part in a checkpoint. Flink: DefaultCheckpointPlan (rules 12.1, 12.35, 12.99)."""

from __future__ import annotations

from dataclasses import dataclass, field

from flowsim.checkpoints.execution import Execution, ExecutionJobVertex, ExecutionVertex
from flowsim.checkpoints.storage.snapshot_state import SnapshotState
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

    def fulfill_finished_task_status(self, state: SnapshotState) -> None:
        """Adds the finished tasks to the states of a complete checkpoint.

        Raises PartialFinishingNotSupportedByState for a vertex with union list state that has finished in part.
        """
        if not self.may_have_finished_tasks:
            return
        finished: dict[int, set[int]] = {}
        for task in self.finished_tasks:
            if task.vertex.job_vertex not in self.fully_finished_vertices:
                finished.setdefault(task.vertex.job_vertex.id, set()).add(task.vertex.subtask)
        vertices = {task.vertex.job_vertex.id: task.vertex.job_vertex for task in self.tasks_to_wait_for}
        for number, vertex in vertices.items():
            self._check_union_state(vertex, number in finished, state)
        for vertex in self.fully_finished_vertices:
            state.fully_finished_operators.update(vertex.operator_ids)
        for number, subtasks in finished.items():
            for operator in vertices[number].operator_ids:
                state.finished_subtasks[operator] = set(subtasks)

    def _check_union_state(self, vertex: ExecutionJobVertex, has_finished_tasks: bool, state: SnapshotState) -> None:
        with_finished_operators = self._tasks_with_finished_operators.get(vertex.id, 0)
        if has_finished_tasks:
            reason = "part of its tasks are FINISHED"
        elif 0 < with_finished_operators < len(vertex.task_vertices):
            reason = "part of its tasks has called operators' finish method"
        else:
            return
        if any(state.has_union_list_state(operator) for operator in vertex.operator_ids):
            raise PartialFinishingNotSupportedByState(
                f"The vertex {vertex.name} has used UnionListState, but {reason}."
            )
