"""Chaining of operators, and refused job graphs (rules 1.1-1.13)."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flowsim.errors import BadInput
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.stream_graph import (
    ChainingStrategy,
    OperatorDescription,
    PartitionerSpec,
    StreamEdge,
    StreamGraph,
    StreamNode,
)
from flowsim.operators.functions.basic import MapOperator

FORWARD, REBALANCE = PartitionerSpec("FORWARD"), PartitionerSpec("REBALANCE")


def node(number: int, parallelism: int = 1, **settings: object) -> StreamNode:
    made = StreamNode(
        number, f"op{number}", lambda: MapOperator(lambda v: v), OperatorDescription("map"), parallelism,
        is_source=number == 1,
    )  # fmt: skip
    return replace(made, **settings)  # type: ignore[arg-type]


def graph_of(nodes: list[StreamNode], edges: list[StreamEdge], **settings: object) -> StreamGraph:
    graph = StreamGraph(settings=JobSettings(**settings))  # type: ignore[arg-type]
    for each in nodes:
        graph.add_node(each)
    for edge in edges:
        graph.add_edge(edge)
    return graph


def chains(graph: StreamGraph) -> list[str]:
    return [vertex.name for vertex in create_job_graph(graph).vertices]


def test_operators_of_equal_parallelism_are_chained() -> None:
    graph = graph_of([node(1, 2), node(2, 2), node(3, 2)], [StreamEdge(1, 2), StreamEdge(2, 3, FORWARD)])
    assert chains(graph) == ["op1 -> op2 -> op3"]


@pytest.mark.parametrize(
    ("second", "edge", "settings"),
    [
        pytest.param(node(2, 3), StreamEdge(1, 2), {}, id="1.9 unequal parallelism"),
        pytest.param(node(2, 2), StreamEdge(1, 2, REBALANCE), {}, id="1.7 not a forward partitioner"),
        pytest.param(node(2, 2), StreamEdge(1, 2), {"operator_chaining": False}, id="1.6 chaining disabled"),
        pytest.param(node(2, 2, chaining=ChainingStrategy.HEAD), StreamEdge(1, 2), {}, id="1.8 downstream is HEAD"),
        pytest.param(node(2, 2, chaining=ChainingStrategy.NEVER), StreamEdge(1, 2), {}, id="1.8 downstream is NEVER"),
        pytest.param(
            node(2, 2, slot_sharing_group="other"), StreamEdge(1, 2), {}, id="1.24 another slot sharing group"
        ),
    ],
)
def test_edges_that_prevent_chaining(second: StreamNode, edge: StreamEdge, settings: dict[str, object]) -> None:
    graph = graph_of([node(1, 2), second], [edge], **settings)
    assert chains(graph) == ["op1", "op2"]


def test_strategy_never_prevents_chaining_downstream_and_head_does_not() -> None:
    never = graph_of([node(1, chaining=ChainingStrategy.NEVER), node(2)], [StreamEdge(1, 2)])
    head = graph_of([node(1, chaining=ChainingStrategy.HEAD), node(2)], [StreamEdge(1, 2)])
    assert (chains(never), chains(head)) == (["op1", "op2"], ["op1 -> op2"])


def test_operator_with_several_inputs_is_not_chained() -> None:
    """Rule 1.5."""
    graph = graph_of(
        [node(1), node(2, is_source=True), node(3), node(4)], [StreamEdge(1, 3), StreamEdge(2, 3), StreamEdge(3, 4)]
    )
    assert chains(graph) == ["op1", "op2", "op3 -> op4"]


def test_different_max_parallelisms_do_not_prevent_chaining() -> None:
    """Rule 1.9."""
    graph = graph_of([node(1, max_parallelism=8), node(2, max_parallelism=16)], [StreamEdge(1, 2)])
    assert chains(graph) == ["op1 -> op2"]


def test_chain_index_counts_from_head_and_siblings_share_a_number() -> None:
    """Rule 1.11."""
    graph = graph_of(
        [node(n) for n in range(1, 6)], [StreamEdge(1, 2), StreamEdge(1, 3), StreamEdge(2, 4), StreamEdge(4, 5)]
    )
    (vertex,) = create_job_graph(graph).vertices
    by_name = {operator.node.name: operator for operator in vertex.operators}
    assert {name: o.chain_index for name, o in by_name.items()} == {"op1": 1, "op2": 2, "op3": 2, "op4": 3, "op5": 4}
    feeders = {name: vertex.operators[o.input_operator].node.name for name, o in by_name.items() if name != "op1"}
    assert feeders == {"op2": "op1", "op3": "op1", "op4": "op2", "op5": "op4"}


def test_default_partitioner_is_forward_or_rebalance_by_parallelism() -> None:
    """Rule 1.1."""
    graph = graph_of(
        [node(1, 2), node(2, 2), node(3, 3)], [StreamEdge(1, 2), StreamEdge(2, 3)], operator_chaining=False
    )
    assert [edge.partitioner.name for edge in create_job_graph(graph).edges] == ["FORWARD", "REBALANCE"]


def test_forward_edge_between_different_parallelisms_is_refused() -> None:
    """Rule 1.2."""
    with pytest.raises(ValueError, match=r"forward from op1 \(parallelism 2\) to op2 \(parallelism 3\)"):
        graph_of([node(1, 2), node(2, 3)], [StreamEdge(1, 2, FORWARD)])


def test_side_output_between_chained_operators_keeps_its_tag() -> None:
    graph = graph_of([node(1), node(2), node(3)], [StreamEdge(1, 2), StreamEdge(1, 3, None, "late")])
    (vertex,) = create_job_graph(graph).vertices
    assert [operator.input_tag for operator in vertex.in_order_of_addition] == [None, None, "late"]


def test_writers_of_task_have_order_of_its_operators() -> None:
    """Rule 1.13."""
    graph = graph_of(
        [node(1), node(2), node(3, 2), node(4, 2), node(5, 2)],
        [StreamEdge(2, 3), StreamEdge(1, 2), StreamEdge(1, 4), StreamEdge(2, 5)],
    )
    job = create_job_graph(graph)
    head = job.vertices[0]
    assert [(e.source_operator, e.target.name) for e in job.out_edges(head)] == [(0, "op4"), (1, "op3"), (1, "op5")]
    assert [e.id for e in job.edges] == [0, 1, 2]


def test_buffer_timeout_of_operator_overrides_that_of_job() -> None:
    graph = graph_of(
        [node(1, buffer_timeout_ms=7), node(2, 2), node(3, 3)],
        [StreamEdge(1, 2), StreamEdge(2, 3)],
        buffer_timeout_ms=50,
    )
    assert [edge.buffer_timeout_ms for edge in create_job_graph(graph).edges] == [7, 50]


@pytest.mark.parametrize(("parallelism", "expected"), [(1, 128), (85, 128), (86, 256), (200, 512)])
def test_max_parallelism_follows_from_parallelism(parallelism: int, expected: int) -> None:
    """Rule 1.21."""
    (vertex,) = create_job_graph(graph_of([node(1, parallelism)], [])).vertices
    assert vertex.max_parallelism == expected


def test_invalid_graph_is_refused_with_operator_name() -> None:
    with pytest.raises(BadInput, match="operator 'op1': max_parallelism 2 is below its parallelism 3"):
        create_job_graph(graph_of([node(1, 3, max_parallelism=2)], []))
    with pytest.raises(BadInput, match="operator 'op2' has no input"):
        create_job_graph(graph_of([node(1), node(2)], []))
    with pytest.raises(BadInput, match="cycle through: op2, op3"):
        create_job_graph(graph_of([node(1), node(2), node(3)], [StreamEdge(1, 2), StreamEdge(2, 3), StreamEdge(3, 2)]))
    with pytest.raises(BadInput, match="no operators"):
        create_job_graph(StreamGraph())


def test_operators_are_in_order_of_finishing() -> None:
    """Rule 4.12: depth first, the last branch before the others; names and edges stay as they were written."""
    edges = [StreamEdge(1, 2), StreamEdge(1, 3), StreamEdge(2, 4), StreamEdge(3, 5)]
    (vertex,) = create_job_graph(graph_of([node(number) for number in range(1, 6)], edges)).vertices
    assert [(o.node.id, o.index, o.input_operator) for o in vertex.operators] == [
        (1, 0, -1), (3, 1, 0), (5, 2, 1), (2, 3, 0), (4, 4, 3),
    ]  # fmt: skip
    assert [o.node.id for o in vertex.consumers_of(vertex.operators[0])] == [2, 3]
    assert vertex.name == " -> ".join(operator.node.name for operator in vertex.in_order_of_addition)
