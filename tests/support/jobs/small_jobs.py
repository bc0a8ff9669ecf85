"""Jobs built operator by operator, below the DataStream API, with sinks that record subtask and time of each arrival."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.script import Entry, ScriptedSource
from flowsim.connectors.source import BlockReader
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.stream_graph import (
    ChainingStrategy,
    OperatorDescription,
    PartitionerSpec,
    StreamEdge,
    StreamGraph,
    StreamNode,
)
from flowsim.operators.functions.basic import FlatMapOperator, MapOperator
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.sim.virtual_time_loop import START_NS
from flowsim.streamrecord.elements import WatermarkStatus

Value = object


@dataclass(frozen=True)
class Arrival:
    """A record at a sink. ``at_ns``: virtual time since the job started, when its processing began."""

    subtask: int
    value: Value
    timestamp: int | None
    at_ns: int


@dataclass
class Arrivals:
    """What one sink saw, over all its subtasks."""

    records: list[Arrival] = field(default_factory=list)
    watermarks: list[tuple[int, int]] = field(default_factory=list)
    """(subtask, timestamp)"""

    @property
    def values(self) -> list[Value]:
        return [arrival.value for arrival in self.records]

    def of(self, subtask: int) -> list[Value]:
        return [arrival.value for arrival in self.records if arrival.subtask == subtask]


class NotingSink(StreamOperator):
    """Notes every element."""

    def __init__(self, arrivals: Arrivals) -> None:
        self.arrivals = arrivals

    def process_element(self, value: Value, timestamp: int | None) -> None:
        at_ns = self.clock.now_ns - START_NS
        self.clock.now_ns += self.cost_ns
        self.records_in += 1
        self.arrivals.records.append(Arrival(self.ctx.subtask_index, value, timestamp, at_ns))

    def process_watermark(self, timestamp: int) -> None:
        self.arrivals.watermarks.append((self.ctx.subtask_index, timestamp))

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.output.emit_watermark_status(status)


class SmallJob:
    """Builds a graph; each method returns the id of the operator it adds."""

    def __init__(self, **settings: object) -> None:
        self.graph = StreamGraph(settings=JobSettings(**settings))  # type: ignore[arg-type]

    def source(self, make: Callable[[], StreamOperator], parallelism: int = 1, **settings: object) -> int:
        return self._add("source", "source", make, parallelism, is_source=True, **settings)

    def values(self, values: Callable[[int], Iterable[Value]], parallelism: int = 1, **settings: object) -> int:
        """A source whose subtask ``i`` reads ``values(i)``."""

        def make() -> StreamOperator:
            return SourceOperator(BlockReader(lambda ctx: iter((values(ctx.subtask_index),))))

        return self.source(make, parallelism, **settings)

    def script(self, *scripts: Sequence[Entry]) -> int:
        played = ScriptedSource(*scripts)
        return self.source(lambda: SourceOperator(played.create_reader()), len(scripts))

    def map(self, before: int, function: Callable[[Value], Value], **settings: object) -> int:
        return self.operator(before, "map", "map", lambda: MapOperator(function), **settings)

    def flat_map(self, before: int, function: Callable[[Value], Iterable[Value]], **settings: object) -> int:
        return self.operator(before, "flat_map", "flat_map", lambda: FlatMapOperator(function), **settings)

    def sink(self, before: int | Sequence[int], name: str = "sink", **settings: object) -> Arrivals:
        arrivals = Arrivals()
        self.operator(before, name, "sink", lambda: NotingSink(arrivals), **settings)
        return arrivals

    def operator(
        self,
        before: int | Sequence[int],
        name: str,
        kind: str,
        make: Callable[[], StreamOperator],
        *,
        by: str | PartitionerSpec | None = None,
        parallelism: int = 1,
        chain: bool = True,
        side_output: str | None = None,
        **settings: object,
    ) -> int:
        chaining = ChainingStrategy.ALWAYS if chain else ChainingStrategy.HEAD
        added = self._add(name, kind, make, parallelism, chaining=chaining, **settings)
        partitioner = PartitionerSpec(by) if isinstance(by, str) else by
        for source in [before] if isinstance(before, int) else before:
            self.graph.add_edge(StreamEdge(source, added, partitioner, side_output))
        return added

    def inputs(
        self,
        before: Sequence[int | Sequence[int]],
        make: Callable[[], StreamOperator],
        name: str = "inputs",
        *,
        by: str | PartitionerSpec | None = None,
        parallelism: int = 1,
        **settings: object,
    ) -> int:
        """An operator with one input per entry; several ids in one entry are united."""
        added = self._add(name, "multiple_input", make, parallelism, **settings)
        partitioner = PartitionerSpec(by) if isinstance(by, str) else by
        for index, sources in enumerate(before):
            for source in [sources] if isinstance(sources, int) else sources:
                self.graph.add_edge(StreamEdge(source, added, partitioner, None, index))
        return added

    def _add(
        self, name: str, kind: str, make: Callable[[], StreamOperator], parallelism: int, **settings: object
    ) -> int:
        number = len(self.graph.nodes) + 1
        made = StreamNode(number, name, make, OperatorDescription(kind), parallelism, **settings)  # type: ignore[arg-type]
        self.graph.add_node(made)
        return number

    def cluster(self, faults: Iterable[Fault] = (), **options: object) -> MiniCluster:
        return MiniCluster(self.graph, with_faults(RunOptions(**options), faults))  # type: ignore[arg-type]

    def run(self, faults: Iterable[Fault] = (), **options: object) -> JobExecutionResult:
        return self.cluster(faults, **options).run()


def by_key(selector: Callable[[Value], Value], key_type: str = "STRING") -> PartitionerSpec:
    return PartitionerSpec("HASH", selector, key_type)
