"""Described windows: any assigner, trigger and evictor, per key or of all records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowsim.datastream import (
    AggregateFunction,
    AllWindowFunction,
    DataStream,
    OutputTag,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
    window,
)
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.units import NO_TIMESTAMP
from tests.support.described import described_functions as functions
from tests.support.described.described_functions import Event
from tests.support.described.described_streams import Inputs, Job, after


def millis(number: int) -> Duration:
    return Duration.of_millis(number)


def build(inputs: Inputs, job: Job) -> dict[str, DataStream]:
    windowed = prepared(inputs, job)
    made = applied(windowed, job).set_parallelism(job["parallelism"])
    out = made if job["function"] == "reduce" else after(made, job)
    outputs = {"out": out}
    if "then_ms" in job:
        # What windows emit is put into windows again, one subtask after the other.
        again = made.key_by(inputs.key, inputs.key_type).window(
            window.TumblingEventTimeWindows.of(millis(job["then_ms"]))
        )
        outputs["then"] = again.apply(Applied()).set_parallelism(1)
    if job["late_output"]:
        outputs["late"] = made.get_side_output(OutputTag("late"))
    return outputs


def prepared(inputs: Inputs, job: Job) -> Any:
    """The windowed stream with everything but its function."""
    described, is_all = job["assigner"], job["all"]
    stream = inputs.plain(0) if is_all else inputs.keyed(0)
    if described["kind"] == "count":
        bounds = [described["size"]] + ([described["slide"]] if "slide" in described else [])
        windows = (stream.count_window_all if is_all else stream.count_window)(*bounds)
    else:
        windows = (stream.window_all if is_all else stream.window)(assigner(described))
    if job["trigger"] is not None:
        windows.trigger(trigger(job["trigger"]))
    if job["evictor"] is not None:
        windows.evictor(evictor(job["evictor"]))
    if job["lateness_ms"] > 0:
        windows.allowed_lateness(job["lateness_ms"])
    if job["late_output"]:
        windows.side_output_late_data(OutputTag("late"))
    return windows


def applied(windows: Any, job: Job) -> DataStream:
    is_all = job["all"]
    made: DataStream
    match job["function"]:
        case "process":
            made = windows.process(AllContents() if is_all else Contents(job))
        case "apply":
            made = windows.apply(AllApplied() if is_all else Applied())
        case "reduce":
            made = windows.reduce(functions.latest_with_sum)
        case "reduce_process":
            made = windows.reduce(functions.latest_with_sum, AllContents() if is_all else Contents(job))
        case "aggregate":
            made = windows.aggregate(Total())
        case _:
            made = windows.aggregate(Total(), AllResults() if is_all else Results())
    return made


def assigner(described: Job) -> Any:
    kind = described["kind"]
    match kind:
        case "global":
            make = window.GlobalWindows
            return make.create_with_end_of_stream_trigger() if described.get("end_of_stream") else make.create()
        case "session_event_time":
            return window.EventTimeSessionWindows.with_gap(millis(described["gap_ms"]))
        case "session_processing_time":
            return window.ProcessingTimeSessionWindows.with_gap(millis(described["gap_ms"]))
        case "dynamic_session_event_time":
            return window.EventTimeSessionWindows.with_dynamic_gap(Gap())
        case "dynamic_session_processing_time":
            return window.ProcessingTimeSessionWindows.with_dynamic_gap(Gap())
    shape, _, time = kind.partition("_")
    chosen = getattr(window, f"{shape.capitalize()}{'EventTime' if time == 'event_time' else 'ProcessingTime'}Windows")
    size, offset = millis(described["size_ms"]), millis(described["offset_ms"])
    if shape == "sliding":
        return chosen.of(size, millis(described["slide_ms"]), offset)
    if described["stagger"] != "aligned":
        return chosen.of(size, offset, window.WindowStagger[described["stagger"].upper()])
    return chosen.of(size, offset)


class Gap(window.SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(2 + element[2] % 6)


def trigger(described: Job) -> Any:
    match described["kind"]:
        case "event_time":
            return window.EventTimeTrigger.create()
        case "processing_time":
            return window.ProcessingTimeTrigger.create()
        case "count":
            return window.CountTrigger.of(described["count"])
        case "purging":
            return window.PurgingTrigger.of(trigger(described["of"]))
        case "continuous_event_time":
            return window.ContinuousEventTimeTrigger.of(millis(described["interval_ms"]))
        case "continuous_processing_time":
            return window.ContinuousProcessingTimeTrigger.of(millis(described["interval_ms"]))
        case "delta":
            return window.DeltaTrigger.of(described["threshold"], delta)
        case "timeout":
            return window.ProcessingTimeoutTrigger.of(
                trigger(described["of"]), millis(described["interval_ms"]), described["reset_on_element"],
                described["clear_on_timeout"],
            )  # fmt: skip
        case _:
            return OwnTrigger()


def evictor(described: Job) -> Any:
    match described["kind"]:
        case "count":
            return window.CountEvictor.of(described["count"], described["after"])
        case "time":
            return window.TimeEvictor.of(millis(described["window_ms"]), described["after"])
        case _:
            return window.DeltaEvictor.of(described["threshold"], delta, described["after"])


def delta(old: Event, current: Event) -> float:
    return float(current[2] - old[2])


class OwnTrigger(window.Trigger):
    """Answers everything that a trigger can answer, as the values say, and purges at the end of the window."""

    def on_element(self, element: Any, timestamp: Any, window: Any, ctx: Any) -> Any:
        if window.max_timestamp() <= ctx.get_current_watermark():
            return RESULT.FIRE
        ctx.register_event_time_timer(window.max_timestamp())
        match element[2] % 8:
            case 0:
                return RESULT.FIRE
            case 1:
                return RESULT.PURGE
            case 2:
                return RESULT.FIRE_AND_PURGE
            case 3:
                ctx.register_event_time_timer((NO_TIMESTAMP if timestamp is None else timestamp) + 2)
        return RESULT.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> Any:
        return RESULT.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> Any:
        return RESULT.FIRE_AND_PURGE if time == window.max_timestamp() else RESULT.FIRE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        if window.max_timestamp() > ctx.get_current_watermark():
            ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        ctx.delete_event_time_timer(window.max_timestamp())


RESULT = window.TriggerResult


def bounds(shown: Any) -> list[object]:
    return [shown.start, shown.end] if isinstance(shown, window.TimeWindow) else ["global"]


def rows(events: Iterable[Event]) -> list[list[int]]:
    return [[event[0], event[2]] for event in events]


FIRINGS = ValueStateDescriptor("firings", Types.LONG())


class Contents(ProcessWindowFunction):
    """With ``states``: counts the firings of the window and of the key."""

    def __init__(self, job: Job) -> None:
        self.states, self.manual_time = job["states"], job["manual_time"]

    def process(self, key: object, context: Any, elements: Iterable[Event]) -> Iterable[object]:
        firings = [counted(context.window_state()), counted(context.global_state())] if self.states else []
        time = context.current_processing_time() if self.manual_time else None
        yield [key, bounds(context.window()), rows(elements), context.current_watermark(), time, firings]

    def clear(self, context: Any) -> None:
        if self.states:
            context.window_state().get_state(FIRINGS).clear()


def counted(store: Any) -> int:
    count = store.get_state(FIRINGS)
    count.update((count.value() or 0) + 1)
    counted: int = count.value()
    return counted


class Applied(WindowFunction):
    def apply(self, key: object, window: Any, inputs: Iterable[Event]) -> Iterable[object]:
        yield [key, bounds(window), rows(inputs)]


class Total(AggregateFunction):
    """Sum and number."""

    def create_accumulator(self) -> tuple[int, int]:
        return (0, 0)

    def add(self, value: Event, accumulator: tuple[int, int]) -> tuple[int, int]:
        return (accumulator[0] + value[2], accumulator[1] + 1)

    def get_result(self, accumulator: tuple[int, int]) -> list[int]:
        return list(accumulator)

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return (acc_a[0] + acc_b[0], acc_a[1] + acc_b[1])


class Results(ProcessWindowFunction):
    def process(self, key: object, context: Any, elements: Iterable[object]) -> Iterable[object]:
        return [["of", [key, bounds(context.window())], result] for result in elements]


class AllContents(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[Event]) -> Iterable[object]:
        yield [bounds(context.window()), rows(elements)]


class AllApplied(AllWindowFunction):
    def apply(self, window: Any, inputs: Iterable[Event]) -> Iterable[object]:
        yield [bounds(window), rows(inputs)]


class AllResults(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Iterable[object]) -> Iterable[object]:
        return [["of", [bounds(context.window())], result] for result in elements]
