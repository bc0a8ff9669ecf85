"""``broadcast``: every subtask stores all records of a second input and looks up its own records in them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from pydantic import Field, model_validator

from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions import broadcast_functions as api
from flowsim.datastream.state import MapStateDescriptor
from flowsim.datastream.streams.broadcast_stream import BroadcastConnectedStream
from flowsim.scenario.context import CompileContext, CompiledStream, emitted_by
from flowsim.scenario.features.inputs import Incoming, SecondInputModel, key_expression, second_input
from flowsim.scenario.language.record_schema import RecordSchema
from flowsim.scenario.types import Columns, ExpressionSource, FunctionModel, exactly_one_of, needs_fields, one_of
from flowsim.scenario.yaml.positions import Path
from flowsim.values.types import Types

REMEMBERED: Final = MapStateDescriptor("remembered", Types.PICKLED_BYTE_ARRAY(), Types.PICKLED_BYTE_ARRAY())


class BroadcastModel(SecondInputModel, json_schema_extra=exactly_one_of("add", "process")):
    """Broadcast state: every subtask stores all records of the second input, and looks up its own records in them."""

    put: ExpressionSource | None = Field(
        default=None,
        description="The key of a record of the second input; a later record with the same key replaces the earlier "
        "one.",
    )
    get: ExpressionSource | None = Field(
        default=None,
        description="The key that a record of the first input looks up, from its fields: `id`, not `left.id`.",
    )
    add: Columns | None = Field(
        default=None,
        description="New fields after those of the record, computed from `left.FIELD` of the record and "
        "`right.FIELD` of the stored record.",
    )
    missing: Columns | None = Field(
        default=None,
        description="The same fields, computed from `left.FIELD`, if nothing was found; without it, such a record is "
        "dropped.",
    )
    process: FunctionModel | None = Field(
        default=None,
        description="A `BroadcastProcessFunction`, with `key_by` a `KeyedBroadcastProcessFunction`.",
    )

    @model_validator(mode="after")
    def _one_form(self) -> BroadcastModel:
        one_of(self, ("add", "process"))
        if self.process is not None:
            needs_fields("python", self.process.fields)
            if self.put is not None or self.get is not None or self.missing is not None:
                raise ValueError("put, get and missing are only for add, remove them")
        elif self.put is None or self.get is None:
            raise ValueError("add needs put and get")
        elif self.missing is not None and list(self.missing) != list(self.add or ()):
            raise ValueError("expected missing to give the fields of add, in that order")
        return self

    def side_output_names(self) -> list[str]:
        """Returns the names of the side outputs of the Python function."""
        return [] if self.process is None else self.process.side_output_names()


def check_broadcast(model: BroadcastModel, has_key: bool) -> None:
    """Raises ValueError for an unused key."""
    if model.add is not None and has_key:
        raise ValueError("broadcast with add needs no key, remove key_by")


def compile_broadcast(context: CompileContext, path: Path, model: BroadcastModel, first: Incoming) -> CompiledStream:
    """Compiles ``broadcast``: returns the stream of the lookups' or the user function's results; raises Failed."""
    second = second_input(context, path, model.to, first)
    connected = first.stream.connect(second.stream.broadcast(REMEMBERED))
    if model.process is not None:
        return _process(context, (*path, "process", "python"), model.process, first, connected)
    put = key_expression(context, (*path, "put"), model.put or "", second.schema)
    get = key_expression(context, (*path, "get"), model.get or "", first.schema)
    add = context.record((*path, "add"), model.add or {}, first.schema.beside(second.schema), keep=False)
    missing = None
    if model.missing is not None:
        alone = first.schema.beside(RecordSchema((), ()))
        missing = context.record((*path, "missing"), model.missing, alone, keep=False)
        if missing.schema.types != add.schema.types:
            expected, got = _types(add.schema), _types(missing.schema)
            raise context.fail((*path, "missing"), f"expected the types of add, {expected}, got {got}")
    for name in add.schema.names:
        if name in first.schema.names:
            raise context.fail((*path, "add", name), f"{name!r} is already a field of the record")
    function = LookupBroadcastState(
        put.function, get.function, add.function, None if missing is None else missing.function
    )
    stream = context.attempt(path, lambda: connected.process(function))
    return CompiledStream(stream, first.schema.with_fields(add.schema.names, add.schema.types))


def _process(
    context: CompileContext,
    path: Path,
    model: FunctionModel,
    first: Incoming,
    connected: BroadcastConnectedStream[DataStream],
) -> CompiledStream:
    kind: type[object] = api.BroadcastProcessFunction if first.key is None else api.KeyedBroadcastProcessFunction
    function = context.instance(path, model.python, kind)
    return emitted_by(model, context.attempt(path, lambda: connected.process(function)))  # type: ignore[arg-type]


def _types(schema: RecordSchema) -> str:
    return ", ".join(kind.value for kind in schema.types)


class LookupBroadcastState(api.BroadcastProcessFunction):
    """Stores broadcast records by key; adds fields of the matching stored record to each record of the other side."""

    def __init__(
        self,
        put: Callable[[Any], Any],
        get: Callable[[Any], Any],
        add: Callable[[Any], Any],
        missing: Callable[[Any], Any] | None,
    ) -> None:
        self._put, self._get, self._add, self._missing = put, get, add, missing

    def process_element(self, value: Any, ctx: api.BroadcastProcessFunction.ReadOnlyContext) -> Iterable[object]:
        remembered: Any = ctx.get_broadcast_state(REMEMBERED).get(self._get(value))
        if remembered is not None:
            return (value + self._add(value + remembered),)
        return () if self._missing is None else (value + self._missing(value),)

    def process_broadcast_element(self, value: Any, ctx: api.BroadcastProcessFunction.Context) -> Iterable[object]:
        ctx.get_broadcast_state(REMEMBERED).put(self._put(value), value)
        return ()
