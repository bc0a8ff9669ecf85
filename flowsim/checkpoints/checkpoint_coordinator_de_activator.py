"""Starts and stops periodic checkpoints with the tasks of the job (rules 12.43, 12.44).

Flink: ExecutionTrackingCheckpointCoordinatorDeActivator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from flowsim.checkpoints.checkpoint_coordinator import CheckpointCoordinator
from flowsim.checkpoints.execution import ExecutionAttemptId


class CheckpointCoordinatorDeActivator:
    """Periodic checkpoints run while the job runs and each of its tasks runs or has finished.

    Flink: ExecutionTrackingCheckpointCoordinatorDeActivator, which remembers attempts instead of subtasks.
    """

    __slots__ = ("_coordinator", "_is_job_running", "_is_started", "_pending")

    def __init__(self, coordinator: CheckpointCoordinator, subtasks: Iterable[tuple[int, int]]) -> None:
        """``subtasks``: the vertex id and the index of every subtask; none of them runs yet."""
        self._coordinator = coordinator
        self._pending = set(subtasks)
        self._is_job_running = False
        self._is_started = False

    def on_job_status_change(self, *, is_running: bool) -> None:
        """The job reached or left the state RUNNING."""
        self._is_job_running = is_running
        self._start_or_stop()

    def on_state_update(self, attempt: ExecutionAttemptId, *, is_running_or_finished: bool) -> None:
        """A task changed its state; attempts of a subtask follow each other."""
        subtask = (attempt.vertex_id, attempt.subtask)
        if is_running_or_finished:
            self._pending.discard(subtask)
        else:
            self._pending.add(subtask)
        self._start_or_stop()

    def _start_or_stop(self) -> None:
        # A checkpoint that is triggered while a task is deployed would only fail, and count as a failure (rule 12.43).
        should_run = self._is_job_running and not self._pending
        if should_run and not self._is_started:
            self._is_started = True
            self._coordinator.start_checkpoint_scheduler()
        elif self._is_started and not should_run:
            self._is_started = False
            self._coordinator.stop_checkpoint_scheduler()


class EndOfDataTracker:
    """Triggers one checkpoint when all tasks have reported end of data, so that a bounded job ends (rule 12.44).

    The operators of a vertex have no backlog when all its tasks have reported. Only for jobs with an interval that
    take checkpoints after tasks finish. Flink: SchedulerBase.notifyEndOfData.
    """

    __slots__ = (
        "_coordinator",
        "_of_vertex",
        "_operators",
        "_reporting",
        "_subtasks",
        "_with_end_of_data",
    )

    def __init__(
        self,
        coordinator: CheckpointCoordinator,
        subtasks: Sequence[tuple[int, int]],
        operators: Mapping[int, Sequence[str]],
    ) -> None:
        """``operators``: the ids of the operators of each vertex."""
        self._coordinator = coordinator
        self._subtasks = self._reporting = frozenset(subtasks)
        self._of_vertex = {vertex: frozenset(each for each in subtasks if each[0] == vertex) for vertex in operators}
        self._operators = operators
        self._with_end_of_data: set[tuple[int, int]] = set()

    def on_end_of_data(self, attempt: ExecutionAttemptId) -> None:
        """A task has processed the end of its data."""
        vertex = attempt.vertex_id
        self._with_end_of_data.add((vertex, attempt.subtask))
        if self._with_end_of_data >= self._of_vertex[vertex]:
            for operator_id in self._operators[vertex]:
                self._coordinator.set_is_processing_backlog(operator_id, False)
        if (vertex, attempt.subtask) in self._reporting:
            self._trigger_if_all()

    def on_stop_without_drain(self, sources: Iterable[tuple[int, int]]) -> None:
        """The job is stopped without drain or savepoint, so only its sources surely report; flowsim's own."""
        self._reporting = frozenset(sources)
        self._trigger_if_all()

    def on_restart(self, attempt: ExecutionAttemptId) -> None:
        """A new attempt starts, which reads its data again."""
        self._with_end_of_data.discard((attempt.vertex_id, attempt.subtask))

    def _trigger_if_all(self) -> None:
        if self._with_end_of_data >= self._reporting:
            self._coordinator.trigger_checkpoint()
