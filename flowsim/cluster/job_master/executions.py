"""The attempts of the tasks of a job, as its checkpoints see them. Flink: Execution, ExecutionVertex, ExecutionJobVertex."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition, SchedulingTopology
from flowsim.graph.edge_expansion import EdgeExpansion, Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import JobEdge, JobVertex
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.network.checkpointing.checkpoint_metrics import CheckpointMetaData
from flowsim.streamrecord.checkpoint_exception import CheckpointException, CheckpointFailureReason
from flowsim.streamrecord.checkpoint_options import CheckpointOptions
from flowsim.tasks.checkpointing.job_master_gateway import JobMasterGateway
from flowsim.tasks.stream_task import StreamTask
from flowsim.tasks.task_state import TaskState
from flowsim.units import NS_PER_MS


class TaskExecution:
    """One attempt of a task, with its last reported state. Flink: Execution."""

    __slots__ = ("attempt_id", "vertex", "task", "state", "gateway", "is_started")

    def __init__(self, vertex: SubtaskExecutions, attempt: int, task: StreamTask) -> None:
        self.attempt_id = ExecutionAttemptId(vertex.job_vertex.id, vertex.subtask, attempt)
        self.vertex = vertex
        self.task = task
        self.state = TaskState.DEPLOYED
        self.is_started = False
        """True once the attempt is scheduled; before, it is in the state CREATED."""
        self.gateway: JobMasterGateway | None = None
        """Declines checkpoints for a task that cannot; set with the task's checkpoints."""

    @property
    def is_running(self) -> bool:
        """True in the state RUNNING."""
        return self.state is TaskState.RUNNING

    @property
    def is_terminal(self) -> bool:
        """True in the state FINISHED. In Flink also for attempts that failed, which loses records (deviations.md)."""
        return self.state is TaskState.FINISHED

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions) -> None:
        """Enqueues the trigger in the task; a task that is not running declines. Flink: Task.triggerCheckpointBarrier."""
        if not self.task.is_running:
            self._decline(checkpoint_id, CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_NOT_READY)
            return
        now_ms = self.task.scheduler.now_ns // NS_PER_MS
        try:
            self.task.trigger_checkpoint(CheckpointMetaData(checkpoint_id, timestamp_ms, now_ms), options)
        except MailboxClosedException:
            self._decline(checkpoint_id, CheckpointFailureReason.CHECKPOINT_DECLINED_TASK_CLOSING)

    def notify_checkpoint_on_complete(self, checkpoint_id: int, timestamp_ms: int, last_subsumed_id: int) -> None:
        """Enqueues the notifications; a task that ends does not get them."""
        if self.task.checkpoints is not None and self.task.is_running:
            checkpoints = self.task.checkpoints
            try:
                if last_subsumed_id >= 0:
                    checkpoints.notify_checkpoint_subsumed(last_subsumed_id)
                checkpoints.notify_checkpoint_complete(checkpoint_id)
            except MailboxClosedException:
                return

    def notify_checkpoint_aborted(self, checkpoint_id: int, latest_completed_id: int, timestamp_ms: int) -> None:
        """Enqueues the notification; a task that ends does not get it."""
        if self.task.checkpoints is not None and self.task.is_running:
            try:
                self.task.checkpoints.notify_checkpoint_aborted(checkpoint_id, latest_completed_id)
            except MailboxClosedException:
                return

    def _decline(self, checkpoint_id: int, reason: CheckpointFailureReason) -> None:
        if self.gateway is not None:
            self.gateway.decline_checkpoint(checkpoint_id, CheckpointException(reason, f"Task Name {self.task.name}"))


class SubtaskExecutions:
    """A subtask over all its attempts. Flink: ExecutionVertex."""

    __slots__ = ("job_vertex", "subtask", "id", "current_execution_attempt", "attempts")

    def __init__(self, job_vertex: VertexExecutions, subtask: Subtask) -> None:
        self.job_vertex = job_vertex
        self.subtask = subtask.index
        self.id = subtask.id
        self.current_execution_attempt: TaskExecution | None = None
        self.attempts = 0
        """The number of attempts so far."""

    @property
    def has_finished(self) -> bool:
        """True if the current attempt is FINISHED."""
        current = self.current_execution_attempt
        return current is not None and current.task.state is TaskState.FINISHED

    def cancel(self) -> TaskExecution | None:
        """The job begins to cancel the current attempt; returns it, unless it has ended. It does not count as running."""
        current = self.current_execution_attempt
        if current is None or current.state.is_terminal:
            return None
        current.state = TaskState.CANCELING
        return current

    def deploy(self, task: StreamTask) -> TaskExecution:
        """Makes ``task`` the current attempt."""
        execution = TaskExecution(self, self.attempts, task)
        self.attempts += 1
        self.current_execution_attempt = execution
        return execution


class InputOfVertex:
    """An edge into a vertex. Flink: JobEdge."""

    __slots__ = ("source", "expansion")

    def __init__(self, source: VertexExecutions, expansion: EdgeExpansion) -> None:
        self.source = source
        self.expansion = expansion

    @property
    def edge(self) -> JobEdge:
        return self.expansion.edge

    @property
    def is_all_to_all(self) -> bool:
        return not self.expansion.is_pointwise

    def sources_of(self, subtask: int) -> list[int]:
        """Returns the subtasks of the source that a subtask reads from."""
        count = self.expansion.input_count(subtask)
        return [self.expansion.input_at(subtask, index)[0] for index in range(count)]


class VertexExecutions:
    """A vertex of the job with its subtasks. Flink: ExecutionJobVertex."""

    __slots__ = ("vertex", "task_vertices", "inputs")

    def __init__(self, vertex: JobVertex, subtasks: Sequence[Subtask]) -> None:
        self.vertex = vertex
        self.task_vertices = [SubtaskExecutions(self, subtask) for subtask in subtasks]
        self.inputs: list[InputOfVertex] = []

    @property
    def id(self) -> int:
        return self.vertex.id

    @property
    def name(self) -> str:
        return self.vertex.name

    @property
    def operator_ids(self) -> list[str]:
        return [operator.operator_id for operator in self.vertex.operators]

    @property
    def max_parallelism(self) -> int:
        return self.vertex.max_parallelism


class JobExecutions:
    """All vertices of a job in topological order, and its subtasks by id. Flink: DefaultExecutionGraph."""

    __slots__ = ("vertices", "subtasks")

    def __init__(self, execution: ExecutionGraph) -> None:
        self.vertices = [VertexExecutions(v, execution.subtasks_of(v)) for v in execution.job.vertices]
        by_id = {vertex.id: vertex for vertex in self.vertices}
        for expansion in execution.expansions:
            edge = expansion.edge
            by_id[edge.target.id].inputs.append(InputOfVertex(by_id[edge.source.id], expansion))
        found = {each.id: each for vertex in self.vertices for each in vertex.task_vertices}
        self.subtasks = [found[number] for number in range(len(found))]

    @property
    def has_finished_tasks(self) -> bool:
        """True if a task is in the state FINISHED (rule 12.36)."""
        return any(_state(subtask) is TaskState.FINISHED for subtask in self.subtasks)

    @property
    def sources(self) -> list[tuple[int, int]]:
        """The vertex id and the index of every subtask of a source."""
        return [(each.id, task.subtask) for each in self.vertices if not each.inputs for task in each.task_vertices]

    def is_created(self, subtask: int) -> bool:
        """True if the subtask waits for its deployment: state CREATED."""
        execution = self.subtasks[subtask].current_execution_attempt
        return execution is None or not execution.is_started

    def on_started(self, subtask: int) -> None:
        """The current attempt of a subtask is scheduled."""
        execution = self.subtasks[subtask].current_execution_attempt
        if execution is not None:
            execution.is_started = True


def _state(subtask: SubtaskExecutions) -> TaskState:
    execution = subtask.current_execution_attempt
    return TaskState.DEPLOYED if execution is None else execution.state


def scheduling_topology(execution: ExecutionGraph) -> SchedulingTopology:
    """Returns the subtasks and result partitions of a job, for its failover."""
    first: dict[int, int] = {}
    for subtask in execution.subtasks:
        first.setdefault(subtask.vertex.id, subtask.id)
    partitions = []
    for expansion in execution.expansions:
        edge, is_pipelined = expansion.edge, expansion.edge.exchange.is_pipelined
        for source in range(edge.source.parallelism):
            targets = dict.fromkeys(expansion.target_of(source, n) for n in range(expansion.subpartitions(source)))
            consumers = [first[edge.target.id] + target for target in targets]
            partitions.append(
                ResultPartition(first[edge.source.id] + source, edge.id, consumers, is_pipelined, not is_pipelined)
            )
    return SchedulingTopology([subtask.vertex.id for subtask in execution.subtasks], partitions)
