"""Adds the committers of sinks to a graph. Flink: SinkTransformationTranslator."""

from __future__ import annotations

from dataclasses import replace

from flowsim.graph.operator_cost import OperatorCosts
from flowsim.graph.runtime_execution_mode import RuntimeExecutionMode
from flowsim.graph.stream_graph import OperatorDescription, PartitionerSpec, StreamEdge, StreamGraph, StreamNode


def with_committers(graph: StreamGraph) -> StreamGraph:
    """Returns the graph with a committer after each sink that needs it; the graph itself if there is none.

    A sink that can write without committer gets one only in a job with checkpoints (rule 12.30).
    """
    has_checkpoints = graph.settings.checkpointing is not None
    committing = [
        node
        for node in graph.nodes.values()
        if node.two_phase_commit is not None and (has_checkpoints or not node.two_phase_commit.needs_checkpoints)
    ]
    if not committing:
        return graph
    expanded = StreamGraph(graph.name, graph.settings, dict(graph.nodes), list(graph.edges))
    for node in committing:
        _add_committers(expanded, node)
    return expanded


def _add_committers(graph: StreamGraph, sink: StreamNode) -> None:
    """Replaces the operator of a sink by that of its writers, and adds its committers."""
    commit = sink.two_phase_commit
    assert commit is not None
    checkpointing = graph.settings.checkpointing
    # Rule 12.32: without an interval no final checkpoint commits what the end of the input leaves.
    is_batch = graph.settings.runtime_mode is RuntimeExecutionMode.BATCH
    commits_at_end = is_batch or (checkpointing is not None and not checkpointing.is_enabled)
    graph.nodes[sink.id] = replace(
        sink,
        operator_factory=commit.writer_factory,
        description=replace(sink.description, params={**sink.description.params, "commits": True}),
    )
    committer = replace(
        sink,
        id=max(graph.nodes) + 1,
        name=f"{sink.name}: Committer",
        operator_factory=commit.committer_factory,
        description=OperatorDescription("committer", {"commits_at_end_of_input": True} if commits_at_end else {}),
        cost_ns=0,
        costs=OperatorCosts(),
        uid=None if sink.uid is None else f"Sink Committer: {sink.uid}",
        key_selector=None,
        key_type=None,
        key_selectors=(),
        two_phase_commit=None,
        check_restore=None,
    )
    graph.add_node(committer)
    graph.add_edge(StreamEdge(sink.id, committer.id))
    if commit.global_committer_factory is not None:
        last = replace(
            committer,
            id=max(graph.nodes) + 1,
            name=f"{sink.name}: Global Committer",
            operator_factory=commit.global_committer_factory,
            parallelism=1,
            uid=None if sink.uid is None else f"Sink {sink.uid} Global Committer",
        )
        graph.add_node(last)
        graph.add_edge(StreamEdge(committer.id, last.id, PartitionerSpec("GLOBAL")))
