"""``join`` and ``co_group``: join two streams by key in a window."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Annotated, Any

from pydantic import Field, model_validator

from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions import AggregateFunction, CoGroupFunction, JoinFunction
from flowsim.datastream.streams.joined_streams import EqualTo, P
from flowsim.scenario.context import CompileContext, CompiledStream, emitted_by
from flowsim.scenario.features.inputs import Incoming, KeyedSecondInputModel, second_input, two_keys
from flowsim.scenario.features.triggers import uses_delta
from flowsim.scenario.features.windows import GapModel, PlainWindowModel, WindowParts
from flowsim.scenario.language.aggregates import compile_aggregates
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.types import Columns, FieldName, FunctionModel, needs_fields
from flowsim.scenario.yaml.positions import Path

Pair = Callable[[Any], Any]
"""A function of both records as one tuple: the fields of the first record, then those of the second."""


def _check_pairs(window: PlainWindowModel) -> None:
    """Raises ValueError if the window depends on the fields of one side, because both sides share the window."""
    if isinstance(window.session, GapModel):
        raise ValueError("a session of two streams needs a fixed gap")
    if uses_delta(window.trigger) or (window.evictor is not None and window.evictor.delta is not None):
        raise ValueError("delta compares records of one stream, but this operator has two")


class JoinModel(KeyedSecondInputModel):
    """Window join: one record for each pair of equal keys in one window."""

    window: PlainWindowModel = Field(description="The windows of both inputs; a pair needs a common window.")
    select: Columns = Field(description="Fields of the output, over `left.FIELD` and `right.FIELD`.")

    @model_validator(mode="after")
    def _shared_window(self) -> JoinModel:
        _check_pairs(self.window)
        return self


class CoGroupModel(KeyedSecondInputModel):
    """Processes all records of both inputs with one key and window: aggregates of each side, or a Python function."""

    window: PlainWindowModel = Field(description="The windows of both inputs.")
    left: Annotated[dict[FieldName, str], Field(min_length=1)] | None = Field(
        default=None, description="Aggregates over the records of the first input."
    )
    right: Annotated[dict[FieldName, str], Field(min_length=1)] | None = Field(
        default=None,
        description="Aggregates over the records of the second input. The result is `key`, then the left aggregates, "
        "then the right aggregates.",
    )
    process: FunctionModel | None = Field(
        default=None, description="A `CoGroupFunction` instead of `left` and `right`."
    )

    @model_validator(mode="after")
    def _one_form(self) -> CoGroupModel:
        if (self.left is None and self.right is None) == (self.process is None):
            raise ValueError("expected left and right, or one of them; or process")
        _check_pairs(self.window)
        if self.process is not None:
            needs_fields("python", self.process.fields)
        return self

    def side_output_names(self) -> list[str]:
        """Returns the side outputs of the block's Python function."""
        return [] if self.process is None else self.process.side_output_names()


def compile_join(context: CompileContext, path: Path, model: JoinModel, first: Incoming) -> CompiledStream:
    """Adds a join that emits one record per pair in one window. Raises Failed."""
    second = second_input(context, path, model.to, first)
    keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
    select = context.record((*path, "select"), model.select, first.schema.beside(second.schema), keep=False)
    joined = first.stream.join(second.stream)
    keyed = joined.where(keys.first.function, keys.type).equal_to(keys.second.function)
    cut = _cut(context, (*path, "window"), keyed, model.window, first.schema)
    return CompiledStream(context.attempt(path, lambda: cut.apply(SelectPair(select.function))), select.schema)


def compile_co_group(context: CompileContext, path: Path, model: CoGroupModel, first: Incoming) -> CompiledStream:
    """Adds a coGroup, which computes a result from all records of both sides in one window. Raises Failed."""
    second = second_input(context, path, model.to, first)
    keys = two_keys(context, (*path, "key_by"), model.key_by, (first.schema, second.schema))
    grouped = first.stream.co_group(second.stream)
    keyed = grouped.where(keys.first.function, keys.type).equal_to(keys.second.function)
    cut = _cut(context, (*path, "window"), keyed, model.window, first.schema)
    if model.process is not None:
        at = (*path, "process", "python")
        function = context.function(at, model.process.python, CoGroupFunction)
        return emitted_by(model.process, context.attempt(at, lambda: cut.apply(function)))  # type: ignore[arg-type]
    sides, schema = [], RecordSchema((), ())
    for side, columns, record_schema in (("left", model.left, first.schema), ("right", model.right, second.schema)):
        named: Mapping[str, str] = columns or {}
        at = (*path, side)
        function, results = context.columns(
            at, named, partial(compile_aggregates, named, record_schema, context.limits)
        )
        for name in results.names:
            if name == "key" or name in schema.names:
                raise context.fail((*at, name), f"{name!r} is already a field of the result")
        schema = schema.with_fields(results.names, results.types)
        sides.append(function)
    key = RecordSchema(("key",), (keys.first.type,))
    both = AggregateBoth(keys.first.function, keys.second.function, sides[0], sides[1])
    stream = context.attempt(path, lambda: cut.apply(both))
    return CompiledStream(stream, key.with_fields(schema.names, schema.types))


def _cut(
    context: CompileContext, path: Path, keyed: EqualTo[DataStream, P], window: PlainWindowModel, schema: RecordSchema
) -> P:
    """Returns the two keyed streams in windows; expressions of the window use the first side's records."""
    parts = WindowParts(context, path, window, schema)

    def made() -> P:
        cut = keyed.window(parts.assigner)
        if parts.trigger is not None:
            cut = cut.trigger(parts.trigger)
        if parts.evictor is not None:
            cut = cut.evictor(parts.evictor)
        return cut.allowed_lateness(window.allowed_lateness) if window.allowed_lateness else cut

    return context.attempt(path, made)


class SelectPair(JoinFunction):
    """Returns the selected fields of a pair."""

    def __init__(self, select: Pair) -> None:
        self._select = select

    def join(self, first: Any, second: Any) -> object:
        return self._select(first + second)


class AggregateBoth(CoGroupFunction):
    """Returns the key, then the aggregates of the first side, then the aggregates of the second side."""

    def __init__(self, first_key: Pair, second_key: Pair, first: AggregateFunction, second: AggregateFunction) -> None:
        self._first_key, self._second_key = first_key, second_key
        self._sides = (first, second)

    def co_group(self, first: Iterable[Any], second: Iterable[Any]) -> Iterable[object]:
        groups = (list(first), list(second))
        if not groups[0] and not groups[1]:
            # An evictor removed all records, and the key was in them.
            return ()
        key = self._first_key(groups[0][0]) if groups[0] else self._second_key(groups[1][0])
        folded: list[object] = [key]
        for function, records in zip(self._sides, groups, strict=True):
            accumulator = function.create_accumulator()
            for record in records:
                accumulator = function.add(record, accumulator)
            result = function.get_result(accumulator)
            assert isinstance(result, tuple)
            folded.extend(result)
        return (tuple(folded),)
