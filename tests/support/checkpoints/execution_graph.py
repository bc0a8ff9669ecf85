"""A job of vertices and edges without operators, whose states and calls tests script and observe."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from flowsim.checkpoints.execution import ExecutionAttemptId
from flowsim.checkpoints.failover.scheduling_topology import ResultPartition, SchedulingTopology
from flowsim.graph.edge_expansion import EdgeExpansion
from flowsim.graph.job_graph import JobEdge, JobVertex
from flowsim.graph.stream_graph import PartitionerSpec
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.streamrecord.checkpoint_options import CheckpointOptions, SnapshotType

PIPELINED = ("PIPELINED", "PIPELINED_BOUNDED")
SNAPSHOT_NAMES = {
    SnapshotType.CHECKPOINT: "Checkpoint",
    SnapshotType.FULL_CHECKPOINT: "Full Checkpoint",
    SnapshotType.SAVEPOINT: "Savepoint",
    SnapshotType.SUSPEND: "Suspend Savepoint",
    SnapshotType.TERMINATE: "Terminate Savepoint",
}
"""As Flink shows them."""
RECONSUMABLE = ("BLOCKING", "BLOCKING_PERSISTENT", "HYBRID_FULL", "PIPELINED_APPROXIMATE")


@dataclass(eq=False)
class ScriptedExecution:
    """An attempt in a scripted state; the calls to its task are passed to ``on_call`` as text."""

    vertex: ScriptedExecutionVertex
    attempt_id: ExecutionAttemptId
    on_call: Callable[[str], None]
    state: str = "RUNNING"

    @property
    def is_running(self) -> bool:
        return self.state == "RUNNING"

    @property
    def is_terminal(self) -> bool:
        return self.state in ("FINISHED", "CANCELED", "FAILED")

    def trigger_checkpoint(self, checkpoint_id: int, timestamp_ms: int, options: CheckpointOptions) -> None:
        kind = f"{options.alignment.value} {SNAPSHOT_NAMES[options.snapshot_type]}"
        self.on_call(f"rpc_trigger {self.vertex.name} {checkpoint_id} {kind}")

    def notify_checkpoint_on_complete(self, checkpoint_id: int, timestamp_ms: int, last_subsumed_id: int) -> None:
        self.on_call(f"notify_complete {self.vertex.name} {checkpoint_id} {last_subsumed_id}")

    def notify_checkpoint_aborted(self, checkpoint_id: int, latest_completed_id: int, timestamp_ms: int) -> None:
        self.on_call(f"notify_aborted {self.vertex.name} {checkpoint_id} {latest_completed_id}")


@dataclass(eq=False)
class ScriptedExecutionVertex:
    job_vertex: ScriptedJobVertex
    subtask: int
    current_execution_attempt: ScriptedExecution | None = None

    @property
    def name(self) -> str:
        return f"{self.job_vertex.id}/{self.subtask}"


@dataclass(eq=False)
class ScriptedEdge:
    source: ScriptedJobVertex
    expansion: EdgeExpansion
    partition_type: str

    @property
    def is_all_to_all(self) -> bool:
        return not self.expansion.is_pointwise

    def sources_of(self, subtask: int) -> list[int]:
        count = self.expansion.input_count(subtask)
        return [self.expansion.input_at(subtask, index)[0] for index in range(count)]


@dataclass(eq=False)
class ScriptedJobVertex:
    id: int
    parallelism: int
    max_parallelism: int = 128
    inputs: list[ScriptedEdge] = field(default_factory=list)
    task_vertices: list[ScriptedExecutionVertex] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"v{self.id}"

    @property
    def operator_ids(self) -> list[str]:
        return [self.name]


class ScriptedExecutionGraph:
    """The vertices in a topological order; an edge is (source, target, POINTWISE or ALL_TO_ALL, partition type)."""

    def __init__(
        self,
        parallelism: Iterable[int],
        edges: Iterable[tuple[int, int, str, str]],
        on_call: Callable[[str], None] = lambda _: None,
    ) -> None:
        self.vertices = [ScriptedJobVertex(number, p) for number, p in enumerate(parallelism)]
        for vertex in self.vertices:
            for index in range(vertex.parallelism):
                task = ScriptedExecutionVertex(vertex, index)
                task.current_execution_attempt = ScriptedExecution(
                    task, ExecutionAttemptId(vertex.id, index, 0), on_call
                )
                vertex.task_vertices.append(task)
        sizes = [JobVertex(vertex.id, [], vertex.parallelism, 128) for vertex in self.vertices]
        self.edges: list[tuple[ScriptedEdge, ScriptedJobVertex]] = []
        for number, (source, target, pattern, partition_type) in enumerate(edges):
            partitioner = PartitionerSpec("RESCALE" if pattern == "POINTWISE" else "HASH")
            edge = JobEdge(
                number, sizes[source], 0, sizes[target], 0, partitioner, None, -1, ResultPartitionType.PIPELINED_BOUNDED
            )
            scripted = ScriptedEdge(self.vertices[source], EdgeExpansion(edge, 0), partition_type)
            self.vertices[target].inputs.append(scripted)
            self.edges.append((scripted, self.vertices[target]))

    @property
    def tasks(self) -> list[ScriptedExecutionVertex]:
        return [task for vertex in self.vertices for task in vertex.task_vertices]

    @property
    def vertices_topologically(self) -> list[ScriptedJobVertex]:
        """The vertices in the order of Flink's JobGraph: sources, then depth first."""
        order = [vertex for vertex in self.vertices if not vertex.inputs]

        def add_consumers(source: ScriptedJobVertex) -> None:
            for target in [target for edge, target in self.edges if edge.source is source]:
                if target not in order and all(edge.source in order for edge in target.inputs):
                    order.append(target)
                    add_consumers(target)

        for source in order:
            add_consumers(source)
        return order

    def execution(self, name: str) -> ScriptedExecution:
        """The current attempt of a task such as ``1/0``."""
        vertex, subtask = map(int, name.split("/"))
        execution = self.vertices[vertex].task_vertices[subtask].current_execution_attempt
        assert execution is not None
        return execution

    def topology(self) -> tuple[SchedulingTopology, dict[tuple[int, int, int], ResultPartition]]:
        """The topology, and its partitions by vertex, result of the vertex and subtask."""
        numbers = {task.name: number for number, task in enumerate(self.tasks)}
        partitions: dict[tuple[int, int, int], ResultPartition] = {}
        results = [0] * len(self.vertices)
        for edge, target in self.edges:
            source = edge.source
            for subtask in range(source.parallelism):
                consumers = [
                    numbers[f"{target.id}/{consumer}"]
                    for consumer in range(target.parallelism)
                    if subtask in edge.sources_of(consumer)
                ]
                partitions[source.id, results[source.id], subtask] = ResultPartition(
                    numbers[f"{source.id}/{subtask}"],
                    results[source.id],
                    consumers,
                    edge.partition_type in PIPELINED,
                    edge.partition_type in RECONSUMABLE,
                )
            results[source.id] += 1
        vertices = [task.job_vertex.id for task in self.tasks]
        return SchedulingTopology(vertices, list(partitions.values())), partitions
