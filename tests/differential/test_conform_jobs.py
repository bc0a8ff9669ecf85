"""Jobs in Python on the real Flink, with what scenarios cannot say or do not draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flowsim.cluster.run_actions import TriggerCheckpoint
from flowsim.conform.both_sides import Here, conformed, repeated_on_flink
from flowsim.conform.compared_job import job_of_environment
from flowsim.conform.conformer import FlinkRunner
from flowsim.conform.operators import OPERATORS, Built, register_builder
from flowsim.connectors.script import ScriptedSource, end, record, watermark
from flowsim.datastream import DataStream, ProcessWindowFunction, StreamExecutionEnvironment, WindowFunction
from flowsim.datastream.common import Time
from flowsim.datastream.window import (
    CountTrigger,
    EventTimeSessionWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NS_PER_MS
from tests.support.conform.drawn_comparison import differences

Build = Callable[[StreamExecutionEnvironment], DataStream]
GAP_MS = 97


def numbers(env: StreamExecutionEnvironment) -> DataStream:
    """Records ``(key, number)`` of two keys, some of them late; watermarks go back twice."""
    times = [3, 12, 7, 14, 2, 21, 26, 19, 33, 5]
    entries = [record(("ab"[n % 3 == 0], n), time, step=2 * n) for n, time in enumerate(times)]
    marks = [1, 4, 9, 6, 11, 16, 16, 20, 18, 30]
    entries += [watermark(mark, step=2 * n + 1) for n, mark in enumerate(marks)]
    script = sorted(entries, key=lambda entry: entry.step or 0)
    return env.add_source(ScriptedSource([*script, end(step=20)], gap_ms=GAP_MS), "numbers")


def keyed(env: StreamExecutionEnvironment) -> Any:
    return numbers(env).key_by(lambda value: value[0])


class Contents(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterator[object]:
        yield key, window.start, [each[1] for each in inputs]


class Folded(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterator[object]:
        yield key, context.window().start, context.current_watermark(), list(elements)


def summed(one: Any, other: Any) -> object:
    return one[0], one[1] + other[1]


def applied(env: StreamExecutionEnvironment) -> DataStream:
    return keyed(env).window(TumblingEventTimeWindows.of(Time.milliseconds(10))).apply(Contents())


def reduced_and_processed(env: StreamExecutionEnvironment) -> DataStream:
    sessions = keyed(env).window(EventTimeSessionWindows.with_gap(Time.milliseconds(6)))
    return sessions.allowed_lateness(5).reduce(summed, Folded())


def processing_time_with_lateness(env: StreamExecutionEnvironment) -> DataStream:
    windows = keyed(env).window(TumblingProcessingTimeWindows.of(Time.milliseconds(400)))
    return windows.trigger(CountTrigger.of(2)).allowed_lateness(300).apply(Contents())


def watermarks_that_go_back(env: StreamExecutionEnvironment) -> DataStream:
    """The chain of the source passes them on, the channel behind it does not."""
    return numbers(env).map(lambda value: value).rebalance().map(lambda value: value).set_parallelism(2)


class Speaking(StreamOperator):
    """Emits a status for some records, and one record before each barrier; its Java twin is ``Speaking.java``."""

    def __init__(self) -> None:
        self.count = 0
        self.last: Any = None

    def process_element(self, value: Any, timestamp: int | None) -> None:
        self.records_in += 1
        self.count += 1
        if self.count % 4 == 2:
            self.output.emit_watermark_status(WatermarkStatus.IDLE)
        elif self.count % 4 == 0:
            self.output.emit_watermark_status(WatermarkStatus.ACTIVE)
        else:
            self.last = value
            self.output.collect(value, timestamp)

    def prepare_snapshot_pre_barrier(self, checkpoint_id: int) -> None:
        if self.last is not None:
            self.output.collect(self.last, None)


def spoken(env: StreamExecutionEnvironment) -> DataStream:
    env.enable_checkpointing(3_600_000)
    env.flowsim_settings(actions=tuple(TriggerCheckpoint(at_ms * NS_PER_MS) for at_ms in (240, 720, 1_600)))
    return numbers(env).transform("speaking", Speaking).rebalance().map(lambda value: value).set_parallelism(2)


@pytest.fixture
def speaking_builder() -> Iterator[None]:
    register_builder(Speaking, Built("flowsim.jobs.Speaking"))
    yield
    del OPERATORS[Speaking]


@pytest.mark.usefixtures("speaking_builder")
@pytest.mark.parametrize(
    ("build", "printed"),
    [
        (applied, 7),
        (reduced_and_processed, 6),
        (processing_time_with_lateness, 2),
        (watermarks_that_go_back, 10),
        (spoken, 8),
    ],
)
def test_job_conforms(build: Build, printed: int, flink_runner: FlinkRunner, tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    build(env).print()
    jobs = [job_of_environment(env)]
    here = Here(jobs).run()
    found = conformed(jobs, here, repeated_on_flink(flink_runner, jobs, here, tmp_path, 1), schedules=1)
    assert found.agrees, differences(found)
    assert not found.is_open
    places = found.phases[0].places
    assert sum(place.records for place in places if place.place.startswith("Sink")) == printed
