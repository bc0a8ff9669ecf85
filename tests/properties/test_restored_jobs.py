"""Jobs that fail at random places and are restored have the output of a run without failures (section 12.M, L2, L3)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    KeyedProcessFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.window import EventTimeSessionWindows, SlidingEventTimeWindows, TumblingEventTimeWindows
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.simulation import FailTask

pytestmark = pytest.mark.property

RECORDS = 120


class CountsAndWaits(KeyedProcessFunction):
    """Counts per key, and emits the count again 20 ms of event time later."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 20)
        yield value[0], count

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), -timestamp


class Answers(AsyncFunction):
    """Answers after 0 to 6 ms."""

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.001 * (value[1] % 7))
        return [value]


def total(left: Any, right: Any) -> Any:
    return left[0], max(left[1], right[1]), left[2] + right[2]


def output_of(kind: str, stream: DataStream) -> DataStream:
    keyed = stream.key_by(lambda value: value[0])
    match kind:
        case "tumbling":
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(50))).reduce(total)
        case "sliding":
            size, slide = Time.milliseconds(60), Time.milliseconds(20)
            return keyed.window(SlidingEventTimeWindows.of(size, slide)).reduce(total)
        case "session":
            return keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(9))).reduce(total)
        case "process":
            return keyed.process(CountsAndWaits())
        case _:
            return AsyncDataStream.unordered_wait(stream, Answers(), Time.seconds(1), 8)


def output(kind: str, parallelism: int, seed: int, failures: tuple[FailTask, ...], interval_ms: int) -> Counter[Any]:
    """Runs a job; returns what it committed."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.configure(
        cost_ns=200_000,
        checkpointing=CheckpointSettings(interval_ms=interval_ms, tolerable_failures=100),
        restart_strategy=FixedDelayRestart(20, 3),
    )
    env.flowsim_settings(seed=seed, policy="random", failures=failures)
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10)).with_timestamp_assigner(
        lambda value, _: value[1] * 3 - value[1] * 7 % 11
    )
    records = [(f"k{number * number % 5}", number, 1) for number in range(RECORDS)]
    source = env.from_collection(records).assign_timestamps_and_watermarks(strategy).set_parallelism(1).name("numbers")
    result = output_of(kind, source.map(lambda value: value).name("same")).name("work")
    return Counter(result.execute_and_collect())


def failure(draw: Any, parallelism: int, attempt: int) -> FailTask:
    """A failure of one attempt, anywhere in the job and in its life."""
    task = draw(st.sampled_from(["same", "work", "numbers"]))
    subtask = 0 if task == "numbers" else draw(st.integers(0, parallelism - 1))
    place = draw(st.sampled_from(["at_record", "at_ns", "in_snapshot", "in_notification"]))
    value = {
        "at_record": st.integers(0, RECORDS // 2),
        "at_ns": st.integers(0, 60_000_000),
        "in_snapshot": st.integers(1, 4),
        "in_notification": st.integers(1, 4),
    }[place]
    return FailTask(task, subtask, attempt=attempt, **{place: draw(value)})


@settings(max_examples=20)
@given(st.data())
def test_restored_job_commits_what_undisturbed_job_does(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from(["tumbling", "sliding", "session", "process", "async"]), "job")
    parallelism = data.draw(st.integers(1, 3), "parallelism")
    seed = data.draw(st.integers(0, 1000), "seed")
    interval_ms = data.draw(st.sampled_from([10, 25]), "interval")
    count = data.draw(st.integers(1, 3), "failures")
    failures = tuple(failure(data.draw, parallelism, attempt) for attempt in range(count))
    undisturbed = output(kind, parallelism, seed, (), interval_ms)
    assert output(kind, parallelism, seed, failures, interval_ms) == undisturbed
