"""Partitioners by name, for code that describes jobs as data."""

from __future__ import annotations

from typing import Literal, assert_never

from flowsim.datastream.data_stream import DataStream

PlainPartitioning = Literal["forward", "rebalance", "rescale", "shuffle", "broadcast", "global"]
"""The partitioners without arguments."""


def partitioned(stream: DataStream, by: PlainPartitioning) -> DataStream:
    """The stream with that partitioner."""
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
