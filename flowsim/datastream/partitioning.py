"""Partitioners by name, for code that describes jobs as data."""

from __future__ import annotations

from typing import Literal, assert_never

from flowsim.datastream.data_stream import DataStream

PlainPartitioning = Literal["forward", "rebalance", "rescale", "shuffle", "broadcast", "global"]
"""The names of the partitioners without arguments."""


def partitioned(stream: DataStream, by: PlainPartitioning) -> DataStream:
    """Returns the stream with the partitioner of that name."""
    match by:
        case "forward":
            return stream.forward()
        case "rebalance":
            return stream.rebalance()
        case "rescale":
            return stream.rescale()
        case "shuffle":
            return stream.shuffle()
        case "broadcast":
            return stream.broadcast()
        case "global":
            return stream.global_()
    assert_never(by)
