"""Computes which tasks take part in a checkpoint. Flink: DefaultCheckpointPlanCalculator (rules 12.1, 12.35, 12.36)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from flowsim.checkpoints.checkpoint_plan import CheckpointPlan
from flowsim.checkpoints.execution import Execution, ExecutionJobVertex, ExecutionVertex
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason


class CheckpointPlanCalculatorContext(Protocol):
    """Knows whether the job has finished tasks.

    A Protocol, because this package does not know the job master. Flink: CheckpointPlanCalculatorContext.
    """

    @property
    def has_finished_tasks(self) -> bool:
        """True if a task is in the state FINISHED (rule 12.36)."""
        ...


class CheckpointPlanCalculator:
    """Flink: DefaultCheckpointPlanCalculator."""

    __slots__ = ("_allows_finished_tasks", "_context", "_vertices")

    def __init__(
        self,
        context: CheckpointPlanCalculatorContext,
        vertices_topologically: Sequence[ExecutionJobVertex],
        allows_checkpoints_after_tasks_finished: bool,
    ) -> None:
        self._context = context
        self._vertices = vertices_topologically
        self._allows_finished_tasks = allows_checkpoints_after_tasks_finished

    def calculate_checkpoint_plan(self) -> CheckpointPlan:
        """Returns the plan of a checkpoint that starts now.

        Raises CheckpointException if a task that takes part is not running.
        """
        has_finished_tasks = self._context.has_finished_tasks
        if has_finished_tasks and not self._allows_finished_tasks:
            raise _not_all_running()
        attempts = [[_current_attempt(task) for task in vertex.task_vertices] for vertex in self._vertices]
        if has_finished_tasks:
            # A finished task neither gets a trigger nor sends a barrier: those that read from it alone are triggered instead
            # (rule 12.35).
            plan = self._plan_after_tasks_finished(attempts)
        else:
            plan = self._plan_with_all_tasks(attempts)
        if not all(task.is_running for task in plan.tasks_to_wait_for):
            raise _not_all_running()
        return plan

    def _plan_with_all_tasks(self, attempts: Sequence[Sequence[Execution]]) -> CheckpointPlan:
        """Returns the plan without finished tasks: the sources are triggered (rule 12.1)."""
        return CheckpointPlan(
            tasks_to_trigger=[
                task
                for vertex, tasks in zip(self._vertices, attempts, strict=True)
                if not vertex.inputs
                for task in tasks
            ],
            tasks_to_wait_for=[task for tasks in attempts for task in tasks],
            tasks_to_commit_to=[task for vertex in self._vertices for task in vertex.task_vertices],
            finished_tasks=[],
            fully_finished_vertices=[],
            may_have_finished_tasks=self._allows_finished_tasks,
        )

    def _plan_after_tasks_finished(self, attempts: Sequence[Sequence[Execution]]) -> CheckpointPlan:
        """Returns the plan with finished tasks: the first task of each path that still runs is triggered (rule 12.35)."""
        running = {
            vertex.id: [not task.is_terminal for task in tasks]
            for vertex, tasks in zip(self._vertices, attempts, strict=True)
        }
        plan = CheckpointPlan([], [], [], [], [], may_have_finished_tasks=True)
        for vertex, tasks in zip(self._vertices, attempts, strict=True):
            if not any(running[vertex.id]):
                plan.fully_finished_vertices.append(vertex)
            for subtask, task in enumerate(tasks):
                if not running[vertex.id][subtask]:
                    plan.finished_tasks.append(task)
                    continue
                plan.tasks_to_wait_for.append(task)
                plan.tasks_to_commit_to.append(vertex.task_vertices[subtask])
                if not _has_running_predecessor(vertex, subtask, running):
                    plan.tasks_to_trigger.append(task)
        return plan


def _has_running_predecessor(vertex: ExecutionJobVertex, subtask: int, running: dict[int, list[bool]]) -> bool:
    return any(
        any(running[edge.source.id])
        if edge.is_all_to_all
        else any(running[edge.source.id][source] for source in edge.sources_of(subtask))
        for edge in vertex.inputs
    )


def _current_attempt(task: ExecutionVertex) -> Execution:
    attempt = task.current_execution_attempt
    if attempt is None:
        raise _not_all_running()
    return attempt


def _not_all_running() -> CheckpointException:
    return CheckpointException(CheckpointFailureReason.NOT_ALL_REQUIRED_TASKS_RUNNING)
