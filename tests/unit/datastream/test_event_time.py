"""Watermark strategies as a user writes them, in a job (rules 8.1-8.7, 8.22)."""

from __future__ import annotations

import json

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Time, WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.errors import BadInput, JobFailed, NoTimestamp
from flowsim.facts.kinds import ElementKind, Level
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import MAX_WATERMARK


class EveryOther(WatermarkGenerator):
    """A watermark with every other record, and periodically one millisecond more than that."""

    def __init__(self) -> None:
        self.records = self.last = 0

    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput) -> None:
        self.records += 1
        if self.records % 2 == 0:
            self.last = event_timestamp
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.last + 1)


def watermarks_of(env: StreamExecutionEnvironment, task: int) -> list[int]:
    """What a task sent, on its first channel."""
    recorder = MemoryRecorder(Level.ELEMENTS)
    MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    rows = [row for row in sorted(recorder.rows("sent")) if row[1] == task and row[5] == ElementKind.WATERMARK]
    return [row[6] for row in rows if row[3] == rows[0][3]]


SCRIPT = (record("a", 10), record("b", 20), sleep(500), record("c", 30), record("d", 40))


def test_custom_generator_emits_watermarks_of_source() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_generator(EveryOther)
    env.from_source(ScriptedSource(SCRIPT), strategy, "s").rebalance().sink_to(CollectSink())
    assert watermarks_of(env, 0) == [20, 21, 40, MAX_WATERMARK]


def test_custom_generator_works_behind_source() -> None:
    """Rule 8.7: what the source says of event time is swallowed, and the last periodic call comes after MAX."""
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.add_source(ScriptedSource((watermark(1000), *SCRIPT)))
    strategy = WatermarkStrategy.for_generator(EveryOther)
    stream.assign_timestamps_and_watermarks(strategy).rebalance().sink_to(CollectSink())
    assert watermarks_of(env, 0) == [20, 21, 40, MAX_WATERMARK]


def test_punctuated_strategy_emits_watermark_after_record() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = WatermarkStrategy.for_punctuated(lambda value, timestamp: timestamp if value in "bd" else None)
    env.from_source(ScriptedSource(SCRIPT), strategy, "s").rebalance().sink_to(CollectSink())
    assert watermarks_of(env, 0) == [20, 40, MAX_WATERMARK]


def test_operators_are_described_with_watermark_strategy() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    strategy = (
        WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5))
        .with_idleness(Time.seconds(1))
        .with_watermark_alignment("g", Duration.of_millis(20), Duration.of_millis(300))
    )
    stream = env.from_source(ScriptedSource(SCRIPT), strategy, "s")
    stream.assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps()).sink_to(CollectSink())
    recorder = MemoryRecorder(Level.ELEMENTS)
    MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    place = recorder.columns("operators").index("params")
    params = [json.loads(str(row[place])) for row in recorder.static_rows("operators")]
    assert [found["watermarks"] for found in params if "watermarks" in found] == [
        {
            "kind": "bounded", "bound_ms": 5, "per_record": False, "idle_ms": 1000, "group": "g", "max_drift_ms": 20,
            "interval_ms": 300, "auto_watermark_interval_ms": 200,
        },
        {"kind": "monotonous", "bound_ms": 0, "per_record": False},
    ]  # fmt: skip


def test_default_alignment_interval_is_one_second() -> None:
    aligned = WatermarkStrategy.no_watermarks().with_watermark_alignment("g", Duration.of_seconds(2))
    assert aligned.params == {"kind": "none", "group": "g", "max_drift_ms": 2000, "interval_ms": 1000}
    assert not aligned.makes_no_watermarks


@pytest.mark.parametrize(
    ("drift", "interval", "message"),
    [
        (Duration.of_millis(-1), None, "with_watermark_alignment: the allowed drift must be 0 ms or more, got -1"),
        (Duration.of_millis(1), Duration.of_millis(0), "with_watermark_alignment: the update interval must be 1 ms"),
    ],
)
def test_invalid_alignment_is_refused(
    drift: Duration, interval: Duration | None, message: str
) -> None:  # fmt: skip
    with pytest.raises(BadInput, match=message):
        WatermarkStrategy.no_watermarks().with_watermark_alignment("g", drift, interval)


def test_invalid_generator_is_refused() -> None:
    with pytest.raises(TypeError, match="for_generator: expected a WatermarkGenerator class or a factory, got 5"):
        WatermarkStrategy.for_generator(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="for_punctuated: expected a function of a record and its timestamp, got 5"):
        WatermarkStrategy.for_punctuated(5)  # type: ignore[arg-type]


def test_record_without_timestamp_fails_with_advice_for_the_api() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    windows = TumblingEventTimeWindows.of(Time.seconds(1))
    env.from_collection([1]).key_by(lambda n: n).window(windows).reduce(lambda one, other: one).print()
    with pytest.raises(JobFailed, match=r"no timestamp.*assign_timestamps_and_watermarks\(\.\.\.\)$") as failed:
        env.execute()
    assert isinstance(failed.value.cause, NoTimestamp)
    assert failed.value.operator == "TumblingEventTimeWindows Reduce"


def assigned(policy: object) -> tuple[list[object], list[object]]:
    """The main and the side output of records whose values are their timestamps."""
    env, bad, sinks = StreamExecutionEnvironment(), OutputTag("bad"), (CollectSink(), CollectSink())
    strategy = WatermarkStrategy.no_watermarks().with_timestamp_assigner(lambda value, previous: value)  # type: ignore[arg-type, return-value]
    strategy = strategy.with_missing_timestamps(policy)  # type: ignore[arg-type]
    timed = env.from_collection([3, None, 4]).assign_timestamps_and_watermarks(strategy)
    timed.sink_to(sinks[0])
    timed.get_side_output(bad).sink_to(sinks[1])
    env.execute()
    return sinks[0].values(), sinks[1].values()


def test_assigner_may_return_none_if_its_strategy_allows_it() -> None:
    assert assigned("drop") == ([3, 4], [])
    assert assigned(OutputTag("bad")) == ([3, 4], [None])
    advice = "the record has no timestamp; correct the record, or allow it by WatermarkStrategy.with_missing_timestamps"
    with pytest.raises(JobFailed, match=advice):
        assigned("fail")
    with pytest.raises(BadInput, match="expected 'fail', 'drop' or an OutputTag, got 'ignore'"):
        assigned("ignore")
