"""Compiles what a node reads: one stream or a union, by its partitioner."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.datastream.data_stream import DataStream
from flowsim.scenario.compile_context import CompileContext, Failed
from flowsim.scenario.compiled import CompiledStream
from flowsim.scenario.schema_operators import EdgeModel
from flowsim.scenario.suggestions import nearest
from flowsim.scenario.yaml_positions import Path


def input_stream(context: CompileContext, path: Path, model: EdgeModel) -> CompiledStream:
    """The stream that a node reads: one, or a union of streams with the same fields, by its partitioner."""
    wanted: str | Sequence[str] = model.input
    return stream_of(context, (*path, "input"), wanted, model.exchange, model.partition)


def stream_of(
    context: CompileContext, path: Path, names: str | Sequence[str], exchange: str | None, partition: str | None
) -> CompiledStream:
    """The stream of a name at ``path``, or the union of several; raises Failed."""
    found: list[CompiledStream] = []
    for index, wanted in enumerate([names] if isinstance(names, str) else names):
        at = path if isinstance(names, str) else (*path, index)
        if wanted not in context.streams:
            hint = nearest(wanted, context.streams)
            raise context.fail(at, f"there is no stream {wanted!r} above{hint}")
        stream = context.streams[wanted]
        if stream is None:
            raise Failed
        if found and stream.schema != found[0].schema:
            raise context.fail(at, f"its fields differ from those of {names[0]}: a union needs the same fields")
        found.append(stream)
    joined = found[0].stream.union(*[other.stream for other in found[1:]]) if len(found) > 1 else found[0].stream
    handed_over = joined if exchange is None else joined.exchange(exchange)
    return CompiledStream(_partitioned(handed_over, partition), found[0].schema)


def _partitioned(stream: DataStream, partition: str | None) -> DataStream:
    match partition:
        case None:
            return stream
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
    return stream.global_()
