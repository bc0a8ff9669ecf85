"""``connect``: an operator with two inputs and a function for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from flowsim.datastream import functions as api
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.streams.connected_streams import ConnectedStreams
from flowsim.operators.inputs.reading_order import Reading
from flowsim.scenario.context import CompileContext, CompiledStream, emitted_by
from flowsim.scenario.features.inputs import Incoming, Partition, SecondInputModel, partitioned, second_input, two_keys
from flowsim.scenario.features.maps import FlatMapModel, MapModel, exploded_record, mapped_record
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.types import ExpressionSource, FunctionModel, exactly_one_of, needs_fields, one_of
from flowsim.scenario.yaml.positions import Path


class ConnectModel(SecondInputModel, json_schema_extra=exactly_one_of("map", "flat_map", "process")):
    """A second input, and the functions for both; exactly one of map, flat_map, process."""

    partition: Partition | None = Field(
        default=None,
        description="How the records of the second input are distributed; the operator's own `partition` is for the "
        "first.",
    )
    key_by: Annotated[list[ExpressionSource], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="An expression for each input: records with equal keys go to the same subtask."
    )
    map: Annotated[list[MapModel], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="A map for each input, without Python; both must produce the same fields."
    )
    flat_map: Annotated[list[FlatMapModel], Field(min_length=2, max_length=2)] | None = Field(
        default=None,
        description="A flat_map for each input, without Python: any number of output records; both must produce the "
        "same fields.",
    )
    process: FunctionModel | None = Field(
        default=None, description="A `CoProcessFunction`, with `key_by` a `KeyedCoProcessFunction`."
    )
    read: Reading = Field(
        default="any",
        description="Which input is read next: both in turn, the first or the second to its end, or one record of each "
        "alternately.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> ConnectModel:
        one_of(self, ("map", "flat_map", "process"))
        if self.process is not None:
            needs_fields("python", self.process.fields)
        if any(one.python is not None for one in (*(self.map or ()), *(self.flat_map or ()))):
            raise ValueError("a Python function over two inputs must be a process function")
        if self.key_by is not None and self.partition is not None:
            raise ValueError("key_by decides the partition, remove partition")
        return self

    def side_output_names(self) -> list[str]:
        """Returns the names of the side outputs of the Python function."""
        return [] if self.process is None else self.process.side_output_names()


def compile_connect(context: CompileContext, path: Path, model: ConnectModel, first: Incoming) -> CompiledStream:
    """Compiles the operator that reads ``first`` and the stream that ``model`` names; raises Failed."""
    second = second_input(context, path, model.to, first)
    second = partitioned(context, (*path, "partition"), second, model.partition)
    connected = first.stream.connect(second.stream).reading(model.read)
    if model.key_by is not None:
        keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
        connected = connected.key_by(keys.first.function, keys.second.function, keys.type)
    if model.process is not None:
        return _process(context, (*path, "process", "python"), model.process, connected, model.key_by is not None)
    return _functions(context, path, model, connected, (first.schema, second.schema))


def _process(
    context: CompileContext, path: Path, model: FunctionModel, connected: ConnectedStreams[DataStream], is_keyed: bool
) -> CompiledStream:
    kind: type[api.CoProcessFunction | api.KeyedCoProcessFunction]
    kind = api.KeyedCoProcessFunction if is_keyed else api.CoProcessFunction
    function = context.instance(path, model.python, kind)
    return emitted_by(model, context.attempt(path, lambda: connected.process(function)))


def _functions(
    context: CompileContext,
    path: Path,
    model: ConnectModel,
    connected: ConnectedStreams[DataStream],
    schemas: tuple[RecordSchema, RecordSchema],
) -> CompiledStream:
    at: Path = (*path, "map" if model.map is not None else "flat_map")
    (first, schema), (second, other) = (_function(context, (*at, i), model, i, schemas[i]) for i in range(2))
    if other != schema:
        raise context.fail((*at, 1), f"expected the fields of the first, {schema.text()}, this gives {other.text()}")
    stream: DataStream
    if first.uses_timestamp or second.uses_timestamp:
        kind = TwoStamped if model.key_by is None else TwoKeyedStamped
        stream = connected.process(kind(first, second))
    elif model.map is not None:
        stream = connected.map(TwoMaps(first, second))
    else:
        stream = connected.flat_map(TwoFlatMaps(first, second))
    return CompiledStream(stream, schema)


def _function(
    context: CompileContext, path: Path, model: ConnectModel, index: int, schema: RecordSchema
) -> tuple[InputFunction, RecordSchema]:
    if model.map is not None:
        mapped = mapped_record(context, path, model.map[index], schema)
        return InputFunction(mapped.function, mapped.uses_timestamp, one_record=True), mapped.schema
    exploded = exploded_record(context, path, (model.flat_map or [])[index], schema)
    return InputFunction(exploded.function, exploded.uses_timestamp, one_record=False), exploded.schema


@dataclass(frozen=True, slots=True)
class InputFunction:
    """The function of one input: ``function(record)``, or ``function(record, timestamp)``."""

    function: Callable[..., Any]
    uses_timestamp: bool
    one_record: bool
    """True if the function returns one record, not a sequence."""

    def results(self, value: object, timestamp: int | None) -> Iterable[object]:
        result = self.function(value, timestamp) if self.uses_timestamp else self.function(value)
        return (result,) if self.one_record else result


class TwoMaps(api.CoMapFunction):
    """A map function of two inputs: one output record for each input record."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first.function, second.function

    def map1(self, value: object) -> object:
        return self._first(value)

    def map2(self, value: object) -> object:
        return self._second(value)


class TwoFlatMaps(api.CoFlatMapFunction):
    """A flat-map function of two inputs: any number of output records for each input record."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first.function, second.function

    def flat_map1(self, value: object) -> Iterable[object]:
        results: Iterable[object] = self._first(value)
        return results

    def flat_map2(self, value: object) -> Iterable[object]:
        results: Iterable[object] = self._second(value)
        return results


class TwoStamped(api.CoProcessFunction):
    """A process function of two inputs whose functions read the timestamp."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first, second

    def process_element1(self, value: object, ctx: api.CoProcessFunction.Context) -> Iterable[object]:
        return self._first.results(value, ctx.timestamp())

    def process_element2(self, value: object, ctx: api.CoProcessFunction.Context) -> Iterable[object]:
        return self._second.results(value, ctx.timestamp())


class TwoKeyedStamped(api.KeyedCoProcessFunction):
    """A process function of two keyed inputs whose functions read the timestamp."""

    def __init__(self, first: InputFunction, second: InputFunction) -> None:
        self._first, self._second = first, second

    def process_element1(self, value: object, ctx: api.KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self._first.results(value, ctx.timestamp())

    def process_element2(self, value: object, ctx: api.KeyedCoProcessFunction.Context) -> Iterable[object]:
        return self._second.results(value, ctx.timestamp())
