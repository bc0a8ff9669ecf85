"""Makes a job run in BATCH mode. Flink: StreamGraphGenerator, BatchExecutionUtils."""

from __future__ import annotations

from dataclasses import replace

from flowsim.errors import BadInput
from flowsim.graph.runtime_execution_mode import RuntimeExecutionMode
from flowsim.graph.stream_graph import BatchInputs, ChainingStrategy, StreamGraph, StreamNode
from flowsim.network.partitions.result_partition_type import ResultPartitionType

_NO_WATERMARKS = {"kind": "none"}


def in_runtime_mode(graph: StreamGraph) -> StreamGraph:
    """Returns the job as its mode runs it: itself in STREAMING mode.

    Raises BadInput for BATCH mode with an unbounded source.
    """
    mode = graph.settings.runtime_mode
    if mode is RuntimeExecutionMode.STREAMING:
        return graph
    unbounded = next((node for node in graph.nodes.values() if _is_unbounded(node)), None)
    if unbounded is not None:
        if mode is RuntimeExecutionMode.BATCH:
            raise BadInput(
                f"operator '{unbounded.name}': an unbounded source cannot run in BATCH mode: bound the source, or set the "
                "runtime mode to STREAMING or AUTOMATIC"
            )
        return replace(graph, settings=replace(graph.settings, runtime_mode=RuntimeExecutionMode.STREAMING))
    settings = replace(
        graph.settings,
        runtime_mode=RuntimeExecutionMode.BATCH,
        exchange=ResultPartitionType.BLOCKING,
        checkpointing=None,
        latency_interval_ms=0,
    )
    return replace(graph, settings=settings, nodes={key: _in_batch(node) for key, node in graph.nodes.items()})


def _is_unbounded(node: StreamNode) -> bool:
    """Returns True for a source without end; a source function has none, as in Flink."""
    return node.is_source and (node.is_legacy_source or not getattr(node.source, "is_bounded", True))


def _in_batch(node: StreamNode) -> StreamNode:
    """Returns the operator with sorted keyed inputs and without watermarks."""
    inputs = _batch_inputs(node)
    params = dict(node.description.params)
    if "watermarks" in params:
        params["watermarks"] = _NO_WATERMARKS
    chaining = node.chaining
    if inputs is not None:
        params["batch"] = True
        # The input of a chained operator cannot be sorted.
        chaining = ChainingStrategy.HEAD if chaining is ChainingStrategy.ALWAYS else chaining
    return replace(node, description=replace(node.description, params=params), batch_inputs=inputs, chaining=chaining)


def _batch_inputs(node: StreamNode) -> BatchInputs | None:
    """Returns how the operator reads its inputs: broadcast sides first, then the keyed inputs by key."""
    selectors = node.key_selectors or (node.key_selector,)
    kind = node.description.kind
    if kind == "sink" or (not any(selectors) and kind != "broadcast"):
        return None
    first = (1,) if kind in ("broadcast", "keyed_broadcast") else ()
    return BatchInputs(selectors, first)
