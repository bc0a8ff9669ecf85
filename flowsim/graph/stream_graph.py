"""The logical graph that the DataStream API and scenarios build: operators and edges before chaining. Flink:
StreamGraph, StreamNode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum

from flowsim.graph.placement import TaskManagers
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.operators.stream_operator import KeySelector, StreamOperator


class ChainingStrategy(Enum):
    """Flink: ChainingStrategy (rule 1.8)."""

    ALWAYS = "ALWAYS"
    HEAD = "HEAD"
    NEVER = "NEVER"


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """The description of an operator for output and laws: a kind and a JSON object of parameters (table ``operators``)."""

    kind: str
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionerSpec:
    """The partitioner of an edge; every record writer builds its own instance from it (section 2).

    ``name`` is Flink's: FORWARD, REBALANCE, RESCALE, SHUFFLE, BROADCAST, GLOBAL, HASH, CUSTOM. HASH and CUSTOM need
    ``key_selector``, CUSTOM also ``partition``: a function of key and number of channels (rule 2.2).
    """

    name: str
    key_selector: KeySelector | None = None
    key_type: str | None = None
    partition: Callable[[object, int], int] | None = None


@dataclass(slots=True)
class StreamNode:
    """One operator of the logical graph. Flink: StreamNode."""

    id: int
    name: str
    operator_factory: Callable[[], StreamOperator]
    """Called once per subtask, without arguments, so that subtasks share nothing."""
    description: OperatorDescription
    parallelism: int
    max_parallelism: int | None = None
    """None: derived from the parallelism (rule 1.21)."""
    is_source: bool = False
    is_legacy_source: bool = False
    """The node is a source function, which runs on its own thread (rules 1.10, 5.40)."""
    yields: bool = False
    """The operator yields to the mailbox inside an element (rule 1.10). Flink: YieldingOperatorFactory."""
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    key_selector: KeySelector | None = None
    """The key selector of the (first) keyed input; the task sets the key context from it (rule 7.20)."""
    key_type: str | None = None
    cost_ns: int | None = None
    """Virtual cost per record; None: the job's default (1 us)."""
    buffer_timeout_ms: int | None = None
    """The buffer timeout of the node's output edges; 0: always flush, -1: never; None: the job's default."""
    key_selectors: tuple[KeySelector | None, ...] = ()
    """The key selector of every input, for an operator with several inputs."""


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Flink: StreamEdge. ``partitioner`` None: forward for equal parallelisms, else rebalance (rule 1.1)."""

    source_id: int
    target_id: int
    partitioner: PartitionerSpec | None = None
    side_output: str | None = None
    """Tag of the edge's side output; None: the main output."""
    input_index: int = 0
    exchange: ResultPartitionType | None = None
    """None: the job's default (rule 1.3)."""


@dataclass(frozen=True, slots=True)
class Link:
    """The network between two operators' subtasks on different task managers.

    ``source`` and ``target`` are operator names, None: any. ``bytes_per_second`` None: unlimited. Credits also take
    ``latency_ns``, in the other direction.
    """

    source: str | None = None
    target: str | None = None
    latency_ns: int = 0
    bytes_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class BufferDebloatSettings:
    """Settings of buffer debloating, with Flink's defaults (rules 6.22-6.24). Flink: BufferDebloatConfiguration."""

    period_ms: int = 200
    target_ms: int = 1000
    threshold_percent: int = 25
    samples: int = 20
    starting_bytes: int = 1024
    """Size of buffers before the first announcement."""
    minimum_bytes: int = 256
    """The smallest announced size; at most the segment size, which is the largest."""


@dataclass(slots=True)
class JobSettings:
    """Runtime settings of a job, with Flink's defaults (appendix B)."""

    parallelism: int = 1
    buffer_timeout_ms: int = 100
    segment_size_bytes: int = 32768
    network_buffers: int | None = None
    """Segments of each task manager; None: as many as its pools may request."""
    exclusive_buffers_per_channel: int = 2
    floating_buffers_per_gate: int = 8
    max_buffers_per_channel: int = 10
    overdraft_buffers: int = 20
    auto_watermark_interval_ms: int = 200
    operator_chaining: bool = True
    object_reuse: bool = False
    cost_ns: int = 1000
    """Default virtual cost of one record in one operator."""
    budget_records: int = 4096
    """A task ends its batch after about this many elements; 1 while exploring."""
    task_managers: TaskManagers = "each"
    """Channels between subtasks of one task manager are local and without credits (rule 6.18)."""
    exchange: ResultPartitionType = ResultPartitionType.PIPELINED_BOUNDED
    """The exchange mode of edges without their own (rule 1.3)."""
    links: tuple[Link, ...] = ()
    """The first matching link counts; an edge without a link has no latency and no limit."""
    buffer_debloat: BufferDebloatSettings | None = None
    """None: the buffer size is the segment size."""
    latency_interval_ms: int = 0
    """The interval of the sources' latency markers; 0: none (rule 8.20)."""
    watermark_alignment_buffer_size: int = 3
    """Samples of a source's watermark; the oldest one is compared with the alignment limit (rule 8.23)."""
    interruptible_timers: bool = False
    """Timers of operators that allow it yield to mails between two firings (rule 9.18)."""
    metrics_interval_ms: int = 5000
    """The sampling interval of every task's gauges in the recording; 0: none (section 13)."""


@dataclass(slots=True)
class StreamGraph:
    """Operators and edges in the order in which they were added. Flink: StreamGraph."""

    name: str = "flowsim job"
    settings: JobSettings = field(default_factory=JobSettings)
    nodes: dict[int, StreamNode] = field(default_factory=dict)
    edges: list[StreamEdge] = field(default_factory=list)

    def add_node(self, node: StreamNode) -> None:
        if node.id in self.nodes:
            raise ValueError(f"node {node.id} already exists")
        self.nodes[node.id] = node

    def add_edge(self, edge: StreamEdge) -> None:
        """Rule 1.2: raises ValueError for an explicit forward edge between unequal parallelisms."""
        source, target = self.nodes[edge.source_id], self.nodes[edge.target_id]
        forward = edge.partitioner is not None and edge.partitioner.name == "FORWARD"
        if forward and source.parallelism != target.parallelism:
            raise ValueError(
                f"forward from {source.name} (parallelism {source.parallelism}) to {target.name} "
                f"(parallelism {target.parallelism}): a forward edge needs equal parallelism"
            )
        self.edges.append(edge)
