"""Every source of a timestamp or watermark refuses values that are not whole milliseconds of 64 bits."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from flowsim.connectors.memory import CollectionSource, CollectSink
from flowsim.connectors.script import ScriptedSource, record, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.datastream.window import EventTimeTrigger, MergingWindowAssigner, TimeWindow, Trigger, WindowAssigner
from flowsim.errors import BadInput, JobFailed
from flowsim.legacy.source_function import SourceContext, SourceFunction
from flowsim.operators.functions.process import ProcessContext
from flowsim.operators.sources.source_output import ReaderOutput, SourceOutput
from flowsim.operators.stream_operator import DataInputStatus, OperatorContext

Environment = StreamExecutionEnvironment
Build = Callable[[Environment, object], DataStream]
"""A job in which the middle one of three records, or a watermark behind it, has this timestamp."""

ENDS_OF_TIME = (-(2**63), 2**63 - 1)
REFUSED = (1.5, True, "5", 2**70, 2**63, -(2**63) - 1, 2**64 - 1)


class ReaderOf:
    """Emits ``a``, ``b`` and ``c``; ``emit`` says how."""

    hands_over = False
    wake_time_ns = None

    def __init__(self, emit: Callable[[SourceOutput, str], None], split: str | None) -> None:
        self.emit = emit
        self.split = split

    def open(self, ctx: OperatorContext) -> None:
        """Nothing to open."""

    def poll_next(self, output: ReaderOutput) -> DataInputStatus:
        to = output if self.split is None else output.create_output_for_split(self.split)
        for value in "abc":
            self.emit(to, value)
        return DataInputStatus.END_OF_DATA

    def close(self) -> None:
        """Nothing is held."""


class SourceOf:
    """A source of the user's own."""

    kind = "own"
    params: Mapping[str, object] = {}
    required_parallelism = 1
    needs_cost = False

    def __init__(self, emit: Callable[[SourceOutput, str], None], emits: bool, split: str | None = None) -> None:
        self.emit = emit
        self.emits_watermarks = emits
        self.split = split

    def create_reader(self) -> ReaderOf:
        return ReaderOf(self.emit, self.split)


def assigner(env: Environment, bad: object) -> WatermarkStrategy:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return strategy.with_timestamp_assigner(lambda value, _: bad if value == "b" else 1)  # type: ignore[return-value]


def assigner_behind_a_source(env: Environment, bad: object) -> DataStream:
    return env.from_collection(["a", "b", "c"]).assign_timestamps_and_watermarks(assigner(env, bad))


def assigner_of_a_source_of_batches(env: Environment, bad: object) -> DataStream:
    return env.from_source(CollectionSource(["a", "b", "c"]), assigner(env, bad), "source")


def assigner_record_by_record(env: Environment, bad: object) -> DataStream:
    source = SourceOf(lambda output, value: output.collect(value, 1), emits=False)
    return env.from_source(source, assigner(env, bad), "source")


def assigner_of_a_split(env: Environment, bad: object) -> DataStream:
    source = SourceOf(lambda output, value: output.collect(value, 1), emits=False, split="p0")
    return env.from_source(source, assigner(env, bad), "source")


def _emit_bad(bad: object) -> Callable[[SourceOutput, str], None]:
    return lambda output, value: output.collect(value, bad if value == "b" else 1)  # type: ignore[arg-type]


def _watermark_bad(bad: object) -> Callable[[SourceOutput, str], None]:
    def emit(output: SourceOutput, value: str) -> None:
        output.collect(value, 1)
        output.emit_watermark(bad if value == "b" else 0)  # type: ignore[arg-type]

    return emit


def reader_without_strategy(env: Environment, bad: object) -> DataStream:
    return env.from_source(SourceOf(_emit_bad(bad), emits=True), WatermarkStrategy.no_watermarks(), "source")


def reader_with_strategy(env: Environment, bad: object) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_source(SourceOf(_emit_bad(bad), emits=False), strategy, "source")


def reader_of_a_split(env: Environment, bad: object) -> DataStream:
    source = SourceOf(_emit_bad(bad), emits=True, split="p0")
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "source")


def watermark_of_a_reader(env: Environment, bad: object) -> DataStream:
    return env.from_source(SourceOf(_watermark_bad(bad), emits=True), WatermarkStrategy.no_watermarks(), "source")


def watermark_of_a_reader_with_strategy(env: Environment, bad: object) -> DataStream:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    return env.from_source(SourceOf(_watermark_bad(bad), emits=False), strategy, "source")


class _Loop(SourceFunction):
    def __init__(self, emit: Callable[[SourceContext, str], None]) -> None:
        self.emit = emit

    def run(self, ctx: SourceContext) -> None:
        for value in "abc":
            self.emit(ctx, value)

    def cancel(self) -> None:
        """It is over soon."""


def source_function(env: Environment, bad: object) -> DataStream:
    def emit(ctx: SourceContext, value: str) -> None:
        ctx.collect_with_timestamp(value, bad if value == "b" else 1)  # type: ignore[arg-type]

    return env.add_source(_Loop(emit), "source")


def watermark_of_a_source_function(env: Environment, bad: object) -> DataStream:
    def emit(ctx: SourceContext, value: str) -> None:
        ctx.collect_with_timestamp(value, 1)
        ctx.emit_watermark(bad if value == "b" else 0)  # type: ignore[arg-type]

    return env.add_source(_Loop(emit), "source")


class _Bad(WatermarkGenerator):
    def __init__(self, bad: object, periodically: bool) -> None:
        self.bad, self.periodically = bad, periodically

    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput) -> None:
        if event == "b" and not self.periodically:
            output.emit_watermark(self.bad)  # type: ignore[arg-type]

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        if self.periodically:
            output.emit_watermark(self.bad)  # type: ignore[arg-type]


def generator_at_a_record(env: Environment, bad: object) -> DataStream:
    strategy = WatermarkStrategy.for_generator(lambda: _Bad(bad, False))
    return env.from_collection(["a", "b", "c"]).assign_timestamps_and_watermarks(strategy)


def generator_now_and_then(env: Environment, bad: object) -> DataStream:
    strategy = WatermarkStrategy.for_generator(lambda: _Bad(bad, True))
    return env.from_collection(["a", "b", "c"]).assign_timestamps_and_watermarks(strategy)


def punctuated_watermark(env: Environment, bad: object) -> DataStream:
    strategy = WatermarkStrategy.for_punctuated(lambda value, _: bad if value == "b" else None)  # type: ignore[return-value]
    return env.from_collection(["a", "b", "c"]).assign_timestamps_and_watermarks(strategy)


class _SetsTimer(KeyedProcessFunction):
    def __init__(self, bad: object, event_time: bool) -> None:
        self.bad, self.event_time = bad, event_time

    def process_element(self, value: object, ctx: ProcessContext) -> None:
        timers = ctx.timer_service()
        if value == "b" and self.event_time:
            timers.register_event_time_timer(self.bad)  # type: ignore[arg-type]
        elif value == "b":
            timers.register_processing_time_timer(self.bad)  # type: ignore[arg-type]

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> list[object]:
        return ["fired"]


def event_time_timer(env: Environment, bad: object) -> DataStream:
    return env.from_collection(["a", "b", "c"]).key_by(lambda value: value).process(_SetsTimer(bad, True))


class _OwnWindow(TimeWindow):
    __slots__ = ()

    def max_timestamp(self) -> object:  # type: ignore[override]
        return _OwnWindow.last

    last: object = 0


class _OwnWindows(WindowAssigner[object, TimeWindow]):
    def __init__(self, bad: object, event_time: bool) -> None:
        self.bad, self.event_time = bad, event_time

    def assign_windows(self, element: object, timestamp: int | None, context: object, /) -> list[TimeWindow]:
        _OwnWindow.last = self.bad
        return [_OwnWindow(0, 20) if element == "b" else TimeWindow(0, 10)]

    def get_default_trigger(self, env: object) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return self.event_time


class _GrowingWindows(MergingWindowAssigner[object, TimeWindow]):
    """The windows of two records become one that ends badly."""

    def __init__(self, bad: object) -> None:
        self.bad = bad
        self.records = 0

    def assign_windows(self, element: object, timestamp: int | None, context: object, /) -> list[TimeWindow]:
        self.records += 1
        return [TimeWindow(self.records, 10 + self.records)]

    def merge_windows(self, windows: object, callback: object) -> None:
        _OwnWindow.last = self.bad
        together = list(windows)  # type: ignore[call-overload]
        if len(together) > 1:
            callback.merge(together, _OwnWindow(0, 20))  # type: ignore[attr-defined]

    def get_default_trigger(self, env: object) -> Trigger:
        return EventTimeTrigger()

    def is_event_time(self) -> bool:
        return True


def _windowed(env: Environment, assigner: WindowAssigner[object, TimeWindow]) -> DataStream:
    stream = env.add_source(ScriptedSource([record(value, 1) for value in "abc"]), "source")
    return stream.key_by(lambda value: 0).window(assigner).reduce(lambda first, second: first)


def window_in_event_time(env: Environment, bad: object) -> DataStream:
    return _windowed(env, _OwnWindows(bad, event_time=True))


def window_in_processing_time(env: Environment, bad: object) -> DataStream:
    return _windowed(env, _OwnWindows(bad, event_time=False))


def merged_window(env: Environment, bad: object) -> DataStream:
    return _windowed(env, _GrowingWindows(bad))


RECORDS: list[Build] = [
    assigner_behind_a_source, assigner_of_a_source_of_batches, assigner_record_by_record, assigner_of_a_split,
    reader_without_strategy, reader_with_strategy, reader_of_a_split, source_function,
]  # fmt: skip
WATERMARKS: list[Build] = [
    watermark_of_a_reader, watermark_of_a_reader_with_strategy, watermark_of_a_source_function,
    generator_at_a_record, generator_now_and_then, punctuated_watermark,
]  # fmt: skip
TIMERS: list[Build] = [event_time_timer]
WINDOWS: list[Build] = [window_in_event_time, window_in_processing_time, merged_window]


def run(build: Build, timestamp: object, *, channel: bool) -> list[object]:
    env = StreamExecutionEnvironment.get_execution_environment()
    sink = CollectSink()
    stream = build(env, timestamp)
    (stream.rebalance() if channel else stream).sink_to(sink)
    env.execute()
    return sink.values()


@pytest.mark.parametrize("channel", [False, True], ids=["chained", "over a channel"])
@pytest.mark.parametrize("build", RECORDS + WATERMARKS + TIMERS + WINDOWS, ids=lambda build: build.__name__)
def test_invalid_timestamp_fails_job_with_operator(build: Build, channel: bool) -> None:
    # The end of a window is a sum before it is a timestamp, and a window that ends before all time is late.
    for bad in (1.5, True, 2**70, 2**63) if build in WINDOWS else REFUSED:
        with pytest.raises(JobFailed, match="expected whole milliseconds of 64 bits, got") as failed:
            run(build, bad, channel=channel)
        assert failed.value.operator is not None, bad
        assert isinstance(failed.value.cause, BadInput), bad


@pytest.mark.parametrize("channel", [False, True], ids=["chained", "over a channel"])
@pytest.mark.parametrize("build", RECORDS + WATERMARKS, ids=lambda build: build.__name__)
def test_smallest_and_largest_timestamps_are_accepted(build: Build, channel: bool) -> None:
    for timestamp in ENDS_OF_TIME:
        assert run(build, timestamp, channel=channel) == ["a", "b", "c"]


@pytest.mark.parametrize("bad", [None, *REFUSED], ids=repr)
def test_script_with_invalid_timestamp_is_refused(bad: object) -> None:
    message = "scripted source: subtask 1, entry 0: timestamp: expected whole milliseconds of 64 bits, got"
    with pytest.raises(BadInput, match=message):
        ScriptedSource([], [watermark(bad)])  # type: ignore[arg-type]
    if bad is not None:
        with pytest.raises(BadInput, match=message):
            ScriptedSource([], [record("a", bad)])  # type: ignore[arg-type]


def test_message_names_origin_of_timestamp() -> None:
    with pytest.raises(JobFailed, match=r"Source: source: timestamp assigner: expected .* got 1.5 \(float\)"):
        run(assigner_of_a_source_of_batches, 1.5, channel=False)
    with pytest.raises(JobFailed, match=r"Source: source: timestamp of a record: expected .* got True \(bool\)"):
        run(reader_with_strategy, True, channel=False)
    with pytest.raises(JobFailed, match=r"Source: source: watermark: expected .* got '5' \(str\)"):
        run(watermark_of_a_reader, "5", channel=False)
