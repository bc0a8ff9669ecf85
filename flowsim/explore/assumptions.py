"""What the order space of a job leaves out: other results that the job can have for another reason than an order."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.cluster.failures import RunFailure
from flowsim.cluster.run_actions import RunAction
from flowsim.graph.job_graph import resolved_partitioner
from flowsim.graph.stream_graph import StreamGraph


def left_out(graph: StreamGraph, failures: Sequence[RunFailure] = (), actions: Sequence[RunAction] = ()) -> list[str]:
    """Returns a sentence for each thing that Flink leaves open and that the choices of the order space do not decide.

    Without any, the results that an exhausted order space has are all results of the job, if its functions depend only on
    their input, their state and their timers.
    """
    sentences = []
    if graph.settings.checkpointing is not None and graph.settings.checkpointing.interval_ms is not None:
        sentences.append("checkpoints start at their interval only")
    if failures:
        sentences.append(
            "failures happen only where the scenario has them, and restarts wait until nothing else can happen"
        )
    if actions:
        sentences.append("actions have an effect only at their time")
    for node in graph.nodes.values():
        if node.enumerator_factory is not None and node.parallelism > 1:
            sentences.append(f"the subtasks of {node.name} ask for splits in the order of their numbers")
        if node.is_legacy_source:
            sentences.append(f"the thread of {node.name} runs as far as it can")
    for edge in graph.edges:
        if resolved_partitioner(graph, edge).name == "SHUFFLE" and graph.nodes[edge.target_id].parallelism > 1:
            source, target = graph.nodes[edge.source_id].name, graph.nodes[edge.target_id].name
            sentences.append(f"the seed decides the channels of shuffle from {source} to {target}")
    return sentences
