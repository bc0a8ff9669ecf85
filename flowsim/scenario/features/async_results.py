"""The results of simulated calls of ``async``: computed from the record, or a row of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, field_validator, model_validator

from flowsim.connectors.lookup_table import LookupTable, read_lookup_table
from flowsim.scenario.context import CompileContext, declared, without_timestamp
from flowsim.scenario.features.async_latency import A_FUNCTION
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.value_bounds import ExpressionFailure
from flowsim.scenario.types import (
    Columns,
    ExpressionSource,
    FieldName,
    FieldTypes,
    FilePath,
    Strict,
    exactly_one_of,
    one_of,
)
from flowsim.scenario.yaml.positions import Path

Results = Callable[[Any], Sequence[object]]
Missing = Literal["nulls", "drop", "fail"]


class LookupModel(Strict):
    """A lookup table: the result is the record and the columns of the row with its key."""

    csv: FilePath = Field(
        description="A file with a header line (`.gz` too), relative to the scenario's folder; outside it only with "
        "`--allow-path`."
    )
    columns: FieldTypes = Field(
        description="The columns to read, with their types; one is the key, the others are added to the record."
    )
    key: ExpressionSource = Field(description="The key to look up, computed from the record.")
    key_column: FieldName = Field(description="The column with the key; each value occurs once.")
    missing: Literal["nulls", "drop", "fail"] = Field(
        default="nulls",
        description="If no row has the key: the fields are null, there is no result, or the call fails.",
    )
    delimiter: Annotated[str, Field(min_length=1, max_length=1)] = Field(
        default=",", description="The character between two fields of the file."
    )

    @model_validator(mode="after")
    def _has_key(self) -> LookupModel:
        if self.key_column not in self.columns:
            raise ValueError(f"key_column {self.key_column!r} is not one of the columns: {', '.join(self.columns)}")
        if len(self.columns) < 2:
            raise ValueError("expected a column other than the key, to add to the record")
        return self


class TimedOutModel(Strict, json_schema_extra=exactly_one_of("select", "add")):
    """The result of a record that timed out; exactly one of select, add."""

    select: Columns | None = Field(default=None, description="One record with these fields.")
    add: Columns | None = Field(default=None, description="The record with these fields after its own.")

    @field_validator("add", mode="before")
    @classmethod
    def _adds_a_field(cls, value: object) -> object:
        if value == {}:
            raise ValueError(
                "expected at least one field; for a result without new fields use select, such as {select: {key: key}}"
            )
        return value

    @model_validator(mode="after")
    def _one_form(self) -> TimedOutModel:
        one_of(self, ("select", "add"))
        return self


def compile_answer(
    context: CompileContext, path: Path, columns: Mapping[str, str], schema: RecordSchema, *, keep: bool
) -> tuple[Results, RecordSchema]:
    """Compiles the ``add`` (``keep``) or ``select`` block at ``path`` to a result and its fields. Raises Failed."""
    record = context.record(path, columns, schema, keep=keep)
    if record.uses_timestamp:
        raise context.fail(path, without_timestamp(A_FUNCTION))
    return OneResult(record.function), record.schema


def compile_lookup(
    context: CompileContext, path: Path, model: LookupModel, schema: RecordSchema
) -> tuple[Results, RecordSchema]:
    """Compiles the ``lookup`` block at ``path`` to a result and its fields. Raises Failed."""
    key = context.record_expression((*path, "key"), model.key, schema, A_FUNCTION)
    key_type = FieldType(model.columns[model.key_column])
    if not _may_meet(key.type, key_type):
        raise context.fail(
            (*path, "key"),
            f"a key of type {key.type.value} never equals a value of column {model.key_column!r} of type {key_type.value}",
        )
    for name in model.columns:
        if name != model.key_column and name in schema.names:
            raise context.fail((*path, "columns", name), f"{name!r} is already a field of the record")
    at, columns = (*path, "csv"), dict(model.columns)
    file = context.input_file(at, model.csv)
    table = context.attempt(at, lambda: read_lookup_table(file, columns, model.key_column, model.delimiter))
    added = declared({name: columns[name] for name in table.names})
    return LookUpRow(key.function, table, model.missing), schema.with_fields(added.names, added.types)


def _may_meet(one: FieldType, other: FieldType) -> bool:
    """Returns True if values of both types can be equal."""
    return FieldType.ANY in (one, other) or one is other or (one.is_numeric and other.is_numeric)


def compile_timed_out(
    context: CompileContext, path: Path, model: TimedOutModel, record: RecordSchema, result: RecordSchema
) -> Results:
    """Compiles the result after a timeout, which has the fields of the other results. Raises Failed."""
    keep = model.add is not None
    at = (*path, "add" if keep else "select")
    function, schema = compile_answer(context, at, model.add or model.select or {}, record, keep=keep)
    if not fits(schema, result):
        raise context.fail(at, f"expected the fields of the other results, {result.text()}, got {schema.text()}")
    return function


def fits(schema: RecordSchema, wanted: RecordSchema) -> bool:
    """Returns True if records of one schema are valid for the other schema; every integer type matches the others."""
    return schema.names == wanted.names and all(
        FieldType.ANY in (one, other) or one is other or (one.is_integer and other.is_integer)
        for one, other in zip(schema.types, wanted.types, strict=True)
    )


class OneResult:
    """Returns the record that an expression computes from a record."""

    def __init__(self, record: Callable[[Any], object]) -> None:
        self._record = record

    def __call__(self, value: Any) -> Sequence[object]:
        return (self._record(value),)


class LookUpRow:
    """Returns the record followed by the table row with the record's key."""

    def __init__(self, key: Callable[[Any], object], table: LookupTable, missing: Missing) -> None:
        self._key = key
        self._table = table
        self._missing = missing

    def __call__(self, value: Any) -> Sequence[object]:
        key = self._key(value)
        if isinstance(key, tuple | list | dict):
            raise ExpressionFailure(f"a key is a number, a text or a boolean, got {key!r:.100}")
        row = self._table.get(key)
        if row is not None:
            return (value + row,)
        if self._missing == "fail":
            raise ExpressionFailure(f"no row of the table has the key {key!r:.100}")
        return () if self._missing == "drop" else (value + (None,) * len(self._table.names),)


def no_results(value: object) -> Sequence[object]:
    """Returns no results: the record is dropped."""
    return ()
