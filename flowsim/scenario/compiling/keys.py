"""Compiles keys: ``key_by`` of an operator, and the two keys of an operator with two inputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flowsim.datastream.data_stream import KeyedStream
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext, type_information
from flowsim.scenario.language.expressions import Expression, compile_expression, compile_record
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.yaml_positions import Path
from flowsim.values import TypeInformation

KeyBy = str | list[str] | dict[str, str] | None

_NO_TIMESTAMP = "a key does not see the timestamp: add it as a field in a map before"


@dataclass(frozen=True, slots=True)
class Key:
    """How a stream is keyed: the selector, and the fields that results of a key begin with."""

    selector: Callable[..., object]
    schema: RecordSchema
    composite: bool


class TwoKeys(NamedTuple):
    """The keys of two inputs, and their declared type, None where it is not known."""

    first: Expression
    second: Expression
    type: TypeInformation | None


def keyed_by(context: CompileContext, path: Path, incoming: CompiledStream, by: KeyBy) -> KeyedStream:
    """The stream by the key of the operator at ``path``; raises Failed."""
    key = key_of(context, path, by, incoming.schema)
    key_type = type_information(key.schema.types, key.composite)
    return context.attempt((*path, "key_by"), lambda: incoming.stream.key_by(key.selector, key_type))


def key_of(context: CompileContext, path: Path, by: KeyBy, schema: RecordSchema) -> Key:
    """What ``key_by`` of the operator at ``path`` means; raises Failed."""
    at = (*path, "key_by")
    if isinstance(by, str):
        expression = key_expression(context, at, by, schema)
        name = by.strip() if by.strip() in schema.names else "key"
        return Key(expression.function, RecordSchema((name,), (expression.type,)), composite=False)
    columns = dict(by) if isinstance(by, dict) else {name: name for name in by or ()}
    if not columns or (isinstance(by, list) and len(columns) != len(by)):
        raise context.fail(at, "expected different fields, at least one")
    record = context.columns(at, columns, lambda: compile_record(list(columns.items()), schema, keep=False))
    if record.uses_timestamp:
        raise context.fail(at, _NO_TIMESTAMP)
    return Key(record.function, record.schema, composite=True)


def two_keys(
    context: CompileContext, path: Path, sources: Sequence[str], schemas: tuple[RecordSchema, RecordSchema]
) -> TwoKeys:
    """The keys of both inputs, of one type; raises Failed."""
    first, second = (key_expression(context, (*path, i), sources[i], schemas[i]) for i in range(2))
    if first.type is not second.type:
        raise context.fail(
            path, f"expected keys of one type, the first is {first.type.value}, the second {second.type.value}"
        )
    return TwoKeys(first, second, type_information((first.type,), composite=False))


def key_expression(context: CompileContext, path: Path, source: str, schema: RecordSchema) -> Expression:
    """A key, which sees the record alone; raises Failed."""
    key = context.expression(path, source, lambda: compile_expression(source, schema))
    if key.uses_timestamp:
        raise context.fail(path, _NO_TIMESTAMP)
    return key
