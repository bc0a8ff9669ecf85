"""Compiles ``window:`` blocks: assigner, trigger, evictor, lateness."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flowsim.datastream import window as api
from flowsim.datastream.common.time import Duration
from flowsim.datastream.data_stream import DataStream, KeyedStream
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.streams.windowed_streams import AllWindowedStream, WindowedStream
from flowsim.operators.windowing.triggers.time_triggers import EndOfStreamTrigger
from flowsim.operators.windowing.triggers.trigger import AnyTrigger as Trigger
from flowsim.scenario.compiling.compiled import CompiledStream
from flowsim.scenario.compiling.context import CompileContext
from flowsim.scenario.language.expressions import Expression, compile_expression
from flowsim.scenario.language.record_schema import FieldType, RecordSchema
from flowsim.scenario.language.window_numbers import Distance, Gap
from flowsim.scenario.models.windows import (
    CountWindowModel,
    DeltaModel,
    EvictorModel,
    GapModel,
    PlainWindowModel,
    TriggerModel,
    WindowModel,
)
from flowsim.scenario.yaml_positions import Path

_NAMED_TRIGGERS: dict[str, Callable[[], Trigger]] = {
    "event_time": api.EventTimeTrigger.create,
    "processing_time": api.ProcessingTimeTrigger.create,
    "never": api.NeverTrigger,
    "end_of_stream": EndOfStreamTrigger,
}


def windowed(
    context: CompileContext, path: Path, incoming: CompiledStream, window: WindowModel
) -> WindowedStream[DataStream] | AllWindowedStream[DataStream]:
    """The stream cut into the windows of the block at ``path``; a stream that is not keyed as a whole. Raises Failed."""
    parts = WindowParts(context, path, window, incoming.schema)
    stream = incoming.stream
    return context.attempt(path, lambda: _cut(stream, window, parts))


def _cut(
    stream: DataStream, window: WindowModel, parts: WindowParts
) -> WindowedStream[DataStream] | AllWindowedStream[DataStream]:
    cut: WindowedStream[DataStream] | AllWindowedStream[DataStream]
    cut = stream.window(parts.assigner) if isinstance(stream, KeyedStream) else stream.window_all(parts.assigner)
    if parts.trigger is not None:
        cut.trigger(parts.trigger)
    if parts.evictor is not None:
        cut.evictor(parts.evictor)
    if window.allowed_lateness:
        cut.allowed_lateness(window.allowed_lateness)
    if window.late_output is not None:
        cut.side_output_late_data(OutputTag(window.late_output))
    return cut


class WindowParts:
    """Assigner, trigger and evictor of a block, over records of one schema; raises Failed."""

    def __init__(self, context: CompileContext, path: Path, window: PlainWindowModel, schema: RecordSchema) -> None:
        self._context = context
        self._schema = schema
        self.assigner: api.WindowAssigner[Any, Any] = self._assigner(path, window)
        self.trigger: Trigger | None = None
        self.evictor: api.Evictor | None = None
        if window.count is not None:
            self._count(window.count)
        elif window.trigger is not None:
            self.trigger = self._trigger((*path, "trigger"), window.trigger)
        if window.evictor is not None:
            self.evictor = self._evictor((*path, "evictor"), window.evictor)

    def _assigner(self, path: Path, window: PlainWindowModel) -> api.WindowAssigner[Any, Any]:
        by_event_time = window.time == "event"
        offset = Duration.of_millis(window.offset)
        if window.tumbling is not None:
            size, stagger = Duration.of_millis(window.tumbling), api.WindowStagger[window.stagger.upper()]
            tumbling = api.TumblingEventTimeWindows if by_event_time else api.TumblingProcessingTimeWindows
            return tumbling.of(size, offset, stagger)
        if window.sliding is not None:
            size, slide = Duration.of_millis(window.sliding.size), Duration.of_millis(window.sliding.slide)
            sliding = api.SlidingEventTimeWindows if by_event_time else api.SlidingProcessingTimeWindows
            return sliding.of(size, slide, offset)
        if window.session is not None:
            session = api.EventTimeSessionWindows if by_event_time else api.ProcessingTimeSessionWindows
            if isinstance(window.session, GapModel):
                return session.with_dynamic_gap(self._gap((*path, "session", "gap"), window.session))
            return session.with_gap(Duration.of_millis(window.session))
        return api.GlobalWindows.create()

    def _gap(self, path: Path, model: GapModel) -> Gap:
        gap = self._number(path, model.gap)
        if not (gap.type.is_integer or gap.type is FieldType.ANY):
            raise self._context.fail(path, f"expected milliseconds as an integer, got {gap.type.value}")
        return Gap(gap.function)

    def _count(self, model: int | CountWindowModel) -> None:
        """As Flink's countWindow: windows of records are the global window with a trigger of records."""
        if isinstance(model, CountWindowModel):
            self.trigger = api.CountTrigger.of(model.slide)
            self.evictor = api.CountEvictor.of(model.size)
        else:
            self.trigger = api.PurgingTrigger.of(api.CountTrigger.of(model))

    def _trigger(self, path: Path, model: TriggerModel) -> Trigger:
        if isinstance(model, str):
            return _NAMED_TRIGGERS[model]()
        if model.count is not None:
            return api.CountTrigger.of(model.count)
        if model.continuous_event_time is not None:
            return api.ContinuousEventTimeTrigger.of(Duration.of_millis(model.continuous_event_time))
        if model.continuous_processing_time is not None:
            return api.ContinuousProcessingTimeTrigger.of(Duration.of_millis(model.continuous_processing_time))
        if model.delta is not None:
            return api.DeltaTrigger.of(float(model.delta.threshold), self._distance((*path, "delta"), model.delta))
        if model.purging is not None:
            return api.PurgingTrigger.of(self._trigger((*path, "purging"), model.purging))
        if model.timeout is not None:
            of, after = (
                self._trigger((*path, "timeout", "of"), model.timeout.of),
                Duration.of_millis(model.timeout.after),
            )
            return api.ProcessingTimeoutTrigger.of(
                of, after, model.timeout.reset_on_record, model.timeout.clear_on_timeout
            )
        assert model.python is not None
        at = (*path, "python")
        made = self._context.python(at, model.python)
        if not (isinstance(made, type) and issubclass(made, api.Trigger)):
            raise self._context.fail(at, f"expected a Trigger class, got {model.python}")
        return self._context.attempt(at, made)

    def _evictor(self, path: Path, model: EvictorModel) -> api.Evictor:
        if model.count is not None:
            return api.CountEvictor.of(model.count, model.after)
        if model.time is not None:
            return api.TimeEvictor.of(Duration.of_millis(model.time), model.after)
        if model.python is not None:
            at = (*path, "python")
            made = self._context.python(at, model.python)
            doors = (getattr(made, door, None) for door in ("evict_before", "evict_after"))
            if not (isinstance(made, type) and all(map(callable, doors))):
                raise self._context.fail(
                    at, f"expected an Evictor class, with evict_before and evict_after, got {model.python}"
                )
            evictor: api.Evictor = self._context.attempt(at, made)
            return evictor
        assert model.delta is not None
        distance = self._distance((*path, "delta"), model.delta)
        return api.DeltaEvictor.of(float(model.delta.threshold), distance, model.after)

    def _distance(self, path: Path, model: DeltaModel) -> Distance:
        return Distance(self._number((*path, "of"), model.of).function)

    def _number(self, path: Path, source: str) -> Expression:
        found = self._context.expression(path, source, lambda: compile_expression(source, self._schema))
        if found.uses_timestamp:
            raise self._context.fail(
                path, "a window does not see the timestamp here: add it as a field in a map before"
            )
        if not (found.type.is_numeric or found.type is FieldType.ANY):
            raise self._context.fail(path, f"expected a number, this expression gives {found.type.value}")
        return found
