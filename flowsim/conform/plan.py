"""The plan of a job: its operators and edges as JSON, from which the interpreter builds it on Flink."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, Final, cast

from flowsim.conform.flink_contexts import FlinkSide
from flowsim.conform.functions import FunctionFactory
from flowsim.conform.operators import built
from flowsim.conform.unsupported import Unsupported
from flowsim.conform.watermarks import described_strategy
from flowsim.graph.execution_graph import ExecutionGraph, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.stream_graph import DEFAULT_SLOT_SHARING_GROUP, StreamEdge, StreamGraph, StreamNode
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.operators.stream_operator import OperatorContext, StreamOperator
from flowsim.sim.rng import RandomStreams
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.task_clock import TaskClock

PLAN_VERSION: Final = 1
"""The version of the format, key ``flowsim_plan``."""


class _KeyCalls:
    """The key selector of an edge, for Java."""

    def __init__(self, side: FlinkSide, selector: Callable[[Any], object], key_type: str | None) -> None:
        self._side = side
        self._selector = selector
        self._key_type = key_type

    def key(self, record: int, *_: object) -> str:
        return self._side.keys.text(self._selector(self._side.values.value(record)), self._key_type)


class _PartitionCalls:
    """The partitioner of the user, for Java."""

    def __init__(self, side: FlinkSide, partition: Callable[[object, int], int]) -> None:
        self._side = side
        self._partition = partition

    def partition(self, channels: int, _: int, key: str) -> str:
        return str(self._partition(self._side.keys.key(key), channels))


class Plan:
    """Describes a graph; functions of the user get numbers, by which Java calls them.

    Raises Unsupported for a part of the job that Flink cannot run, or that the interpreter cannot build.
    """

    def __init__(self, graph: StreamGraph, side: FlinkSide, seed: int = 0) -> None:
        self.graph = graph
        self._side = side
        self._seed = seed
        self.execution: ExecutionGraph = create_execution_graph(create_job_graph(graph))
        self._places = {
            operator.node.id: (vertex.id, operator.index)
            for vertex in self.execution.job.vertices
            for operator in vertex.operators
        }

    def data(self) -> dict[str, object]:
        """Returns the plan as JSON values, without the section ``run``."""
        self._check_exchange(self.graph.settings.exchange)
        return {
            "flowsim_plan": PLAN_VERSION,
            "name": self.graph.name,
            "nodes": [self._node(node) for node in self.graph.nodes.values()],
        }

    def head_of(self, name: str) -> StreamNode:
        """Returns the first operator of the chain with this operator, or of the vertex with this name."""
        for vertex in self.execution.job.vertices:
            if vertex.name == name or any(operator.node.name == name for operator in vertex.operators):
                return vertex.operators[0].node
        raise Unsupported(f"there is no operator {name!r}")

    def _node(self, node: StreamNode) -> dict[str, object]:
        operator = node.operator_factory()
        edges = [edge for edge in self.graph.edges if edge.target_id == node.id]
        return {
            "id": node.id,
            "name": node.name,
            "uid": node.uid,
            "kind": node.description.kind,
            "params": dict(node.description.params),
            "parallelism": node.parallelism,
            "max_parallelism": node.max_parallelism,
            "chaining": node.chaining.name,
            "slot_sharing_group": None
            if node.slot_sharing_group == DEFAULT_SLOT_SHARING_GROUP
            else node.slot_sharing_group,
            "key_type": node.key_type,
            "inputs": [self._edge(edge) for edge in edges],
            "operator": self._source(node, operator) if node.is_source else self._operator(node, operator),
        }

    def _check_exchange(self, exchange: ResultPartitionType | None) -> None:
        if exchange is ResultPartitionType.BLOCKING:
            raise Unsupported(f"exchange {exchange}: only pipelined exchanges have a time that can be conducted")

    def _edge(self, edge: StreamEdge) -> dict[str, object]:
        self._check_exchange(edge.exchange)
        spec = edge.partitioner
        described: dict[str, object] = {
            "node": edge.source_id,
            "input": edge.input_index,
            "side_output": edge.side_output,
            "partitioner": None if spec is None else spec.name,
        }
        if spec is not None and spec.key_selector is not None:
            described["key"] = self._key(spec.key_selector, spec.key_type)
        if spec is not None and spec.partition is not None:
            described["partition"] = self._side.objects.add(_PartitionCalls(self._side, spec.partition))
        return described

    def _source(self, node: StreamNode, operator: Any) -> dict[str, object]:
        strategy = getattr(operator, "strategy", None)
        described: dict[str, object] = {
            "kind": "source",
            "legacy": node.is_legacy_source,
            "watermarks": {"kind": "none"},
        }
        if strategy is not None:
            described["watermarks"] = described_strategy(self._side, strategy)
        return described

    def _operator(self, node: StreamNode, operator: StreamOperator) -> dict[str, object]:
        known = built(node, operator)
        try:
            described = {} if known.describe is None else known.describe(self._side, node, operator)
        except Unsupported as refused:
            raise Unsupported(f"operator {node.name!r}: {refused}") from None
        described["kind"] = known.kind
        if known.kind == "sink":
            checkpointing = self.graph.settings.checkpointing
            described["commits"] = node.two_phase_commit is not None and checkpointing is not None
            described["final_checkpoint"] = checkpointing is not None and checkpointing.is_enabled
        if known.kind == "window" and node.description.params.get("all"):
            described["kind"] = "window_all"
        if known.called is not None:
            tags = [each for edge in self.graph.edges if edge.source_id == node.id and (each := edge.side_output)]
            described["tags"] = tags
            described["function"] = self._side.objects.add(
                FunctionFactory(
                    self._side, node.operator_factory, self._context_of(node), cast(Any, known.called), tags
                )
            )
        selectors = node.key_selectors or ((node.key_selector,) if node.key_selector is not None else ())
        described["keys"] = [None if each is None else self._key(each, node.key_type) for each in selectors]
        return described

    def _key(self, selector: Callable[[Any], object], key_type: str | None) -> int:
        return self._side.objects.add(_KeyCalls(self._side, selector, key_type))

    def _context_of(self, node: StreamNode) -> Callable[[int, int, int, int], OperatorContext]:
        """Returns what creates contexts with the random numbers that the simulated operator has."""
        vertex, index = self._places[node.id]
        streams = RandomStreams(self._seed)

        def create(subtask: int, attempt: int, parallelism: int, max_parallelism: int) -> OperatorContext:
            random: Random = streams.stream("operator", vertex, index, subtask)
            nothing = cast(Any, None)
            return OperatorContext(
                operator_name=node.name,
                operator_index=index,
                task_name=f"{node.name} ({subtask + 1}/{parallelism})",
                subtask_index=subtask,
                parallelism=parallelism,
                max_parallelism=max_parallelism,
                key_group_range=KeyGroupRange(0, max_parallelism - 1),
                key_selector=node.key_selector,
                key_type=node.key_type,
                clock=TaskClock(0),
                processing_time=nothing,
                mailbox_executor=nothing,
                random=random,
                cost_ns=0,
                trace=None,
                attempt_number=attempt,
                run_seed=self._seed,
            )

        return create
