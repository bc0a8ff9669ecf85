"""Compiles what a node reads: one stream or a union, by its partitioner."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.partitioning import partitioned as by_name
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, Failed
from flowsim.scenario.compiling.records import instance_of_kind
from flowsim.scenario.language.expressions import compile_expression
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.models.operators import CustomPartitionModel, EdgeModel, Partition
from flowsim.scenario.suggestions import nearest
from flowsim.scenario.yaml_positions import Path


def input_stream(context: CompileContext, path: Path, model: EdgeModel) -> CompiledStream:
    """The stream that a node reads: one, or a union of streams with the same fields, by its partitioner."""
    read = stream_of(context, (*path, "input"), model.input, model.exchange)
    return partitioned(context, (*path, "partition"), read, model.partition)


def stream_of(context: CompileContext, path: Path, names: str | Sequence[str], exchange: str | None) -> CompiledStream:
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
    return CompiledStream(handed_over, found[0].schema)


def partitioned(
    context: CompileContext, path: Path, read: CompiledStream, partition: Partition | None
) -> CompiledStream:
    """The stream by the partitioner that stands at ``path``; raises Failed."""
    if partition is None:
        return read
    if isinstance(partition, CustomPartitionModel):
        return CompiledStream(_custom(context, path, read.stream, read.schema, partition), read.schema)
    return CompiledStream(by_name(read.stream, partition), read.schema)


def _custom(
    context: CompileContext, path: Path, stream: DataStream, schema: RecordSchema, model: CustomPartitionModel
) -> DataStream:
    """Rule 2.2."""
    key = context.expression((*path, "key"), model.key, lambda: compile_expression(model.key, schema))
    if key.uses_timestamp:
        raise context.fail((*path, "key"), "a key does not see the timestamp: add it as a field in a map before")
    at = (*path, "python")
    chosen = instance_of_kind(context, at, model.python, api.Partitioner)
    try:
        return stream.partition_custom(chosen, key.function)  # type: ignore[arg-type]
    except TypeError as error:
        raise context.fail(at, str(error)) from None
