"""What the subtasks of a job saw: the records, watermarks and statuses that came to each operator, in order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Literal, NamedTuple

from flowsim.cluster.components import Components, SubtaskComponents
from flowsim.errors import BadInput
from flowsim.graph.edge_expansion import Subtask
from flowsim.graph.execution_graph import ExecutionGraph
from flowsim.graph.job_graph import ChainedOperator
from flowsim.graph.stream_graph import PartitionerSpec, StreamGraph, StreamNode
from flowsim.network.writers.partitioner import RebalancePartitioner, StreamPartitioner
from flowsim.operators.stream_operator import OperatorContext, OperatorInput
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.values.record_text import value_text

Kind = Literal["record", "watermark", "status"]
Content = tuple[Kind, int, str, int | None]
"""Kind, input, value and timestamp of an element."""


class SeenElement(NamedTuple):
    """One element that came to an operator."""

    attempt: int
    time_ns: int
    """The time of the job's clock in ns."""
    kind: Kind
    input: int
    """The index of the input."""
    value: str
    """A record as JSON, a watermark in ms, or ACTIVE or IDLE."""
    timestamp: int | None
    """The timestamp of a record in ms; None without one, and for other elements."""
    key: str | None = None
    """The key of a record as JSON, if the input is keyed."""

    @property
    def content(self) -> Content:
        """The element without its time and attempt."""
        return self.kind, self.input, self.value, self.timestamp

    def __str__(self) -> str:
        at = "" if self.timestamp is None else f" @ {self.timestamp}"
        side = f" input {self.input}" if self.input else ""
        return f"{self.kind}{side} {self.value}{at}"


@dataclass(frozen=True)
class Answer:
    """What a job did, on either side."""

    status: str
    """finished, failed, canceled, stopped or running."""
    seen: Mapping[str, Sequence[SeenElement]] = field(default_factory=dict)
    """By the operator's name and subtask, as in ``words/0``."""
    cause: str | None = None
    """Class and message of the error that ended the job."""
    task: str | None = None
    """The task that failed."""
    checkpoints: Sequence[str] = ()
    """Number and kind of each completed checkpoint and savepoint, as in ``3 checkpoint``, by number."""
    commits: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The values of each commit as JSON, by the name of the sink."""
    snapshot: str | None = None
    """Where the last savepoint or retained checkpoint is."""


def key_text(node: StreamNode, index: int, value: object) -> str | None:
    """Returns the key of a record that comes to an input, as JSON; None if the input has no keys, or none of its kind."""
    selectors = node.key_selectors or (node.key_selector,)
    selector = selectors[index] if index < len(selectors) else None
    if selector is None:
        return None
    try:
        return value_text(selector(value))
    except Exception:
        return None  # The operator itself reports it.


def labels_of(graph: StreamGraph) -> dict[int, str]:
    """Returns the name of each node in answers, by its id: that of the operator, with the id if several have the name."""
    names = Counter(node.name for node in graph.nodes.values())
    return {node.id: node.name if names[node.name] == 1 else f"{node.name} #{node.id}" for node in graph.nodes.values()}


class FirstChannels(Components):
    """Lets rebalances begin with the first channel, as on Flink here."""

    def of_subtasks(self, execution: ExecutionGraph) -> list[SubtaskComponents]:
        return [_FirstChannel(subtask) for subtask in execution.subtasks]


class _FirstChannel(SubtaskComponents):
    def create_partitioner(
        self, spec: PartitionerSpec, channels: int, max_parallelism: int, random: Random
    ) -> StreamPartitioner:
        """Creates a partitioner; one in turn begins with the first channel."""
        partitioner = super().create_partitioner(spec, channels, max_parallelism, random)
        if isinstance(partitioner, RebalancePartitioner):
            partitioner._last = channels - 1
        return partitioner


class SeenComponents(Components):
    """Notes what comes to every operator of a simulated job; fails the job at more than ``limit`` elements."""

    __slots__ = ("seen", "labels", "_left", "is_full")

    def __init__(self, graph: StreamGraph, limit: int) -> None:
        self.labels = labels_of(graph)
        self.seen: dict[str, list[SeenElement]] = {}
        self._left = limit
        self.is_full = False

    def of_subtasks(self, execution: ExecutionGraph) -> list[SubtaskComponents]:
        return [_SeenSubtask(subtask, self) for subtask in execution.subtasks]

    def count(self) -> None:
        """Counts an element."""
        self._left -= 1
        if self._left < 0:
            self.is_full = True
            raise BadInput("the job has too many elements to be compared")


class _SeenSubtask(_FirstChannel):
    __slots__ = ("_all",)

    def __init__(self, subtask: Subtask, components: SeenComponents) -> None:
        super().__init__(subtask)
        self._all = components

    def observe_operator(
        self, chained: ChainedOperator, context: OperatorContext
    ) -> Callable[[OperatorInput, int], OperatorInput] | None:
        if chained.node.description.kind == "committer":
            return None
        place = f"{self._all.labels[chained.node.id]}/{self.subtask.index}"
        elements, count = self._all.seen.setdefault(place, []), self._all.count
        return lambda operator_input, index: _SeenInput(operator_input, index, context, elements, chained.node, count)


class _SeenInput(OperatorInput):
    """Notes each element before the operator gets it."""

    __slots__ = ("_input", "_index", "_context", "_elements", "_node", "_count")

    def __init__(
        self,
        operator_input: OperatorInput,
        index: int,
        context: OperatorContext,
        elements: list[SeenElement],
        node: StreamNode,
        count: Callable[[], None],
    ) -> None:
        self._input = operator_input
        self._index = index
        self._context = context
        self._elements = elements
        self._node = node
        self._count = count

    def process_element(self, value: object, timestamp: int | None) -> None:
        self._note("record", value_text(value), timestamp, key_text(self._node, self._index, value))
        self._input.process_element(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self._note("watermark", str(timestamp), None)
        self._input.process_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self._note("status", status.name, None)
        self._input.process_watermark_status(status)

    def process_latency_marker(self, marker: LatencyMarker) -> None:
        self._input.process_latency_marker(marker)

    def _note(self, kind: Kind, value: str, timestamp: int | None, key: str | None = None) -> None:
        context = self._context
        self._count()
        self._elements.append(
            SeenElement(context.attempt_number, context.clock.now_ns, kind, self._index, value, timestamp, key)
        )
