"""Compiles what an operator makes of a record, for one input as for two."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from flowsim.scenario.compiling.context import CompileContext
from flowsim.scenario.compiling.python_functions import instance_of
from flowsim.scenario.language.expressions import CompiledRecord, compile_expression, compile_record
from flowsim.scenario.language.record_functions import Explode
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.models.operators import FlatMapModel, MapModel
from flowsim.scenario.suggestions import nearest
from flowsim.scenario.yaml_positions import Path


@dataclass(frozen=True, slots=True)
class ExplodedRecord:
    """The function of a flat_map: of a record, and of its timestamp if it uses that."""

    function: Callable[..., list[object]]
    schema: RecordSchema
    uses_timestamp: bool


def mapped_record(context: CompileContext, path: Path, model: MapModel, schema: RecordSchema) -> CompiledRecord:
    """The function of a map without Python; raises Failed."""
    keep = model.add is not None
    columns = dict(model.add or model.select or {})
    at = (*path, "add" if keep else "select")
    return context.columns(at, columns, lambda: compile_record(list(columns.items()), schema, keep=keep))


def exploded_record(context: CompileContext, path: Path, model: FlatMapModel, schema: RecordSchema) -> ExplodedRecord:
    """The function of a flat_map without Python; raises Failed."""
    source = model.each or ""
    each = context.expression((*path, "each"), source, lambda: compile_expression(source, schema))
    if each.type is not FieldType.ANY:
        raise context.fail((*path, "each"), f"expected a tuple or list, this expression gives {each.type.value}")
    item = each.item_type if model.type is None else FieldType(model.type)
    for index, name in enumerate(model.keep):
        if name not in schema.names:
            raise context.fail((*path, "keep", index), f"there is no field {name!r}{nearest(name, schema.names)}")
    explode = Explode(each.function, tuple(schema.index(name) for name in model.keep))
    kept = RecordSchema(tuple(model.keep), tuple(schema.type_of(name) for name in model.keep))
    return ExplodedRecord(explode, kept.with_fields((model.into,), (item,)), each.uses_timestamp)


def instance_of_kind(context: CompileContext, path: Path, reference: str, kind: type[object]) -> object:
    """The function that a reference names, or an instance of the class; raises Failed."""
    found = context.python(path, reference)
    return context.attempt(path, lambda: instance_of(found, kind, reference))
