"""Operators and sinks of a scenario: the nodes between and behind the sources."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from flowsim.datastream.partitioning import PlainPartitioning
from flowsim.operators.inputs.reading_order import Reading
from flowsim.scenario.models.alarms import AlarmModel
from flowsim.scenario.models.async_calls import AsyncModel
from flowsim.scenario.models.functions import FunctionModel, needs_fields
from flowsim.scenario.models.joins import BroadcastModel, CoGroupModel, IntervalJoinModel, JoinModel
from flowsim.scenario.models.network import Exchange
from flowsim.scenario.models.sources import WatermarksModel
from flowsim.scenario.models.types import (
    DurationNs,
    ExpressionSource,
    FieldName,
    FieldTypes,
    Parallelism,
    PythonReference,
    StreamName,
    Strict,
    TimeoutMs,
    TypeName,
    one_of,
)
from flowsim.scenario.models.windows import WindowModel

KINDS = (
    "map", "filter", "flat_map", "aggregate", "reduce", "sum", "min", "max", "min_by", "max_by", "process", "watermarks",
    "alarm", "async", "connect", "join", "co_group", "interval_join", "broadcast",
)  # fmt: skip
_ROLLING = ("sum", "min", "max", "min_by", "max_by")
_NEED_A_KEY = (*_ROLLING, "alarm")
_KEYED_INSIDE = ("connect", "join", "co_group", "interval_join")
"""Both keys stand in the block itself."""


class CustomPartitionModel(Strict):
    """Each record goes to the subtask that a Python function chooses, from its key and the number of subtasks."""

    python: PythonReference = Field(description="package.module:function of key and number; or a Partitioner class.")
    key: ExpressionSource = Field(description="What the function gets of a record.")


Partition = PlainPartitioning | CustomPartitionModel


class MapModel(Strict):
    """One record out for each one in: fields added to it, a selection of expressions, or a Python function."""

    add: Annotated[dict[FieldName, ExpressionSource], Field(min_length=1)] | None = Field(
        default=None, description="New fields behind the others; a known name replaces that field in place."
    )
    select: Annotated[dict[FieldName, ExpressionSource], Field(min_length=1)] | None = Field(
        default=None, description="The output's fields, each an expression over the input's."
    )
    python: PythonReference | None = Field(
        default=None, description="package.module:function, only with --allow-python."
    )
    fields: FieldTypes | None = Field(default=None, description="What the Python function returns, a tuple of these.")

    @model_validator(mode="after")
    def _one_form(self) -> MapModel:
        needs_fields(one_of(self, ("add", "select", "python")), self.fields)
        return self


class FlatMapModel(Strict):
    """One record out for each item of a sequence, or whatever a Python function yields."""

    each: ExpressionSource | None = Field(default=None, description="A tuple or list, such as split(line).")
    into: FieldName = Field(default="item", description="The field that takes the item.")
    type: TypeName | None = Field(default=None, description="Type of the item where the expression does not tell.")
    keep: list[FieldName] = Field(default_factory=list, description="Fields of the input that come before the item.")
    python: PythonReference | None = None
    fields: FieldTypes | None = None

    @model_validator(mode="after")
    def _one_form(self) -> FlatMapModel:
        needs_fields(one_of(self, ("each", "python")), self.fields)
        return self


class ConnectModel(Strict):
    """A second input, and what happens to the records of both; exactly one of map, flat_map, process."""

    to: StreamName | Annotated[list[StreamName], Field(min_length=1)] = Field(
        description="The stream that is the second input, a list for a union; `input` is the first."
    )
    partition: Partition | None = Field(
        default=None, description="Of the second input; the operator's is of the first."
    )
    key_by: Annotated[list[ExpressionSource], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="An expression for each input: equal keys of both meet in one subtask."
    )
    map: Annotated[list[MapModel], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="A map for each input, which give the same fields; no Python here."
    )
    flat_map: Annotated[list[FlatMapModel], Field(min_length=2, max_length=2)] | None = Field(
        default=None, description="A flat_map for each input, which give the same fields; no Python here."
    )
    process: FunctionModel | None = Field(
        default=None, description="A CoProcessFunction, keyed a KeyedCoProcessFunction."
    )
    read: Reading = Field(
        default="any",
        description="Which input is read next: any in turn, the first or second to its end, or one record of each.",
    )

    @model_validator(mode="after")
    def _consistent(self) -> ConnectModel:
        one_of(self, ("map", "flat_map", "process"))
        if self.process is not None:
            needs_fields("python", self.process.fields)
        if any(one.python is not None for one in (*(self.map or ()), *(self.flat_map or ()))):
            raise ValueError("a Python function over two inputs is a process")
        if self.key_by is not None and self.partition is not None:
            raise ValueError("key_by decides the partition, remove partition")
        return self

    def inputs(self) -> list[str]:
        """Names of the streams that are the second input."""
        return [self.to] if isinstance(self.to, str) else list(self.to)


class EdgeModel(Strict):
    """What operators and sinks share: where records come from and how the operator runs."""

    input: StreamName | Annotated[list[StreamName], Field(min_length=1)] = Field(
        description="Name of a source or operator above, OPERATOR.OUTPUT for a side output, a list for a union."
    )
    partition: Partition | None = None
    exchange: Exchange | None = Field(default=None, description="How its inputs are handed over; else the settings'.")
    parallelism: Parallelism | None = None
    cost: DurationNs | None = Field(default=None, description="Virtual time that one record costs.")
    buffer_timeout: TimeoutMs | None = None

    def inputs(self) -> list[str]:
        """Names of the streams it reads."""
        return [self.input] if isinstance(self.input, str) else list(self.input)


class OperatorModel(EdgeModel):
    """One operator; exactly one of the kinds."""

    map: MapModel | None = None
    filter: ExpressionSource | FunctionModel | None = Field(
        default=None, description="Keeps the records for which it is true."
    )
    flat_map: FlatMapModel | None = None
    watermarks: WatermarksModel | None = None
    key_by: ExpressionSource | list[FieldName] | dict[FieldName, ExpressionSource] | None = Field(
        default=None, description="An expression, a list of fields, or named expressions."
    )
    window: WindowModel | None = None
    aggregate: Annotated[dict[FieldName, str], Field(min_length=1)] | None = Field(
        default=None,
        description="Per window: count(), sum(x), min(x), max(x), avg(x), first(x), last(x), with an expression x.",
    )
    reduce: Annotated[dict[FieldName, Literal["sum", "min", "max", "first", "last"]], Field(min_length=1)] | None = (
        Field(
            default=None,
            description="Per key and record: how each field is combined; fields not named keep their first value.",
        )
    )
    sum: FieldName | None = Field(default=None, description="Per key and record: the sum of this field so far.")
    min: FieldName | None = Field(
        default=None, description="The least of this field so far; other fields are the first's."
    )
    max: FieldName | None = Field(
        default=None, description="The greatest of this field so far; other fields are the first's."
    )
    min_by: FieldName | None = Field(default=None, description="The record with the least of this field so far.")
    max_by: FieldName | None = Field(default=None, description="The record with the greatest of this field so far.")
    process: FunctionModel | None = Field(
        default=None,
        description="A ProcessFunction, KeyedProcessFunction or, with a window, ProcessWindowFunction or (without key_by) "
        "ProcessAllWindowFunction.",
    )
    alarm: AlarmModel | None = Field(default=None, description="A timer per key, without Python.")
    async_calls: AsyncModel | None = Field(
        default=None, alias="async", description="Calls that are answered later, many at a time."
    )
    connect: ConnectModel | None = Field(default=None, description="An operator with a second input.")
    join: JoinModel | None = Field(default=None, description="Window join with a second input.")
    co_group: CoGroupModel | None = Field(default=None, description="Window coGroup with a second input.")
    interval_join: IntervalJoinModel | None = Field(default=None, description="Join by nearness in event time.")
    broadcast: BroadcastModel | None = Field(default=None, description="Broadcast state from a second input.")
    max_parallelism: Parallelism | None = None
    chaining: Literal["always", "head", "never"] = "always"

    @property
    def kind(self) -> str:
        """Which kind of operator it is, a member of ``KINDS``."""
        return one_of(self, KINDS)

    @property
    def rolling(self) -> tuple[str, str] | None:
        """Which rolling aggregation it is, and of which field; None for other kinds."""
        return next(((kind, field) for kind in _ROLLING if (field := getattr(self, kind)) is not None), None)

    @property
    def late_outputs(self) -> list[tuple[str, int]]:
        """Side outputs of what comes too late, each with the input (0 or 1) whose fields it has."""
        found: list[tuple[str | None, int]] = []
        if self.window is not None:
            found.append((self.window.late_output, 0))
        if self.interval_join is not None:
            found += [(self.interval_join.late_left, 0), (self.interval_join.late_right, 1)]
        return [(tag, index) for tag, index in found if tag is not None]

    @property
    def side_outputs(self) -> dict[str, dict[str, TypeName]]:
        """Side outputs of its Python function, with their fields."""
        two = self.connect or self.co_group or self.broadcast
        function = self.process if two is None else two.process
        return {} if function is None else {tag: dict(fields) for tag, fields in function.side_outputs.items()}

    @model_validator(mode="after")
    def _consistent(self) -> OperatorModel:
        kind = one_of(self, KINDS)
        self._check_keys(kind)
        self._check_window(kind)
        if self.process is not None:
            needs_fields("python", self.process.fields)
        if isinstance(self.filter, FunctionModel) and (self.filter.fields is not None or self.filter.side_outputs):
            raise ValueError("a filter passes its records on, remove fields and side_outputs")
        return self

    def _check_keys(self, kind: str) -> None:
        if kind in _KEYED_INSIDE and self.key_by is not None:
            raise ValueError(f"the keys of both inputs stand in {kind}.key_by, remove key_by")
        keyed_inside = kind in _KEYED_INSIDE and (self.connect is None or self.connect.key_by is not None)
        if keyed_inside and self.partition is not None:
            raise ValueError(f"{kind}.key_by decides the partition, remove partition")
        if self.key_by is not None and self.partition is not None:
            raise ValueError("key_by decides the partition, remove partition")
        if self.key_by is None and (kind in _NEED_A_KEY or (kind == "reduce" and self.window is None)):
            raise ValueError(f"{kind} needs key_by")
        if self.watermarks is not None and self.watermarks.alignment is not None:
            raise ValueError(
                "alignment stops sources, an operator cannot be stopped: put it into a source's watermarks"
            )
        if kind == "watermarks" and self.key_by is not None:
            raise ValueError("watermarks takes no key_by")
        if (
            kind == "broadcast"
            and self.broadcast is not None
            and self.broadcast.add is not None
            and self.key_by is not None
        ):
            raise ValueError("broadcast with add needs no key, remove key_by")

    def _check_window(self, kind: str) -> None:
        if kind == "aggregate" and self.window is None:
            raise ValueError("aggregate needs a window")
        if self.window is None:
            return
        if kind not in ("aggregate", "reduce", "process"):
            raise ValueError(f"a window needs aggregate, reduce or process, this operator is a {kind}")
        if self.key_by is None and (self.partition is not None or (self.parallelism or 1) > 1):
            raise ValueError(
                "a window without key_by takes all records in one subtask: remove partition and parallelism"
            )


SINK_KINDS = ("parquet", "csv", "jsonl", "collect", "print")


class EmptyModel(Strict):
    """A sink without options: ``{}``."""


class FileSinkModel(Strict):
    """Files of a folder of the sink's own."""

    path: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(
        default=None,
        description="Folder, relative to --out; without it sinks/NAME. Outside --out only with --allow-path.",
    )


class SinkModel(EdgeModel):
    """One sink; exactly one of parquet, csv, jsonl, collect, print."""

    parquet: FileSinkModel | None = None
    csv: FileSinkModel | None = None
    jsonl: FileSinkModel | None = None
    collect: EmptyModel | None = Field(
        default=None, description="Keeps the results in memory, shown at the end of the run."
    )
    print: EmptyModel | None = None
    chaining: Literal["always", "never"] = "always"

    @property
    def kind(self) -> str:
        """parquet, csv, jsonl, collect or print."""
        return one_of(self, SINK_KINDS)

    @model_validator(mode="after")
    def _one_kind(self) -> SinkModel:
        one_of(self, SINK_KINDS)
        return self
