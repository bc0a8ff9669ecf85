"""A job in the spaces of exploration."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flowsim.graph.stream_graph import StreamGraph

_CREDITS: Final = 1_000
"""Exclusive buffers of each channel: with fewer, elements that wait for a credit would share a buffer."""

_BUFFERS: Final = 100_000
"""More than a channel or a gate can hold."""


def in_order_space(graph: StreamGraph) -> StreamGraph:
    """Returns the job with each element in a buffer and a batch of its own, and with a connection for each channel.

    The network holds back nothing, so that every order of arrivals is possible. Buffers leave after each element. Every
    subtask has its own task manager, and as much network memory as it can use.
    """
    settings = replace(
        graph.settings,
        buffer_timeout_ms=0,
        network_buffers=None,
        exclusive_buffers_per_channel=_CREDITS,
        floating_buffers_per_gate=_BUFFERS,
        max_buffers_per_channel=_BUFFERS,
        buffer_debloat=None,
        task_managers="each",
        links=(),
        budget_records=1,
    )
    nodes = {number: replace(node, buffer_timeout_ms=None) for number, node in graph.nodes.items()}
    return replace(graph, settings=settings, nodes=nodes)


def in_runtime_space(graph: StreamGraph) -> StreamGraph:
    """Returns the job with each element in a batch of its own: a task that continues after one has another turn."""
    return replace(graph, settings=replace(graph.settings, budget_records=1))
