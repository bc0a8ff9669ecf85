"""Triggers and evictors of windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, assert_never, get_args

from pydantic import Field, model_validator

from flowsim.datastream import window as api
from flowsim.datastream.common.time import Duration
from flowsim.operators.windowing.triggers.time_triggers import EndOfStreamTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger as Trigger
from flowsim.scenario.context import CompileContext
from flowsim.scenario.language.expressions import Expression
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.types import (
    Count,
    DurationMs,
    ExpressionSource,
    PositiveMs,
    PythonReference,
    Strict,
    chosen_of,
    exactly_one_of,
    one_of,
)
from flowsim.scenario.yaml.flink_names import FlinkNames
from flowsim.scenario.yaml.positions import Path


class DeltaModel(Strict):
    """The distance of two records: the difference of the same expression over the two records."""

    of: ExpressionSource = Field(description="A number; the distance is the later record's minus the earlier one's.")
    threshold: float | int = Field(
        description="A trigger fires above this distance; an evictor removes records at this distance or a larger one."
    )


class TimeoutTriggerModel(Strict):
    """Another trigger that also fires some processing time after a record."""

    of: TriggerModel = Field(description="The other trigger.")
    after: PositiveMs = Field(description="The timeout, in processing time.")
    reset_on_record: bool = Field(
        default=False, description="`true`: every record restarts the timeout; `false`: only the first starts it."
    )
    clear_on_timeout: bool = Field(default=True, description="A timeout also clears the other trigger.")


MAX_TRIGGERS: Final = 100
TriggerKind = Literal[
    "count", "continuous_event_time", "continuous_processing_time", "delta", "purging", "timeout", "any_of", "python"
]
TRIGGER_KINDS: tuple[TriggerKind, ...] = get_args(TriggerKind)


class TriggerChoiceModel(Strict, json_schema_extra=exactly_one_of(*TRIGGER_KINDS)):
    """A trigger with parameters; exactly one of the keys."""

    count: Annotated[Count | None, FlinkNames("CountTrigger")] = Field(
        default=None,
        description="Fires after this number of records of a key and window; the records stay in the window.",
    )
    continuous_event_time: Annotated[PositiveMs | None, FlinkNames("ContinuousEventTimeTrigger")] = Field(
        default=None,
        description="Fires at every multiple of this in event time, and at the end of the window. With "
        "`global_window` this does not end: with `MAX_WATERMARK` every multiple up to the end of time is due, as in "
        "Flink; stop such a job without drain.",
    )
    continuous_processing_time: Annotated[PositiveMs | None, FlinkNames("ContinuousProcessingTimeTrigger")] = Field(
        default=None, description="Fires at every multiple of this in processing time."
    )
    delta: Annotated[DeltaModel | None, FlinkNames("DeltaTrigger")] = Field(
        default=None,
        description="Fires when the distance of a record from the record that fired last exceeds the threshold.",
    )
    purging: Annotated[TriggerModel | None, FlinkNames("PurgingTrigger")] = Field(
        default=None, description="Fires like another trigger, and clears the window each time."
    )
    timeout: Annotated[TimeoutTriggerModel | None, FlinkNames("ProcessingTimeoutTrigger")] = Field(
        default=None, description="Fires like another trigger, and also some time after a record that did not fire it."
    )
    any_of: Annotated[list[TriggerModel], Field(min_length=2, max_length=MAX_TRIGGERS)] | None = Field(
        default=None, description="Fires when one of several triggers fires, and clears the window if one of them does."
    )
    python: PythonReference | None = Field(default=None, description="A `Trigger` class of your own.")

    @model_validator(mode="after")
    def _one_kind(self) -> TriggerChoiceModel:
        one_of(self, TRIGGER_KINDS)
        return self


NamedTrigger = Literal["event_time", "processing_time", "never", "end_of_stream"]
TriggerModel = NamedTrigger | TriggerChoiceModel

EvictorKind = Literal["count", "time", "delta", "python"]
EVICTOR_KINDS: tuple[EvictorKind, ...] = get_args(EvictorKind)


class EvictorModel(Strict, json_schema_extra=exactly_one_of(*EVICTOR_KINDS)):
    """Removes records from a window that fires; exactly one of count, time, delta, python."""

    count: Annotated[Count | None, FlinkNames("CountEvictor")] = Field(
        default=None, description="Keeps this number of last records."
    )
    time: Annotated[DurationMs | None, FlinkNames("TimeEvictor")] = Field(
        default=None, description="Keeps records that are less than this much older than the newest record."
    )
    delta: Annotated[DeltaModel | None, FlinkNames("DeltaEvictor")] = Field(
        default=None, description="Keeps records whose distance from the last record is below the threshold."
    )
    python: PythonReference | None = Field(
        default=None, description="An `Evictor` class of your own; not with `after`."
    )
    after: bool = Field(
        default=False, description="Evicts after the window function instead of before; not with `python`."
    )

    @model_validator(mode="after")
    def _one_kind(self) -> EvictorModel:
        one_of(self, EVICTOR_KINDS)
        if self.python is not None and self.after:
            raise ValueError("a user-defined evictor has its own methods for before and after, remove after")
        return self


_NAMED_TRIGGERS: dict[NamedTrigger, Callable[[], Trigger]] = {
    "event_time": api.EventTimeTrigger.create,
    "processing_time": api.ProcessingTimeTrigger.create,
    "never": api.NeverTrigger,
    "end_of_stream": EndOfStreamTrigger,
}


@dataclass(frozen=True, slots=True)
class WindowedRecords:
    """The records of a window, for expressions of its trigger and evictor."""

    context: CompileContext
    schema: RecordSchema

    def number(self, path: Path, source: str) -> Expression:
        """Compiles the expression at ``path``, which gives a number. Raises Failed."""
        expression = self.context.record_expression(path, source, self.schema, "a window")
        if not (expression.type.is_numeric or expression.type is FieldType.ANY):
            raise self.context.fail(path, f"expected a number, this expression gives {expression.type.value}")
        return expression

    def distance(self, path: Path, model: DeltaModel) -> Distance:
        """Compiles the distance of two records. Raises Failed."""
        return Distance(self.number((*path, "of"), model.of).function)


def uses_delta(trigger: TriggerModel | None) -> bool:
    """Returns True if a trigger, or a nested trigger, compares two records."""
    if not isinstance(trigger, TriggerChoiceModel):
        return False
    nested = [trigger.purging, *(trigger.any_of or ())] if trigger.timeout is None else [trigger.timeout.of]
    return trigger.delta is not None or any(uses_delta(one) for one in nested)


def compile_trigger(records: WindowedRecords, path: Path, model: TriggerModel) -> Trigger:
    """Compiles the trigger of the block at ``path``. Raises Failed."""
    if isinstance(model, str):
        return _NAMED_TRIGGERS[model]()
    kind, value = chosen_of(model, TRIGGER_KINDS)
    at = (*path, kind)
    match kind:
        case "count":
            return api.CountTrigger.of(value)
        case "continuous_event_time":
            return api.ContinuousEventTimeTrigger.of(Duration.of_millis(value))
        case "continuous_processing_time":
            return api.ContinuousProcessingTimeTrigger.of(Duration.of_millis(value))
        case "delta":
            return api.DeltaTrigger.of(float(value.threshold), records.distance(at, value))
        case "purging":
            return api.PurgingTrigger.of(compile_trigger(records, at, value))
        case "timeout":
            return _timeout(records, at, value)
        case "any_of":
            return api.AnyOfTrigger.of(*(compile_trigger(records, (*at, i), part) for i, part in enumerate(value)))
        case "python":
            return _user_defined_trigger(records.context, at, value)
    assert_never(kind)


def _timeout(records: WindowedRecords, path: Path, model: TimeoutTriggerModel) -> Trigger:
    of, after = compile_trigger(records, (*path, "of"), model.of), Duration.of_millis(model.after)
    return api.ProcessingTimeoutTrigger.of(of, after, model.reset_on_record, model.clear_on_timeout)


def _user_defined_trigger(context: CompileContext, path: Path, reference: str) -> Trigger:
    trigger = context.python(path, reference)
    if not (isinstance(trigger, type) and issubclass(trigger, api.Trigger)):
        raise context.fail(path, f"expected a Trigger class, got {reference}")
    return context.attempt(path, trigger)


def compile_evictor(records: WindowedRecords, path: Path, model: EvictorModel) -> api.Evictor:
    """Compiles the evictor of the block at ``path``. Raises Failed."""
    kind, value = chosen_of(model, EVICTOR_KINDS)
    at = (*path, kind)
    match kind:
        case "count":
            return api.CountEvictor.of(value, model.after)
        case "time":
            return api.TimeEvictor.of(Duration.of_millis(value), model.after)
        case "delta":
            return api.DeltaEvictor.of(float(value.threshold), records.distance(at, value), model.after)
        case "python":
            return _user_defined_evictor(records.context, at, value)
    assert_never(kind)


def _user_defined_evictor(context: CompileContext, path: Path, reference: str) -> api.Evictor:
    loaded: Any = context.python(path, reference)
    methods = (getattr(loaded, method, None) for method in ("evict_before", "evict_after"))
    if not (isinstance(loaded, type) and all(map(callable, methods))):
        raise context.fail(path, f"expected an Evictor class, with evict_before and evict_after, got {reference}")
    evictor: api.Evictor = context.attempt(path, loaded)
    return evictor


class Distance:
    """A DeltaFunction: the number of the later record minus that of the earlier one."""

    __slots__ = ("_number",)

    def __init__(self, number: Callable[[object], float]) -> None:
        self._number = number

    def __call__(self, old: object, new: object) -> float:
        return float(self._number(new) - self._number(old))
