"""How an edge becomes channels (rules 1.14-1.17), and which subtask owns which key group (rules 1.18-1.20)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.graph.edge_expansion import EdgeExpansion
from flowsim.graph.execution_graph import channel_rows, create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.stream_graph import OperatorDescription, PartitionerSpec, StreamEdge, StreamGraph, StreamNode
from flowsim.operators.functions.basic import MapOperator


def graph_of(parallelisms: list[int], edges: list[StreamEdge], max_parallelism: int | None = None) -> StreamGraph:
    graph = StreamGraph(settings=JobSettings(operator_chaining=False))
    for number, parallelism in enumerate(parallelisms, start=1):
        graph.add_node(
            StreamNode(
                number, f"op{number}", lambda: MapOperator(lambda v: v), OperatorDescription("map"), parallelism,
                max_parallelism, is_source=all(e.target_id != number for e in edges),
            )
        )  # fmt: skip
    for edge in edges:
        graph.add_edge(edge)
    return graph


def expansion(sources: int, targets: int, partitioner: str = "RESCALE") -> EdgeExpansion:
    graph = graph_of([sources, targets], [StreamEdge(1, 2, PartitionerSpec(partitioner))])
    return create_execution_graph(create_job_graph(graph)).expansions[0]


def inputs(edge: EdgeExpansion, target: int) -> list[tuple[int, int]]:
    """(source, subpartition) of each channel of a target, in the order of its channels."""
    return [edge.input_at(target, index) for index in range(edge.input_count(target))]


def test_two_sources_to_five_targets_rotate_channels_of_second_group() -> None:
    """Rule 1.17: upstream 1 feeds targets 3 and 4, but its channel 0 goes to target 4 and channel 1 to target 3."""
    edge = expansion(2, 5)
    assert [inputs(edge, target) for target in range(5)] == [[(0, 0)], [(0, 1)], [(0, 2)], [(1, 1)], [(1, 0)]]
    assert [[edge.target_of(s, n) for n in range(edge.subpartitions(s))] for s in range(2)] == [[0, 1, 2], [4, 3]]


def test_four_sources_to_three_targets_give_last_target_two() -> None:
    """Rule 1.17."""
    edge = expansion(4, 3)
    assert [inputs(edge, target) for target in range(3)] == [[(0, 0)], [(1, 0)], [(2, 0), (3, 0)]]


@pytest.mark.parametrize(
    ("sources", "targets", "expected"),
    [
        (1, 3, [[(0, 0)], [(0, 1)], [(0, 2)]]),
        (3, 1, [[(0, 0), (1, 0), (2, 0)]]),
        (2, 4, [[(0, 0)], [(0, 1)], [(1, 0)], [(1, 1)]]),
        (3, 2, [[(0, 0)], [(1, 0), (2, 0)]]),
        (2, 3, [[(0, 0)], [(0, 1)], [(1, 0)]]),
        (6, 4, [[(0, 0)], [(1, 0), (2, 0)], [(3, 0)], [(4, 0), (5, 0)]]),
        (3, 3, [[(0, 0)], [(1, 0)], [(2, 0)]]),
    ],
)
def test_pointwise_channels_equal_hand_computed_ones(
    sources: int, targets: int, expected: list[list[tuple[int, int]]]
) -> None:
    """Rule 1.16, worked out by hand."""
    edge = expansion(sources, targets)
    assert [inputs(edge, target) for target in range(targets)] == expected


def test_all_to_all_gives_every_target_one_channel_per_source() -> None:
    """Rule 1.15: channel i comes from source i, and reads the subpartition of the target's number."""
    edge = expansion(2, 3, "REBALANCE")
    assert [inputs(edge, target) for target in range(3)] == [[(0, t), (1, t)] for t in range(3)]
    assert edge.channel_count == 6


@given(st.integers(1, 12), st.integers(1, 12), st.sampled_from(["RESCALE", "HASH", "BROADCAST"]))
def test_every_subpartition_has_one_reader_and_both_ends_agree(sources: int, targets: int, name: str) -> None:
    """Invariant I1.c."""
    edge = expansion(sources, targets, name)
    written = [(s, n) for s in range(sources) for n in range(edge.subpartitions(s))]
    read = [place for target in range(targets) for place in inputs(edge, target)]
    assert sorted(read) == written
    assert edge.channel_count == len(written)
    assert [edge.first_channel_of(s) + n for s, n in written] == list(range(len(written)))
    for source, subpartition in written:
        target = edge.target_of(source, subpartition)
        assert edge.input_at(target, edge.input_index(target, source)) == (source, subpartition)
    counts = [edge.input_count(target) for target in range(targets)]
    assert min(counts) >= 1
    if edge.is_pointwise and sources < targets:
        assert counts == [1] * targets


def test_channels_of_united_edges_are_numbered_consecutively() -> None:
    """Rule 7.10: offset of the gate, plus the index inside."""
    graph = graph_of(
        [2, 1, 2], [StreamEdge(1, 3, PartitionerSpec("REBALANCE")), StreamEdge(2, 3, PartitionerSpec("REBALANCE"))]
    )
    execution = create_execution_graph(create_job_graph(graph))
    rows = list(channel_rows(execution))
    assert [(source, target, flat) for _, _, source, _, target, _, flat, *_ in rows] == [
        (0, 3, 0), (0, 4, 0), (1, 3, 1), (1, 4, 1), (2, 3, 2), (2, 4, 2),
    ]  # fmt: skip
    assert [row[0] for row in rows] == list(range(6))


@pytest.mark.parametrize(
    ("parallelism", "ranges"),
    [
        (3, [(0, 42), (43, 85), (86, 127)]),
        (7, [(0, 18), (19, 36), (37, 54), (55, 73), (74, 91), (92, 109), (110, 127)]),
    ],
)
def test_subtasks_own_contiguous_key_group_ranges(parallelism: int, ranges: list[tuple[int, int]]) -> None:
    """Rule 1.20, vectors of 128 key groups."""
    execution = create_execution_graph(create_job_graph(graph_of([parallelism], [], 128)))
    owned = [subtask.key_group_range for subtask in execution.subtasks]
    assert [(each.start, each.end) for each in owned] == ranges


def test_subtasks_are_numbered_over_job_and_named_as_in_flink() -> None:
    execution = create_execution_graph(create_job_graph(graph_of([1, 2], [StreamEdge(1, 2)])))
    assert [(s.id, s.name) for s in execution.subtasks] == [(0, "op1 (1/1)"), (1, "op2 (1/2)"), (2, "op2 (2/2)")]
