"""Operators of a scenario: the model, and one row per kind of operator. A new kind is a file, a field and a row.

Kinds of other packages have their field in the row (``register_operator``).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Final, Literal, Protocol, runtime_checkable

from pydantic import Field, create_model, model_validator

from flowsim.datastream.data_stream import DataStream, KeyedStream
from flowsim.datastream.output_tag import OutputTag
from flowsim.scenario.context import CompileContext, CompiledStream
from flowsim.scenario.features.alarms import AlarmModel, compile_alarm
from flowsim.scenario.features.async_calls import AsyncModel, compile_async
from flowsim.scenario.features.broadcast import BroadcastModel, check_broadcast, compile_broadcast
from flowsim.scenario.features.connect import ConnectModel, compile_connect
from flowsim.scenario.features.costs import set_cost
from flowsim.scenario.features.inputs import EdgeModel, Incoming, SecondInputModel, incoming_of, second_input
from flowsim.scenario.features.interval_joins import IntervalJoinModel, compile_interval_join
from flowsim.scenario.features.joins import CoGroupModel, JoinModel, compile_co_group, compile_join
from flowsim.scenario.features.maps import (
    FilterModel,
    FlatMapModel,
    MapModel,
    check_filter,
    compile_filter,
    compile_flat_map,
    compile_map,
)
from flowsim.scenario.features.process import check_process, compile_process
from flowsim.scenario.features.state_ttl import StateTtlModel, state_ttl_config
from flowsim.scenario.features.window_functions import (
    AggregateModel,
    ReduceModel,
    Rolling,
    compile_aggregate,
    compile_reduce,
)
from flowsim.scenario.features.windows import WindowModel
from flowsim.scenario.sources.watermarks import WatermarksModel, check_watermarks, compile_watermarks
from flowsim.scenario.types import (
    FIELD_PATTERN,
    ExpressionSource,
    FieldName,
    FunctionModel,
    Parallelism,
    PositiveMs,
    Strict,
    chosen_of,
    exactly_one_of,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path

Compile = Callable[[CompileContext, Path, Any, Incoming], CompiledStream]
"""A function of the path and the value of the block, and of the operator's inputs."""
Check = Callable[[Any, bool], None]
"""A function of the value of the block, and of whether the operator has ``key_by``; raises ValueError."""


@dataclass(frozen=True, slots=True)
class OperatorKind:
    """One kind of operator: its compilation, and the other keys of ``OperatorModel`` that the kind allows."""

    compile: Compile
    check: Check | None = None
    """The checks that the model of the block cannot do itself."""
    needs_key: bool = False
    """True if the kind needs ``key_by``; never with a window."""
    keys_inside: bool = False
    """True if the block has its own ``key_by``, with a key for each input."""
    window: Literal["none", "optional", "required"] = "none"
    has_state: Callable[[Any], bool] = lambda value: False
    """A function of the value of the block: True if the operator's function may have keyed state that can expire."""
    tags_records: bool = False
    """True if the operator has one input, with the records of both streams, each with the number of its stream."""
    block: type[Strict] | None = None
    """The model of the block of another package's kind; None: ``OperatorModel`` has the field."""
    description: str = ""
    """The text of that field."""


def _always(value: Any) -> bool:
    return True


def _in_python(value: Any) -> bool:
    return getattr(value, "python", None) is not None


def _in_process(value: Any) -> bool:
    return value.process is not None


OPERATOR_KINDS: Final[dict[str, OperatorKind]] = {
    "map": OperatorKind(compile_map, has_state=_in_python),
    "filter": OperatorKind(compile_filter, check_filter, has_state=_in_python),
    "flat_map": OperatorKind(compile_flat_map, has_state=_in_python),
    "aggregate": OperatorKind(compile_aggregate, window="required"),
    "reduce": OperatorKind(compile_reduce, needs_key=True, has_state=_always, window="optional"),
    "sum": OperatorKind(Rolling(KeyedStream.sum, numbers_only=True), needs_key=True, has_state=_always),
    "min": OperatorKind(Rolling(KeyedStream.min), needs_key=True, has_state=_always),
    "max": OperatorKind(Rolling(KeyedStream.max), needs_key=True, has_state=_always),
    "min_by": OperatorKind(Rolling(KeyedStream.min_by), needs_key=True, has_state=_always),
    "max_by": OperatorKind(Rolling(KeyedStream.max_by), needs_key=True, has_state=_always),
    "process": OperatorKind(compile_process, check_process, window="optional", has_state=_in_python),
    "watermarks": OperatorKind(compile_watermarks, check_watermarks),
    "alarm": OperatorKind(compile_alarm, needs_key=True, has_state=_always),
    "async": OperatorKind(compile_async),
    "connect": OperatorKind(compile_connect, keys_inside=True, has_state=_in_process),
    "join": OperatorKind(compile_join, keys_inside=True, tags_records=True),
    "co_group": OperatorKind(compile_co_group, keys_inside=True, tags_records=True),
    "interval_join": OperatorKind(compile_interval_join, keys_inside=True),
    "broadcast": OperatorKind(compile_broadcast, check_broadcast, has_state=_in_process),
}


@runtime_checkable
class HasSideOutputs(Protocol):
    """A block with side outputs, which other nodes read as OPERATOR.NAME."""

    def side_output_names(self) -> list[str]: ...


class OperatorModel(EdgeModel, json_schema_extra=exactly_one_of(*OPERATOR_KINDS)):
    """One operator; exactly one of the kinds."""

    map: MapModel | None = Field(default=None, description="One output record for each input record.")
    filter: FilterModel | None = Field(default=None, description="Keeps the records for which this is true.")
    flat_map: FlatMapModel | None = Field(
        default=None, description="Any number of output records for each input record."
    )
    watermarks: Annotated[WatermarksModel | None, FlinkNames("assign_timestamps_and_watermarks")] = Field(
        default=None, description="Assigns timestamps and watermarks at this operator instead of at the source."
    )
    key_by: ExpressionSource | list[FieldName] | dict[FieldName, ExpressionSource] | None = Field(
        default=None,
        description="The key. A list or mapping creates a key with several parts. A key belongs to a key group, and "
        "a key group to a subtask: a few keys can all be in one subtask ([tutorial 01](tutorial/01_flights.md), "
        "`max_parallelism`).",
    )
    window: Annotated[WindowModel | None, FlinkNames("window_all")] = Field(
        default=None,
        description="The windows of `aggregate`, `reduce` and `process`; without `key_by`, one subtask processes all "
        "records.",
    )
    aggregate: AggregateModel | None = Field(
        default=None,
        description="Per key and window: `count()`, `sum(x)`, `min(x)`, `max(x)`, `avg(x)`, `first(x)` or `last(x)`, "
        "with an expression x (see below).",
    )
    having: ExpressionSource | None = Field(
        default=None,
        description="Of `aggregate`: only results for which this is true, an expression over the aggregates; otherwise the "
        "window has no result (rule 10.32).",
    )
    reduce: ReduceModel | None = Field(
        default=None,
        description="Per key, emitted with every record, or with a `window` when it fires: how each field is "
        "combined; other fields keep their first value.",
    )
    sum: FieldName | None = Field(
        default=None,
        description="Per key, emitted with every record: the sum of this field so far; the other fields are those of "
        "the first record.",
    )
    min: FieldName | None = Field(
        default=None,
        description="Per key, emitted with every record: the smallest value of this field so far; the other fields "
        "are those of the first record.",
    )
    max: FieldName | None = Field(
        default=None,
        description="Per key, emitted with every record: the largest value of this field so far; the other fields "
        "are those of the first record.",
    )
    min_by: FieldName | None = Field(
        default=None,
        description="Per key, emitted with every record: the record with the smallest value of this field so far, "
        "the first of equal records.",
    )
    max_by: FieldName | None = Field(
        default=None,
        description="Per key, emitted with every record: the record with the largest value of this field so far, the "
        "first of equal records.",
    )
    process: FunctionModel | None = Field(
        default=None,
        description="A `ProcessFunction`; with `key_by` a `KeyedProcessFunction`, with `window` a "
        "`ProcessWindowFunction`, or without `key_by` a `ProcessAllWindowFunction`.",
    )
    alarm: Annotated[
        AlarmModel | None, FlinkNames("register_event_time_timer", "register_processing_time_timer", "on_timer")
    ] = Field(default=None, description="A timer per key, without Python.")
    async_calls: Annotated[AsyncModel | None, FlinkNames("AsyncDataStream")] = Field(
        default=None, alias="async", description="Asynchronous calls, many at the same time."
    )
    connect: ConnectModel | None = Field(default=None, description="An operator with a second input.")
    join: JoinModel | None = Field(
        default=None, description="Window join: pairs of records with equal keys in one window."
    )
    co_group: CoGroupModel | None = Field(
        default=None, description="Window coGroup: all records of two streams with equal keys in one window."
    )
    interval_join: IntervalJoinModel | None = Field(
        default=None, description="Interval join: pairs of records with equal keys that are close in event time."
    )
    broadcast: BroadcastModel | None = Field(
        default=None, description="Broadcast state: every subtask stores a second stream."
    )
    max_parallelism: Annotated[Parallelism | None, FlinkNames("set_max_parallelism")] = Field(
        default=None,
        description="Number of key groups, at least the parallelism. Without it the value of the settings, or "
        "computed from the parallelism.",
    )
    state_ttl: Annotated[PositiveMs | StateTtlModel | None, FlinkNames("enable_time_to_live", "StateTtlConfig")] = (
        Field(
            default=None,
            description="Lets the keyed states of the operator's function expire, unless they have a time to live of "
            "their own.",
        )
    )
    chaining: Annotated[
        Literal["always", "head", "never"], FlinkNames(("start_new_chain", "head"), ("disable_chaining", "never"))
    ] = Field(default="always", description="`head`: the operator starts a chain; `never`: it is a task of its own.")

    @property
    def chosen(self) -> tuple[str, Any]:
        """The operator's kind, a key of ``OPERATOR_KINDS``, and the value of that block."""
        return chosen_of(self, OPERATOR_KINDS)

    def side_output_names(self) -> list[str]:
        """Returns the side outputs of the operator's window, then those of its block."""
        blocks = (self.window, self.chosen[1])
        return [tag for block in blocks if isinstance(block, HasSideOutputs) for tag in block.side_output_names()]

    @model_validator(mode="after")
    def _consistent(self) -> OperatorModel:
        kind, value = self.chosen
        row = OPERATOR_KINDS[kind]
        self._check_keys(kind, row, value)
        self._check_window(kind, row)
        self._check_state_ttl(kind, row, value)
        if row.check is not None:
            row.check(value, self.key_by is not None)
        return self

    def _check_keys(self, kind: str, row: OperatorKind, value: Any) -> None:
        if row.keys_inside and self.key_by is not None:
            raise ValueError(f"{kind}.key_by has the keys of both inputs, remove key_by")
        if row.keys_inside and value.key_by is not None and self.partition is not None:
            raise ValueError(f"{kind}.key_by decides the partition, remove partition")
        if self.key_by is not None and self.partition is not None:
            raise ValueError("key_by decides the partition, remove partition")
        is_windowed = self.window is not None and row.window != "none"
        if row.needs_key and self.key_by is None and not is_windowed:
            raise ValueError(f"{kind} needs key_by")

    def _check_window(self, kind: str, row: OperatorKind) -> None:
        if self.having is not None and kind != "aggregate":
            raise ValueError(f"having needs aggregate, this operator is a {kind}")
        if self.window is None:
            if row.window == "required":
                raise ValueError(f"{kind} needs a window")
            return
        if row.window == "none":
            windowed = [name for name, each in OPERATOR_KINDS.items() if each.window != "none"]
            expected = f"{', '.join(windowed[:-1])} or {windowed[-1]}"
            raise ValueError(f"a window needs {expected}, this operator is a {kind}")
        if self.key_by is None and (self.partition is not None or (self.parallelism or 1) > 1):
            raise ValueError(
                "a window without key_by takes all records in one subtask: remove partition and parallelism"
            )

    def _check_state_ttl(self, kind: str, row: OperatorKind, value: Any) -> None:
        if self.state_ttl is None:
            return
        if self.window is not None or not row.has_state(value):
            what = "windows" if self.window is not None else f"this {kind}"
            raise ValueError(f"state_ttl is for keyed state of a function, {what} has none that can expire: remove it")
        if self.key_by is None and getattr(value, "key_by", None) is None:
            raise ValueError("state_ttl needs key_by")


def register_operator(name: str, kind: OperatorKind) -> None:
    """Adds a kind of operator of another package: a key of operators, whose block has a model.

    Raises ValueError if operators have this key already, or if it is no name of a field.
    """
    known = {each for key, field in OperatorModel.model_fields.items() for each in (key, field.alias)}
    if name in known or hasattr(OperatorModel, name) or not re.fullmatch(FIELD_PATTERN, name):
        raise ValueError(f"a kind of operator cannot have the name {name!r}")
    if kind.block is None:
        raise ValueError(f"the kind of operator {name!r} has no block")
    if OPERATOR_KINDS.setdefault(name, kind) != kind:
        raise ValueError(f"there is another kind of operator {name!r}")


def operator_model() -> type[OperatorModel]:
    """Returns the model of operators with the kinds of other packages that are registered now."""
    return _model_with(tuple((name, kind) for name, kind in OPERATOR_KINDS.items() if kind.block is not None))


@cache
def _model_with(kinds: tuple[tuple[str, OperatorKind], ...]) -> type[OperatorModel]:
    if not kinds:
        return OperatorModel
    fields: Any = {
        name: (kind.block | None, Field(default=None, description=kind.description))
        for name, kind in kinds
        if kind.block
    }
    keys = exactly_one_of(*OPERATOR_KINDS)
    model = OperatorModel
    return create_model(
        model.__name__, __base__=model, __doc__=model.__doc__, __cls_kwargs__={"json_schema_extra": keys}, **fields
    )


def compile_operator(context: CompileContext, name: str, model: OperatorModel) -> None:
    """Adds one operator and its side outputs to the job's streams; raises Failed."""
    path: Path = ("operators", name)
    incoming = incoming_of(context, path, model, model.key_by, model.window)
    incoming = replace(incoming, having=model.having)
    kind, value = model.chosen
    result = OPERATOR_KINDS[kind].compile(context, (*path, kind), value, incoming)
    _settle(context, path, name, model, result.stream)
    schemas = [incoming.schema]
    if isinstance(value, SecondInputModel):
        schemas.append(second_input(context, (*path, kind), value.to, incoming).schema)
    is_tagged = OPERATOR_KINDS[kind].tags_records
    set_cost(context, path, result.stream, model.cost, schemas, is_tagged=is_tagged)
    context.streams[name] = result
    sides = dict(result.side_outputs)
    if model.window is not None and model.window.late_output is not None:
        sides = {model.window.late_output: incoming.schema} | sides
    for tag, schema in sides.items():
        context.streams[f"{name}.{tag}"] = CompiledStream(result.stream.get_side_output(OutputTag(tag)), schema)


def _settle(context: CompileContext, path: Path, name: str, model: OperatorModel, stream: DataStream) -> None:
    stream.name(name)
    if model.parallelism is not None:
        stream.set_parallelism(model.parallelism)
    if model.max_parallelism is not None:
        parallelism = model.parallelism or context.env.get_parallelism()
        if model.max_parallelism < parallelism:
            raise context.fail(
                (*path, "max_parallelism"),
                f"expected at least the parallelism {parallelism}, got {model.max_parallelism}",
            )
        stream.set_max_parallelism(model.max_parallelism)
    if model.buffer_timeout is not None:
        stream.set_buffer_timeout(model.buffer_timeout)
    if model.chaining == "head":
        stream.start_new_chain()
    elif model.chaining == "never":
        stream.disable_chaining()
    if model.state_ttl is not None:
        stream.state_ttl(state_ttl_config(model.state_ttl))
    if model.slot_sharing_group is not None:
        stream.slot_sharing_group(model.slot_sharing_group)
