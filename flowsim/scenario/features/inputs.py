"""The inputs of a node: one stream or a union, their partitioner, ``key_by``, and a second input with its key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import DataStream, KeyedStream
from flowsim.datastream.partitioning import PlainPartitioning
from flowsim.datastream.partitioning import partitioned as by_name
from flowsim.errors import did_you_mean
from flowsim.scenario.context import CompileContext, CompiledStream, Failed, without_timestamp
from flowsim.scenario.features.costs import Cost
from flowsim.scenario.features.windows import WindowModel
from flowsim.scenario.language.expressions import Expression
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import (
    Exchange,
    ExpressionSource,
    Name,
    Parallelism,
    PythonReference,
    StreamName,
    Strict,
    TimeoutMs,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path
from flowsim.values.types import TypeInformation, Types

KeyBy = str | list[str] | dict[str, str]

_A_KEY = "a key"
_TYPES: dict[FieldType, Callable[[], TypeInformation]] = {
    FieldType.BOOLEAN: Types.BOOLEAN,
    FieldType.INT: Types.INT,
    FieldType.LONG: Types.LONG,
    FieldType.DOUBLE: Types.DOUBLE,
    FieldType.STRING: Types.STRING,
}


class CustomPartitionModel(Strict):
    """A function chooses the subtask of each record, from its key and the number of subtasks."""

    python: Annotated[PythonReference | None, FlinkNames("partition_custom")] = Field(
        default=None,
        description="A function of key and number of subtasks, or a `Partitioner` class: `package.module:name`. Without it "
        "the key, an integer, modulo the number of subtasks.",
    )
    key: Annotated[ExpressionSource, FlinkNames("key_selector")] = Field(
        description="The key of the record, which is passed to the function."
    )


Partition = PlainPartitioning | CustomPartitionModel


class EdgeModel(Strict):
    """The common part of operators and sinks: inputs and how the operator runs."""

    input: Annotated[
        StreamName | Annotated[list[StreamName], Field(min_length=1)], FlinkNames("union", "get_side_output")
    ] = Field(
        description="The name of a source or operator above, `OPERATOR.OUTPUT` for a side output; a list is a union, "
        "and needs equal fields."
    )
    partition: Partition | None = Field(
        default=None,
        description="How the records are distributed to the subtasks. Without it: by the key, if there is one; "
        "forward between equal parallelisms, otherwise rebalance.",
    )
    exchange: Exchange | None = Field(
        default=None, description="The [exchange](#exchange) of all its inputs; without it the value of the settings."
    )
    parallelism: Annotated[Parallelism | None, FlinkNames("set_parallelism")] = Field(
        default=None,
        description="Number of subtasks; without it the value of the settings, for `watermarks` that of the input.",
    )
    cost: Cost | None = Field(
        default=None, description="Virtual time of one record; without it the value of the settings."
    )
    buffer_timeout: Annotated[TimeoutMs | None, FlinkNames("set_buffer_timeout")] = Field(
        default=None,
        description="When a partly filled output buffer is sent; without it the value of the settings. A sink has no "
        "output.",
    )
    slot_sharing_group: Name | None = Field(
        default=None,
        description="The [slot sharing group](#slot-sharing-groups): operators of different groups are not chained. "
        "Without it that of the inputs, or `default` if they are in different groups.",
    )

    def inputs(self) -> list[str]:
        """Returns the names of the streams that the node reads."""
        return [self.input] if isinstance(self.input, str) else list(self.input)


class SecondInputModel(Strict):
    """A second input in addition to ``input``."""

    to: StreamName | Annotated[list[StreamName], Field(min_length=1)] = Field(
        description="The second input; a list is a union. `input` is the first."
    )


class KeyedSecondInputModel(SecondInputModel):
    """A second input in addition to ``input``, with a key for each of the two inputs."""

    key_by: Annotated[list[ExpressionSource], Field(min_length=2, max_length=2), FlinkNames("where", "equal_to")] = (
        Field(description="An expression for each input: records with equal keys go to the same subtask.")
    )


@dataclass(frozen=True, slots=True)
class Key:
    """The key of a stream: the key selector, and the key fields, which are the first fields of results."""

    selector: Callable[..., object]
    schema: RecordSchema
    composite: bool


class TwoKeys(NamedTuple):
    """The keys of two inputs, and the declared type of both keys; None if unknown."""

    first: Expression
    second: Expression
    type: TypeInformation | None


@dataclass(frozen=True, slots=True)
class Incoming:
    """The argument of every operator's compilation: its input stream, and its ``key_by``, window, partitioner, ``having``."""

    stream: DataStream
    """The input stream; a KeyedStream if the operator has ``key_by``."""
    schema: RecordSchema
    key: Key | None
    window: WindowModel | None
    exchange: Exchange | None
    having: str | None = None

    @property
    def keyed(self) -> KeyedStream:
        """The keyed stream of an operator with a key."""
        assert isinstance(self.stream, KeyedStream)
        return self.stream

    @property
    def required_window(self) -> WindowModel:
        """The window of an operator with one."""
        assert self.window is not None
        return self.window


def incoming_of(
    context: CompileContext, path: Path, model: EdgeModel, key_by: KeyBy | None, window: WindowModel | None
) -> Incoming:
    """Returns the inputs of the operator at ``path``; raises Failed."""
    read = input_stream(context, path, model)
    if key_by is None:
        return Incoming(read.stream, read.schema, None, window, model.exchange)
    at = (*path, "key_by")
    key = _key(context, at, key_by, read.schema)
    key_type = _type_information(key.schema.types, key.composite)
    keyed = context.attempt(at, lambda: read.stream.key_by(key.selector, key_type))
    return Incoming(keyed, read.schema, key, window, model.exchange)


def input_stream(context: CompileContext, path: Path, model: EdgeModel) -> CompiledStream:
    """Returns the input of a node with its partitioner: one stream, or a union of streams with the same fields."""
    read = stream_of(context, (*path, "input"), model.input, model.exchange)
    return partitioned(context, (*path, "partition"), read, model.partition)


def stream_of(context: CompileContext, path: Path, names: str | Sequence[str], exchange: str | None) -> CompiledStream:
    """Returns the stream that the name at ``path`` selects, or the union of several streams; raises Failed."""
    streams: list[CompiledStream] = []
    for index, name in enumerate([names] if isinstance(names, str) else names):
        at = path if isinstance(names, str) else (*path, index)
        if name not in context.streams:
            hint = did_you_mean(name, context.streams)
            raise context.fail(at, f"there is no stream {name!r} above{hint}")
        stream = context.streams[name]
        if stream is None:
            raise Failed
        if streams and stream.schema != streams[0].schema:
            raise context.fail(at, f"its fields differ from those of {names[0]}: a union needs the same fields")
        streams.append(stream)
    joined = (
        streams[0].stream.union(*[other.stream for other in streams[1:]]) if len(streams) > 1 else streams[0].stream
    )
    handed_over = joined if exchange is None else joined.exchange(exchange)
    return CompiledStream(handed_over, streams[0].schema)


def partitioned(
    context: CompileContext, path: Path, read: CompiledStream, partition: Partition | None
) -> CompiledStream:
    """Returns the stream with the partitioner at ``path``; raises Failed."""
    if partition is None:
        return read
    if isinstance(partition, CustomPartitionModel):
        return CompiledStream(_custom(context, path, read.stream, read.schema, partition), read.schema)
    return CompiledStream(by_name(read.stream, partition), read.schema)


def _custom(
    context: CompileContext, path: Path, stream: DataStream, schema: RecordSchema, model: CustomPartitionModel
) -> DataStream:
    """Returns the stream with a custom partitioner (rule 2.2)."""
    key = key_expression(context, (*path, "key"), model.key, schema)
    if model.python is None:
        if not (key.type.is_integer or key.type is FieldType.ANY):
            raise context.fail((*path, "key"), f"expected an integer without python, this key gives {key.type.value}")
        return stream.partition_custom(modulo, key.function)
    at = (*path, "python")
    function = context.function(at, model.python, api.Partitioner)
    try:
        return stream.partition_custom(function, key.function)  # type: ignore[arg-type]
    except TypeError as error:
        raise context.fail(at, str(error)) from None


def modulo(key: Any, subtasks: int) -> int:
    """Returns the subtask of a key, also of one below 0."""
    subtask: int = key % subtasks
    return subtask


def second_input(context: CompileContext, path: Path, to: str | Sequence[str], incoming: Incoming) -> CompiledStream:
    """Returns the second input of the operator whose block is at ``path``; raises Failed."""
    return stream_of(context, (*path, "to"), to, incoming.exchange)


def two_keys(
    context: CompileContext, path: Path, sources: Sequence[str], schemas: tuple[RecordSchema, RecordSchema]
) -> TwoKeys:
    """Returns the keys of both inputs, which must have one type; raises Failed."""
    first, second = (key_expression(context, (*path, i), sources[i], schemas[i]) for i in range(2))
    if first.type is not second.type:
        raise context.fail(
            path, f"expected keys of one type, the first is {first.type.value}, the second {second.type.value}"
        )
    return TwoKeys(first, second, _type_information((first.type,), composite=False))


def key_expression(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> Expression:
    """Returns the compiled key expression, which reads only the record; raises Failed."""
    return context.record_expression(path, source, schema, _A_KEY)


def _key(context: CompileContext, path: Path, by: KeyBy, schema: RecordSchema) -> Key:
    """Returns the key of the ``key_by`` at ``path``."""
    if isinstance(by, str):
        expression = key_expression(context, path, by, schema)
        name = by.strip() if by.strip() in schema.names else "key"
        return Key(expression.function, RecordSchema((name,), (expression.type,)), composite=False)
    columns = by if isinstance(by, dict) else {name: name for name in by}
    if not columns or (isinstance(by, list) and len(columns) != len(by)):
        raise context.fail(path, "expected different fields, at least one")
    record = context.record(path, columns, schema, keep=False)
    if record.uses_timestamp:
        raise context.fail(path, without_timestamp(_A_KEY))
    return Key(record.function, record.schema, composite=True)


def _type_information(types: tuple[FieldType, ...], composite: bool) -> TypeInformation | None:
    """Returns the declared type of a key; None if the type of a part is unknown, so that values decide."""
    if FieldType.ANY in types:
        return None
    parts = [_TYPES[kind]() for kind in types]
    return Types.TUPLE(parts) if composite else parts[0]
