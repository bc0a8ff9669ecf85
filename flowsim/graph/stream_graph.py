"""The logical graph that both front ends build: operators and edges, before chaining. Flink: StreamGraph, StreamNode."""

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
    """What people and laws are told of an operator: a kind and a JSON-able object of parameters (table ``operators``)."""

    kind: str
    params: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PartitionerSpec:
    """How an edge chooses channels; every record writer builds its own partitioner from it (section 2).

    ``name`` is Flink's: FORWARD, REBALANCE, RESCALE, SHUFFLE, BROADCAST, GLOBAL, HASH, CUSTOM. HASH and
    CUSTOM need ``key_selector``, CUSTOM also ``partition``: a function of key and number of channels (rule 2.2).
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
    """Called once per subtask (with no argument), so that subtasks share nothing."""
    description: OperatorDescription
    parallelism: int
    max_parallelism: int | None = None
    """None: derived from the parallelism (rule 1.21)."""
    is_source: bool = False
    is_legacy_source: bool = False
    """Of a source function, which runs on a thread of its own (rules 1.10, 5.40)."""
    yields: bool = False
    """Of an operator that yields to the mailbox inside an element (rule 1.10). Flink: YieldingOperatorFactory."""
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    key_selector: KeySelector | None = None
    """Of the keyed input, the first where there are several; the task sets the key context from it (rule 7.20)."""
    key_type: str | None = None
    cost_ns: int | None = None
    """Virtual cost per record; None: the job's default (1 us)."""
    buffer_timeout_ms: int | None = None
    """Of the node's output edges; 0 flushes always, -1 never; None: the job's default."""
    key_selectors: tuple[KeySelector | None, ...] = ()
    """Of every input, for an operator with several."""


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """Flink: StreamEdge. ``partitioner`` None: forward when parallelisms agree, else rebalance (rule 1.1)."""

    source_id: int
    target_id: int
    partitioner: PartitionerSpec | None = None
    side_output: str | None = None
    """Tag of the side output that the edge carries; None: the main output."""
    input_index: int = 0
    exchange: ResultPartitionType | None = None
    """None: the job's default (rule 1.3)."""


@dataclass(frozen=True, slots=True)
class Link:
    """What the network does between two operators' subtasks that are on different task managers.

    ``source`` and ``target`` are operator names, None: any. ``bytes_per_second`` None: unlimited. Credits, too, take
    ``latency_ns`` on their way back.
    """

    source: str | None = None
    target: str | None = None
    latency_ns: int = 0
    bytes_per_second: int | None = None


@dataclass(frozen=True, slots=True)
class BufferDebloatSettings:
    """How buffers are debloated, with Flink's defaults (rules 6.22-6.24). Flink: BufferDebloatConfiguration."""

    period_ms: int = 200
    target_ms: int = 1000
    threshold_percent: int = 25
    samples: int = 20
    starting_bytes: int = 1024
    """Size of buffers before the first announcement."""
    minimum_bytes: int = 256
    """The least size that is announced; never above the segment size, which is the most."""


@dataclass(slots=True)
class JobSettings:
    """Runtime settings of a job, with Flink's defaults (appendix B)."""

    parallelism: int = 1
    buffer_timeout_ms: int = 100
    segment_size_bytes: int = 32768
    network_buffers: int | None = None
    """Segments of each task manager; None: as many as its pools may ask for."""
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
    """A task gives way after about this many elements in one batch; 1 while exploring."""
    task_managers: TaskManagers = "each"
    """Channels between subtasks of one task manager are local and without credits (rule 6.18)."""
    exchange: ResultPartitionType = ResultPartitionType.PIPELINED_BOUNDED
    """Of edges that do not say their own (rule 1.3)."""
    links: tuple[Link, ...] = ()
    """The first that fits an edge counts; an edge that none fits has no latency and no limit."""
    buffer_debloat: BufferDebloatSettings | None = None
    """None: buffers are as large as segments."""
    latency_interval_ms: int = 0
    """Sources emit a latency marker every so often; 0: never (rule 8.20)."""
    watermark_alignment_buffer_size: int = 3
    """Samples of its own watermark that a source compares the oldest of with what alignment allows (rule 8.23)."""
    interruptible_timers: bool = False
    """Timers of operators that allow it give way to mails between two firings (rule 9.18)."""
    metrics_interval_ms: int = 5000
    """How often the gauges of every task are sampled into the recording; 0: never (section 13)."""


@dataclass(slots=True)
class StreamGraph:
    """Operators and edges in the order in which they were added. Flink: StreamGraph."""

    name: str = "flowsim job"
    settings: JobSettings = field(default_factory=JobSettings)
    nodes: dict[int, StreamNode] = field(default_factory=dict)
    edges: list[StreamEdge] = field(default_factory=list)

    def add_node(self, node: StreamNode) -> None:
        if node.id in self.nodes:
            raise ValueError(f"node {node.id} exists already")
        self.nodes[node.id] = node

    def add_edge(self, edge: StreamEdge) -> None:
        """Rule 1.2: an explicit forward edge between unequal parallelisms is refused here."""
        source, target = self.nodes[edge.source_id], self.nodes[edge.target_id]
        forward = edge.partitioner is not None and edge.partitioner.name == "FORWARD"
        if forward and source.parallelism != target.parallelism:
            raise ValueError(
                f"forward from {source.name} (parallelism {source.parallelism}) to {target.name} "
                f"(parallelism {target.parallelism}): a forward edge needs equal parallelism"
            )
        self.edges.append(edge)
