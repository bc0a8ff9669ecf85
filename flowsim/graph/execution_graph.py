"""Vertices and edges expanded to subtasks and channels. Flink: ExecutionGraph, EdgeManagerBuildUtil (rules 1.14-1.17)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flowsim.errors import BadInput
from flowsim.facts import schema
from flowsim.facts.recorder import Recorder
from flowsim.graph.edge_expansion import EdgeExpansion, Subtask
from flowsim.graph.edge_links import links_of_edges
from flowsim.graph.job_graph import JobEdge, JobGraph, JobVertex
from flowsim.graph.job_settings import JobSettings, Link
from flowsim.graph.network_memory import NetworkMemory, plan_network_memory, pool_rows, task_manager_rows
from flowsim.graph.pipelined_regions import PipelinedRegion, pipelined_regions
from flowsim.graph.placement import Chain, Placement, TaskManagers, place
from flowsim.graph.plan_size import check_plan_size, check_shared_memory
from flowsim.limits import DEFAULT_LIMITS, Limits


@dataclass(slots=True)
class ExecutionGraph:
    """The subtasks in topological order, and the expansion of every edge. Flink: ExecutionGraph."""

    job: JobGraph
    subtasks: list[Subtask] = field(default_factory=list)
    expansions: list[EdgeExpansion] = field(default_factory=list)
    placement: Placement = field(default_factory=Placement)
    lost_together: Placement = field(default_factory=Placement)
    """The subtasks that fail when a task manager is lost: its own, unless the job is explored with other task managers."""
    memory: NetworkMemory = field(default_factory=NetworkMemory)
    links: dict[int, Link] = field(default_factory=dict)
    """The network link of each edge that has one, by edge id."""
    regions: list[PipelinedRegion] = field(default_factory=list)

    def subtasks_of(self, vertex: JobVertex) -> list[Subtask]:
        return [s for s in self.subtasks if s.vertex is vertex]

    def expansion(self, edge: JobEdge) -> EdgeExpansion:
        return self.expansions[edge.id]

    @property
    def channel_count(self) -> int:
        return sum(expansion.channel_count for expansion in self.expansions)


def create_execution_graph(
    job: JobGraph, limits: Limits = DEFAULT_LIMITS, lost_together: TaskManagers | None = None
) -> ExecutionGraph:
    """Expands a job to subtasks and places them.

    ``lost_together``: the task managers that can be lost, if those of the settings are others. Raises BadInput for invalid
    places, links and exchanges, for too little network memory, and for a job beyond the limits.
    """
    check_plan_size(job, limits)
    execution = ExecutionGraph(job)
    for vertex in job.vertices:
        for index in range(vertex.parallelism):
            execution.subtasks.append(Subtask(len(execution.subtasks), vertex, index))
    channels = 0
    for edge in job.edges:
        expansion = EdgeExpansion(edge, channels)
        execution.expansions.append(expansion)
        channels += expansion.channel_count
    settings = job.graph.settings
    chains = [Chain([operator.node.name for operator in v.operators], v.parallelism) for v in job.vertices]
    execution.placement = place(settings.task_managers, chains)
    execution.lost_together = execution.placement if lost_together is None else place(lost_together, chains)
    execution.memory = plan_network_memory(settings, execution.placement, execution.expansions, execution.subtasks)
    memory = execution.memory
    pools = [0] * len(memory.segments)
    for pool in memory.pools:
        pools[pool.task_manager] += 1
    check_shared_memory(execution.placement.names, pools, memory.is_scarce, limits)
    execution.links = links_of_edges(settings.links, job.vertices, job.edges)
    execution.regions = pipelined_regions(execution.expansions, execution.subtasks)
    _check_final_checkpoint(job)
    return execution


def _check_final_checkpoint(job: JobGraph) -> None:
    """Raises BadInput if a task waits for a checkpoint that cannot be taken before the task has ended."""
    checkpointing = job.graph.settings.checkpointing
    if checkpointing is None or not checkpointing.waits_for_final_checkpoint:
        return
    for edge in job.edges:
        if not edge.exchange.is_pipelined:
            raise BadInput(
                f"checkpointing: {edge.source.name} waits for the last checkpoint before it ends, but its exchange to "
                f"{edge.target.name} is blocking, so {edge.target.name} starts only after that: set after_tasks_finish "
                "to false, or make the exchange pipelined"
            )


def input_count(job: JobGraph, vertex: JobVertex) -> int:
    """Returns the number of task inputs; edges into the same input are united (rule 7.10)."""
    return 1 + max((edge.input_index for edge in job.in_edges(vertex)), default=-1)


def describe(execution: ExecutionGraph, recorder: Recorder) -> None:
    """Writes the description tables of a recording."""
    job = execution.job
    recorder.static(
        schema.TASKS,
        [
            (
                s.id,
                s.vertex.id,
                execution.placement.task_manager_of[s.id],
                s.name,
                s.index,
                s.vertex.parallelism,
                s.vertex.max_parallelism,
                input_count(job, s.vertex),
            )
            for s in execution.subtasks
        ],
    )
    recorder.static(
        schema.OPERATORS,
        [
            (
                v.id,
                o.index,
                o.node.name,
                o.node.description.kind,
                json.dumps(
                    _recorded_params(o.node.description.params, job.graph.settings), sort_keys=True, ensure_ascii=False
                ),
                o.input_operator,
                o.input_tag or "",
            )
            for v in job.vertices
            for o in v.operators
        ],
    )
    recorder.static(
        schema.EDGES,
        [
            (
                e.id,
                e.source.id,
                e.source_operator,
                e.target.id,
                e.input_index,
                e.partitioner_text,
                e.partitioner.key_type or "",
                e.side_output or "",
                e.exchange.name,
            )
            for e in job.edges
        ],
    )
    recorder.static(schema.CHANNELS, list(channel_rows(execution)))
    segment_bytes = job.graph.settings.segment_size_bytes
    recorder.static(schema.TASK_MANAGERS, task_manager_rows(execution.memory, execution.placement, segment_bytes))
    recorder.static(schema.POOLS, pool_rows(execution.memory))


def _recorded_params(params: Mapping[str, object], settings: JobSettings) -> dict[str, object]:
    """Returns the parameters for the recording.

    A function's own setting counts only if the job allows it (rule 9.18). An idle timeout is checked, and splits are
    merged, once per interval of the job (rules 8.4, 8.6).
    """
    recorded = {
        name: value for name, value in params.items() if name != "interruptible_timers" or settings.interruptible_timers
    }
    strategy = recorded.get("watermarks")
    if isinstance(strategy, Mapping) and ("idle_ms" in strategy or schema.PARAMS_OF_SPLITS & recorded.keys()):
        interval_ms = settings.auto_watermark_interval_ms
        recorded["watermarks"] = {**strategy, "auto_watermark_interval_ms": interval_ms}
    return recorded


def channel_rows(execution: ExecutionGraph) -> Iterator[tuple[int | str, ...]]:
    """Returns the rows of table ``channels``, by channel id."""
    share = execution.placement.share
    first_task: dict[int, int] = {}
    for subtask in execution.subtasks:
        first_task.setdefault(subtask.vertex.id, subtask.id)
    # The gates of one input are united in edge order: the channels of earlier edges come first.
    before: dict[tuple[int, int], list[int]] = {}
    for expansion in execution.expansions:
        edge = expansion.edge
        link = execution.links.get(edge.id)
        bytes_per_second = (link.bytes_per_second if link is not None else None) or 0
        first_source, first_target = first_task[edge.source.id], first_task[edge.target.id]
        counts = before.setdefault((edge.target.id, edge.input_index), [0] * edge.target.parallelism)
        input_channels: dict[tuple[int, int], int] = {}
        for target, count in enumerate(counts):
            inputs = expansion.input_count(target)
            for position in range(inputs):
                input_channels[target, expansion.input_at(target, position)[0]] = count + position
            counts[target] = count + inputs
        for source in range(edge.source.parallelism):
            first = expansion.first_channel_of(source)
            for subpartition in range(expansion.subpartitions(source)):
                target = expansion.target_of(source, subpartition)
                yield (
                    first + subpartition,
                    edge.id,
                    first_source + source,
                    subpartition,
                    first_target + target,
                    edge.input_index,
                    input_channels[target, source],
                    int(share(first_source + source, first_target + target)),
                    bytes_per_second,
                )
