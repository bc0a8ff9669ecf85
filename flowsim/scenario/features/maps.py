"""``map``, ``filter`` and ``flat_map``: functions of one record."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field, model_validator

from flowsim.datastream import functions as api
from flowsim.errors import did_you_mean
from flowsim.scenario.context import CompileContext, CompiledStream, declared
from flowsim.scenario.features.inputs import Incoming
from flowsim.scenario.language.expressions import CompiledRecord
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.value_bounds import ExpressionFailure, ValueBounds
from flowsim.scenario.types import (
    Columns,
    ExpressionSource,
    FieldName,
    FieldTypes,
    FunctionModel,
    PythonReference,
    Strict,
    TypeName,
    exactly_one_of,
    needs_fields,
    one_of,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path

FilterModel = ExpressionSource | FunctionModel


class MapModel(Strict, json_schema_extra=exactly_one_of("add", "select", "python")):
    """Emits one record for each input record: added fields, selected expressions, or a Python function."""

    add: Columns | None = Field(
        default=None, description="New fields after the others; an existing name replaces that field in place."
    )
    select: Annotated[Columns | None, FlinkNames("project")] = Field(
        default=None, description="The output's fields, each an expression over the input's."
    )
    python: PythonReference | None = Field(
        default=None,
        description="A function of the record, or a `MapFunction` class: `package.module:name`, only with "
        "`--allow-python`.",
    )
    fields: FieldTypes | None = Field(
        default=None,
        description="Names and types of the fields of the tuples that the Python function returns; required with "
        "`python`.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> MapModel:
        needs_fields(one_of(self, ("add", "select", "python")), self.fields)
        return self


class FlatMapModel(Strict, json_schema_extra=exactly_one_of("each", "python")):
    """Emits one record for each item of a sequence, or the results of a Python function."""

    each: ExpressionSource | None = Field(
        default=None, description="A tuple or list, such as `split(line)`; each item becomes a record."
    )
    into: FieldName = Field(default="item", description="The field that takes the item.")
    type: TypeName | None = Field(
        default=None, description="Type of the item, if it cannot be derived from the expression."
    )
    keep: list[FieldName] = Field(default_factory=list, description="Fields of the input that come before the item.")
    python: PythonReference | None = Field(
        default=None,
        description="A function that yields tuples, or a `FlatMapFunction` class: `package.module:name`, only with "
        "`--allow-python`.",
    )
    fields: FieldTypes | None = Field(
        default=None,
        description="Names and types of the fields that the Python function yields; required with `python`.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> FlatMapModel:
        needs_fields(one_of(self, ("each", "python")), self.fields)
        return self


def compile_map(context: CompileContext, path: Path, model: MapModel, incoming: Incoming) -> CompiledStream:
    """Adds a map, which emits one record for each input record. Raises Failed."""
    stream = incoming.stream
    if model.python is not None:
        at = (*path, "python")
        function = context.function(at, model.python, api.MapFunction)
        mapped = context.attempt(at, lambda: stream.map(function))  # type: ignore[arg-type]
        return CompiledStream(mapped, declared(model.fields))
    record = mapped_record(context, path, model, incoming.schema)
    if record.uses_timestamp:
        return CompiledStream(stream.process(StampedMap(record.function)), record.schema)
    return CompiledStream(stream.map(record.function), record.schema)


def mapped_record(context: CompileContext, path: Path, model: MapModel, schema: RecordSchema) -> CompiledRecord:
    """Returns the function of a map without Python. Raises Failed."""
    if model.add is not None:
        return context.record((*path, "add"), model.add, schema, keep=True)
    return context.record((*path, "select"), model.select or {}, schema, keep=False)


def check_filter(model: FilterModel, has_key: bool) -> None:
    """Raises ValueError for a Python function with declared outputs."""
    if isinstance(model, FunctionModel) and (model.fields is not None or model.side_outputs):
        raise ValueError("a filter passes its records on, remove fields and side_outputs")


def compile_filter(context: CompileContext, path: Path, model: FilterModel, incoming: Incoming) -> CompiledStream:
    """Adds a filter, which keeps records for which an expression or a Python function is true. Raises Failed."""
    stream = incoming.stream
    if isinstance(model, FunctionModel):
        at = (*path, "python")
        function = context.function(at, model.python, api.FilterFunction)
        kept = context.attempt(at, lambda: stream.filter(function))  # type: ignore[arg-type]
        return CompiledStream(kept, incoming.schema)
    condition = context.condition(path, context.expression(path, model, incoming.schema))
    if condition.uses_timestamp:
        return CompiledStream(stream.process(StampedFilter(condition.function)), incoming.schema)
    return CompiledStream(stream.filter(condition.function), incoming.schema)


def compile_flat_map(context: CompileContext, path: Path, model: FlatMapModel, incoming: Incoming) -> CompiledStream:
    """Adds a flat_map, which emits any number of records for each input record. Raises Failed."""
    stream = incoming.stream
    if model.python is not None:
        at = (*path, "python")
        function = context.function(at, model.python, api.FlatMapFunction)
        yielded = context.attempt(at, lambda: stream.flat_map(function))  # type: ignore[arg-type]
        return CompiledStream(yielded, declared(model.fields))
    exploded = exploded_record(context, path, model, incoming.schema)
    if exploded.uses_timestamp:
        return CompiledStream(stream.process(StampedFlatMap(exploded.function)), exploded.schema)
    return CompiledStream(stream.flat_map(exploded.function), exploded.schema)


@dataclass(frozen=True, slots=True)
class ExplodedRecord:
    """The function of a flat_map: it gets a record, and the record's timestamp if needed."""

    function: Callable[..., Iterable[object]]
    schema: RecordSchema
    uses_timestamp: bool


def exploded_record(context: CompileContext, path: Path, model: FlatMapModel, schema: RecordSchema) -> ExplodedRecord:
    """Returns the function of a flat_map without Python. Raises Failed."""
    each = context.expression((*path, "each"), model.each or "", schema)
    if each.type is not FieldType.ANY:
        raise context.fail((*path, "each"), f"expected a tuple or list, this expression gives {each.type.value}")
    item = each.item_type if model.type is None else FieldType(model.type)
    for index, name in enumerate(model.keep):
        if name not in schema.names:
            raise context.fail((*path, "keep", index), f"there is no field {name!r}{did_you_mean(name, schema.names)}")
        if name in model.keep[:index]:
            raise context.fail((*path, "keep", index), f"field {name!r} is listed twice")
    keep = tuple(schema.index(name) for name in model.keep)
    explode = Explode(each.function, keep, ValueBounds(context.limits))
    kept = RecordSchema(tuple(model.keep), tuple(schema.type_of(name) for name in model.keep))
    return ExplodedRecord(explode, kept.with_fields((model.into,), (item,)), each.uses_timestamp)


Stamped = Callable[[object, int | None], object]


class StampedMap(api.ProcessFunction):
    """Emits one record for each input record."""

    def __init__(self, function: Stamped) -> None:
        self._function = function

    def process_element(self, value: object, ctx: api.ProcessFunction.Context) -> Iterable[object]:
        return (self._function(value, ctx.timestamp()),)


class StampedFilter(api.ProcessFunction):
    """Keeps the records for which the function is true."""

    def __init__(self, function: Stamped) -> None:
        self._function = function

    def process_element(self, value: object, ctx: api.ProcessFunction.Context) -> Iterable[object]:
        return (value,) if self._function(value, ctx.timestamp()) else ()


class StampedFlatMap(api.ProcessFunction):
    """Emits any number of records for each input record."""

    def __init__(self, function: Callable[[object, int | None], Iterable[object]]) -> None:
        self._function = function

    def process_element(self, value: object, ctx: api.ProcessFunction.Context) -> Iterable[object]:
        return self._function(value, ctx.timestamp())


class Explode:
    """Returns the records of a flat_map: each has the kept fields and one item of the sequence."""

    def __init__(self, each: Callable[..., object], keep: tuple[int, ...], bounds: ValueBounds) -> None:
        self._each = each
        self._keep = keep
        self._bounds = bounds
        self._small = bounds.few_rows(len(keep) + 1)

    def __call__(self, value: Any, *timestamp: int | None) -> Iterable[object]:
        items = self._each(value, *timestamp)
        if not isinstance(items, (tuple, list)):
            raise ExpressionFailure(f"flat_map needs a tuple or list, got {type(items).__name__}")
        kept = tuple([value[index] for index in self._keep])
        if len(items) <= self._small:
            return [(*kept, item) for item in items]
        self._bounds.rows(kept, items)
        return ((*kept, item) for item in items)
