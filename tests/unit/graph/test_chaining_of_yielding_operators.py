"""Where an operator that yields inside an element may be chained (rules 1.10, 1.12)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from flowsim.connectors.memory import CollectionSource
from flowsim.datastream import AsyncDataStream, AsyncFunction, DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.stream_graph import (
    ChainingStrategy,
    OperatorDescription,
    PartitionerSpec,
    StreamEdge,
    StreamGraph,
    StreamNode,
)
from flowsim.legacy.source_function import LegacySource
from flowsim.operators.functions.basic import MapOperator


def node(number: int, **settings: object) -> StreamNode:
    made = StreamNode(
        number, f"op{number}", lambda: MapOperator(lambda v: v), OperatorDescription("map"), 1, is_source=number == 1
    )
    return replace(made, **settings)  # type: ignore[arg-type]


def chains(nodes: list[StreamNode], *more: StreamEdge) -> list[str]:
    """Of nodes in one line, with further edges."""
    graph = StreamGraph()
    for each in nodes:
        graph.add_node(each)
    fed = {edge.target_id for edge in more}
    for source, target in pairwise(nodes):
        if target.id not in fed and not target.is_source:
            graph.add_edge(StreamEdge(source.id, target.id))
    for edge in more:
        graph.add_edge(edge)
    return [vertex.name for vertex in create_job_graph(graph).vertices]


LEGACY = node(1, is_legacy_source=True)


def test_yielding_operator_is_chained_behind_new_source() -> None:
    assert chains([node(1), node(2, yields=True), node(3)]) == ["op1 -> op2 -> op3"]


def test_yielding_operator_is_not_chained_to_legacy_source() -> None:
    assert chains([LEGACY, node(2, yields=True), node(3)]) == ["op1", "op2 -> op3"]


def test_yielding_operator_is_not_chained_to_chain_of_legacy_source() -> None:
    assert chains([LEGACY, node(2), node(3), node(4, yields=True), node(5)]) == ["op1 -> op2 -> op3", "op4 -> op5"]


def test_second_yielding_operator_is_chained_behind_the_first() -> None:
    """The chain that the first one heads has no thread of a source function in it."""
    assert chains([LEGACY, node(2, yields=True), node(3), node(4, yields=True)]) == ["op1", "op2 -> op3 -> op4"]


@pytest.mark.parametrize(
    ("second", "edge"),
    [
        pytest.param(node(2, chaining=ChainingStrategy.HEAD), None, id="an operator that begins a chain"),
        pytest.param(node(2), StreamEdge(1, 2, PartitionerSpec("REBALANCE")), id="an exchange"),
    ],
)
def test_broken_chain_of_legacy_source_allows_chaining(second: StreamNode, edge: StreamEdge | None) -> None:
    more = [] if edge is None else [edge]
    assert chains([LEGACY, second, node(3, yields=True)], *more) == ["op1", "op2 -> op3"]


def test_yielding_operator_is_chained_behind_union_of_legacy_sources() -> None:
    """Which begins a chain of its own (rule 1.5)."""
    nodes = [LEGACY, node(2, is_source=True, is_legacy_source=True), node(3), node(4, yields=True)]
    assert chains(nodes, StreamEdge(1, 3), StreamEdge(2, 3)) == ["op1", "op2", "op3 -> op4"]


def test_other_operators_stay_chained_to_legacy_source() -> None:
    nodes = [LEGACY, node(2), node(3, yields=True), node(4)]
    assert chains(nodes, StreamEdge(2, 3), StreamEdge(2, 4)) == ["op1 -> op2 -> op4", "op3"]


class Same(AsyncFunction):
    async def async_invoke(self, value: object) -> list[object]:
        return [value]


def enriched(stream: DataStream) -> DataStream:
    return AsyncDataStream.unordered_wait(stream, Same(), Duration.of_seconds(1))


def chains_of(env: StreamExecutionEnvironment) -> list[str]:
    return [vertex.name for vertex in create_job_graph(env.stream_graph()).vertices]


def test_async_operator_has_chaining_strategy_always_or_head() -> None:
    """Rule 1.12."""
    env = StreamExecutionEnvironment.get_execution_environment()
    enriched(env.from_collection([1])).map(lambda v: v).print()
    always = chains_of(env)
    env = StreamExecutionEnvironment.get_execution_environment()
    enriched(env.from_collection([1])).start_new_chain().map(lambda v: v).print()
    head = chains_of(env)
    assert always == ["Source: Collection Source -> async wait operator -> Map -> Sink: Print to Std. Out"]
    assert head == ["Source: Collection Source", "async wait operator -> Map -> Sink: Print to Std. Out"]


def test_custom_operator_may_declare_that_it_yields() -> None:
    def chains_with(**yields: bool) -> list[str]:
        env = StreamExecutionEnvironment.get_execution_environment()
        numbers = env.add_source(LegacySource(CollectionSource([1])), "n")
        numbers.transform("own", lambda: MapOperator(lambda v: v), **yields).print()
        return chains_of(env)

    assert chains_with() == ["Source: n -> own -> Sink: Print to Std. Out"]
    assert chains_with(yields=True) == ["Source: n", "own -> Sink: Print to Std. Out"]


def test_async_operator_is_not_chained_behind_legacy_source() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.add_source(LegacySource(CollectionSource([1])))
    enriched(numbers.map(lambda v: v)).print()
    assert chains_of(env) == ["Source: Custom Source -> Map", "async wait operator -> Sink: Print to Std. Out"]
