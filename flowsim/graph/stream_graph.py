"""The logical graph that the DataStream API and scenarios build: operators and edges before chaining. Flink:
StreamGraph, StreamNode.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, Literal

from flowsim.graph.job_settings import JobSettings
from flowsim.graph.operator_cost import OperatorCosts, Pause
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.operators.sources.split_enumerator import EnumeratorFactory
from flowsim.operators.stream_operator import KeySelector, StreamOperator
from flowsim.state.state_ttl_config import StateTtlConfig

DEFAULT_SLOT_SHARING_GROUP: Final = "default"

RunCheck = Callable[[Literal["virtual", "real"]], None]
RestoreCheck = Callable[[str, Sequence[object]], None]


class ChainingStrategy(Enum):
    """The chaining of an operator to its neighbours. Flink: ChainingStrategy (rule 1.8)."""

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
    """The description of an edge's partitioner; every record writer creates its own partitioner (section 2).

    ``name`` is Flink's: FORWARD, REBALANCE, RESCALE, SHUFFLE, BROADCAST, GLOBAL, HASH, CUSTOM. HASH and CUSTOM need
    ``key_selector``, CUSTOM also ``partition``: a function of key and number of channels (rule 2.2).
    """

    name: str
    key_selector: KeySelector | None = None
    key_type: str | None = None
    partition: Callable[[object, int], int] | None = None


@dataclass(frozen=True, slots=True)
class BatchInputs:
    """How an operator reads its inputs in BATCH mode. Flink: StreamConfig.InputRequirement."""

    key_selectors: tuple[KeySelector | None, ...]
    """By input: its records are sorted by this key; None: they pass through."""
    read_first: tuple[int, ...] = ()
    """The inputs that pass through and are read to their end before the others."""


@dataclass(frozen=True, slots=True)
class TwoPhaseCommit:
    """The operators of a sink that writes first and commits later. Flink: SupportsCommitter."""

    writer_factory: Callable[[], StreamOperator]
    """Creates the operator of the sink's node, which sends committables."""
    committer_factory: Callable[[], StreamOperator]
    global_committer_factory: Callable[[], StreamOperator] | None = None
    """Creates the operator that commits for all writers, in one subtask; None: the committers do it."""
    needs_checkpoints: bool = False
    """True if the operator of the node's own factory writes without committer, in a job without checkpoints."""


@dataclass(slots=True)
class StreamNode:
    """One operator of the logical graph. Flink: StreamNode."""

    id: int
    name: str
    operator_factory: Callable[[], StreamOperator]
    """Creates an operator without arguments; called once per subtask, so that subtasks share nothing."""
    description: OperatorDescription
    parallelism: int
    on_operator: Callable[[int, StreamOperator], None] | None = None
    """Called with the index of each subtask and its operator, before it is set up; None: no one observes them."""
    max_parallelism: int | None = None
    """Number of key groups; None: derived from the parallelism (rule 1.21)."""
    is_source: bool = False
    source: object = None
    """The source as the user gave it, for messages."""
    is_legacy_source: bool = False
    """True if the node is a source function, which runs on its own thread (rules 1.10, 5.40)."""
    yields: bool = False
    """True if the operator yields to the mailbox inside an element (rule 1.10). Flink: YieldingOperatorFactory."""
    chaining: ChainingStrategy = ChainingStrategy.ALWAYS
    slot_sharing_group: str = DEFAULT_SLOT_SHARING_GROUP
    """Operators of different groups are not chained (rule 1.24)."""
    key_selector: KeySelector | None = None
    """The key selector of the (first) keyed input; the task uses it to set the current key (rule 7.20)."""
    key_type: str | None = None
    cost_ns: int | None = None
    """Virtual cost per record in ns; None: the job's default (1 us)."""
    costs: OperatorCosts = field(default_factory=OperatorCosts)
    """The costs that differ from it."""
    pauses: tuple[Pause, ...] = ()
    """The times in which its subtasks stand still."""
    buffer_timeout_ms: int | None = None
    """The buffer timeout of the node's output edges; 0: always flush, -1: never; None: the job's default."""
    key_selectors: tuple[KeySelector | None, ...] = ()
    """The key selector of every input, for an operator with several inputs."""
    batch_inputs: BatchInputs | None = None
    """How the operator reads its inputs in BATCH mode; None: as they come."""
    state_ttl: StateTtlConfig | None = None
    """The time to live of the function's keyed states that have none of their own."""
    job_parameters: Mapping[str, str] = field(default_factory=dict)
    """The global parameters of the job, for the functions of the operator."""
    change: Callable[[object], object] | None = None
    """What the declared type of the output makes of each value; None: the values stay as they are."""
    uid: str | None = None
    """The id that the user gave the operator."""
    enumerator_factory: EnumeratorFactory[object] | None = None
    """Makes the enumerator of a source whose splits are assigned while the job runs, by a coordinator of the operator."""
    two_phase_commit: TwoPhaseCommit | None = None
    """The operators of a sink with committer, which ``with_committers`` adds."""
    check_run: RunCheck | None = None
    """Raises BadInput if the operator cannot run, on this clock; None: it always can."""
    check_restore: RestoreCheck | None = None
    """Raises BadInput if an operator of this name cannot continue with these states; None: it always can."""

    @property
    def uid_or_position(self) -> str:
        """The uid, or a text of the position in the graph, which no parallelism changes."""
        return self.uid if self.uid is not None else f"operator-{self.id}"


@dataclass(frozen=True, slots=True)
class StreamEdge:
    """An edge of the logical graph. Flink: StreamEdge.

    ``partitioner`` None: forward for equal parallelisms, else rebalance (rule 1.1).
    """

    source_id: int
    target_id: int
    partitioner: PartitionerSpec | None = None
    side_output: str | None = None
    """Tag of the edge's side output; None: the main output."""
    input_index: int = 0
    exchange: ResultPartitionType | None = None
    """The exchange mode; None: the job's default (rule 1.3)."""


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
        """Adds an edge; raises ValueError for an explicit forward edge between unequal parallelisms (rule 1.2)."""
        source, target = self.nodes[edge.source_id], self.nodes[edge.target_id]
        forward = edge.partitioner is not None and edge.partitioner.name == "FORWARD"
        if forward and source.parallelism != target.parallelism:
            raise ValueError(
                f"forward from {source.name} (parallelism {source.parallelism}) to {target.name} "
                f"(parallelism {target.parallelism}): a forward edge needs equal parallelism"
            )
        self.edges.append(edge)

    def check_run(self, clock: Literal["virtual", "real"]) -> None:
        """Raises BadInput if an operator cannot run, on this clock."""
        for node in self.nodes.values():
            if node.check_run is not None:
                node.check_run(clock)
