"""Fails attempts of tasks where the options of the run ask for it; jobs without such failures contain none of this."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from flowsim.cluster.failures import FailTask, LoseTaskManager, RunFailure
from flowsim.errors import BadInput, FlowsimError
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.placement import unknown_task_manager
from flowsim.operators.stream_operator import OperatorInput, Value
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.streamrecord.output import CountingOutput
from flowsim.tasks.checkpointing.job_master_gateway import TaskCheckpointing
from flowsim.tasks.checkpointing.stream_operator_state_handler import (
    OperatorSnapshotFutures,
    StreamOperatorStateHandler,
)
from flowsim.tasks.inputs.multiple_input_processor import network_inputs
from flowsim.tasks.operator_chain import OperatorWrapper
from flowsim.tasks.operator_outputs import OutputEdge
from flowsim.tasks.stream_task import StreamTask


class RequestedFailure(FlowsimError):
    """A failure that the options of the run ask for."""


@dataclass(slots=True)
class AttemptFailures:
    """Where one attempt of a task fails."""

    task: str
    records: set[int] = field(default_factory=set)
    snapshots: set[int] = field(default_factory=set)
    notifications: set[int] = field(default_factory=set)
    _seen: int = 0

    def on_record(self) -> None:
        """Called before each record of the attempt."""
        number = self._seen
        self._seen += 1
        if number in self.records:
            raise RequestedFailure(f"{self.task} fails at record {number}, as the run asks for")

    def on_snapshot(self, checkpoint_id: int) -> None:
        """Called in the synchronous part of a checkpoint."""
        if checkpoint_id in self.snapshots:
            raise RequestedFailure(
                f"{self.task} fails in the snapshot of checkpoint {checkpoint_id}, as the run asks for"
            )

    def on_notification(self, checkpoint_id: int) -> None:
        """Called when a checkpoint is complete."""
        if checkpoint_id in self.notifications:
            raise RequestedFailure(
                f"{self.task} fails in the notification of checkpoint {checkpoint_id}, as the run asks for"
            )


class FailingInput(OperatorInput):
    """Counts the records of an attempt before the head of its chain gets them."""

    __slots__ = ("_operator", "_failures")

    def __init__(self, operator: OperatorInput, failures: AttemptFailures) -> None:
        self._operator = operator
        self._failures = failures

    def process_element(self, value: Value, timestamp: int | None) -> None:
        self._failures.on_record()
        self._operator.process_element(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self._operator.process_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self._operator.process_watermark_status(status)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        self._operator.process_latency_marker(marker)


class FailingOutput(CountingOutput):
    """Counts the records that a source emits, before its consumers get them."""

    __slots__ = ("_failures",)

    def __init__(self, failures: AttemptFailures) -> None:
        super().__init__()
        self._failures = failures

    def collect(self, value: Value, timestamp: int | None) -> None:
        self._failures.on_record()

    def emit_watermark(self, timestamp: int) -> None:
        """Does nothing."""

    def emit_watermark_status(self, status: WatermarkStatus) -> None:
        """Does nothing."""

    def emit_latency_marker(self, marker: LatencyMarker) -> None:
        """Does nothing."""


class TaskFailures:
    """The failures of a run by the attempt that they fail. Raises BadInput for unknown tasks and task managers."""

    def __init__(self, failures: Iterable[RunFailure], execution: ExecutionGraph) -> None:
        self._by_attempt: dict[tuple[int, int], AttemptFailures] = {}
        self._execution = execution
        for failure in failures:
            if isinstance(failure, FailTask):
                self._add(failure)
            elif isinstance(failure, LoseTaskManager):
                message = unknown_task_manager(failure.name, execution.lost_together)
                if message:
                    raise BadInput(f"failures: {message}")

    def of(self, subtask: int, attempt: int) -> AttemptFailures | None:
        """Returns where an attempt fails, other than at a time."""
        return self._by_attempt.get((subtask, attempt))

    def subtask_of(self, failure: FailTask) -> int:
        """Returns the id of the subtask. Raises BadInput."""
        return _subtask(failure, self._execution)

    def _add(self, failure: FailTask) -> None:
        number = self.subtask_of(failure)
        if failure.at_ns is not None:
            return
        found = self._by_attempt.setdefault(
            (number, failure.attempt), AttemptFailures(self._execution.subtasks[number].name)
        )
        if failure.at_record is not None:
            found.records.add(failure.at_record)
        if failure.in_snapshot is not None:
            found.snapshots.add(failure.in_snapshot)
        if failure.in_notification is not None:
            found.notifications.add(failure.in_notification)


def fail_in_source(edges: Sequence[OutputEdge], failures: AttemptFailures) -> list[OutputEdge]:
    """Returns the edges of a source that fails at a record."""
    return [OutputEdge(None, FailingOutput(failures)), *edges]


class FailingStateHandler(StreamOperatorStateHandler):
    """The states of the head of a task that fails in its checkpoints because the run asks for it."""

    __slots__ = ("_failures",)

    def __init__(self, head: OperatorWrapper, checkpointing: TaskCheckpointing, failures: AttemptFailures) -> None:
        streams, latency_ns = checkpointing.streams, checkpointing.settings.sync_latency_ns
        super().__init__(head.operator, head.name, streams, checkpointing.restore, latency_ns)
        self._failures = failures

    def snapshot_state(self, checkpoint_id: int, timestamp_ms: int) -> OperatorSnapshotFutures:
        self._failures.on_snapshot(checkpoint_id)
        return super().snapshot_state(checkpoint_id, timestamp_ms)

    def notify_checkpoint_complete(self, checkpoint_id: int) -> None:
        self._failures.on_notification(checkpoint_id)
        super().notify_checkpoint_complete(checkpoint_id)


def fail_in_input(task: StreamTask, failures: AttemptFailures) -> None:
    """Lets a task with network inputs fail at a record; called after the task is wired."""
    for each in network_inputs(task.input):
        each.output.operator = FailingInput(each.output.operator, failures)


def _subtask(failure: FailTask, execution: ExecutionGraph) -> int:
    for vertex in execution.job.vertices:
        if failure.task == vertex.name or failure.task in [operator.node.name for operator in vertex.operators]:
            if failure.subtask >= vertex.parallelism:
                raise BadInput(
                    f"failures: FailTask of {failure.task!r:.80}: subtask: expected 0 to {vertex.parallelism - 1}, "
                    f"got {failure.subtask}"
                )
            return execution.subtasks_of(vertex)[failure.subtask].id
    known = [operator.node.name for vertex in execution.job.vertices for operator in vertex.operators]
    raise BadInput(f"failures: no task or operator {failure.task!r:.80}; there are: {', '.join(known)}")
