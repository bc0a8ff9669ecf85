"""Jobs that fail between checkpoints commit what they commit without failures, for each kind of operator."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobStatus
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CheckpointedFunction,
    CoGroupFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.state import MapStateDescriptor, ValueStateDescriptor
from flowsim.datastream.window import CountTrigger, EventTimeSessionWindows, TumblingEventTimeWindows
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart

COUNTS = MapStateDescriptor("counts", Types.STRING(), Types.LONG())
LATE = OutputTag("late")
RECORDS = 120
ASYNC: dict[str, tuple[Any, dict[str, Any]]] = {
    "async": (AsyncDataStream.unordered_wait, {}),
    "async ordered": (AsyncDataStream.ordered_wait, {}),
    "async legacy": (AsyncDataStream.unordered_wait, {"design": "legacy"}),
    "async legacy ordered": (AsyncDataStream.ordered_wait, {"design": "legacy"}),
}
KINDS = [
    "join", "co-group", "sessions", "window all", "window all of sessions", "late", "count trigger", "state in context",
    "broadcast without keys", *ASYNC,
]  # fmt: skip


class Answers(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


class Groups(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterator[Any]:
        yield tuple(sorted(first)), tuple(sorted(second))


class Numbers(BroadcastProcessFunction):
    """Every subtask counts the broadcast numbers in its copy of the state."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        return ()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        state = ctx.get_broadcast_state(COUNTS)
        state.put(value[0], (state.get(value[0]) or 0) + 1)
        yield value[0], state.get(value[0])


class CountsInContext(KeyedProcessFunction, CheckpointedFunction):
    """Declares its keyed state in ``initialize_state``."""

    def initialize_state(self, context: Any) -> None:
        self.count = context.get_keyed_state_store().get_state(ValueStateDescriptor("count", Types.LONG()))

    def snapshot_state(self, context: Any) -> None:
        pass

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        yield ctx.get_current_key(), self.count.value()


def total(left: Any, right: Any) -> Any:
    return left[0], max(left[1], right[1]), left[2] + right[2]


def output_of(kind: str, stream: DataStream) -> DataStream:
    keyed, windows = stream.key_by(lambda value: value[0]), TumblingEventTimeWindows.of(Time.milliseconds(50))
    others = stream.filter(lambda value: value[1] % 3 == 0).name("others")
    sessions = EventTimeSessionWindows.with_gap(Time.milliseconds(9))
    match kind:
        case "join":
            return on_key(stream.join(others)).window(windows).apply(lambda left, right: (left[1], right[1]))
        case "co-group":
            return on_key(stream.co_group(others)).window(windows).apply(Groups())
        case "sessions":
            return keyed.window(sessions).reduce(total)
        case "window all":
            return stream.window_all(windows).reduce(total)
        case "window all of sessions":
            return stream.window_all(EventTimeSessionWindows.with_gap(Time.milliseconds(20))).reduce(total)
        case "late":
            return keyed.window(windows).side_output_late_data(LATE).reduce(total)
        case "count trigger":
            return keyed.window(windows).trigger(CountTrigger.of(2)).reduce(total).map(lambda value: value[0])
        case "state in context":
            return keyed.process(CountsInContext())
        case "broadcast without keys":
            return others.connect(stream.broadcast(COUNTS)).process(Numbers())
        case _:
            wait, design = ASYNC[kind]
            return wait(stream, Answers(), Time.seconds(1), 8, **design)


def on_key(joined: Any) -> Any:
    return joined.where(lambda value: value[0]).equal_to(lambda value: value[0])


def run(kind: str, parallelism: int, failures: tuple[FailTask, ...]) -> tuple[Counter[Any], int]:
    """Runs a job; returns what it committed, and how often it was restored from a checkpoint."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.configure(
        cost_ns=1_000_000,
        auto_watermark_interval_ms=1,
        checkpointing=CheckpointSettings(interval_ms=10, tolerable_failures=100),
        restart_strategy=FixedDelayRestart(20, 3),
    )
    env.flowsim_settings(seed=1, policy="random", failures=failures)
    delay_ms = 200 if kind == "late" else 0
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10)).with_timestamp_assigner(
        lambda value, _: value[1] * 3 - value[1] * 7 % 11 - (delay_ms if value[1] % 10 == 9 else 0)
    )
    records = [(f"k{number * number % 5}", number, 1) for number in range(RECORDS)]
    source = env.from_collection(records).assign_timestamps_and_watermarks(strategy).set_parallelism(1).name("numbers")
    output = output_of(kind, source.map(lambda value: value).name("same")).name("work")
    sink, late = CollectSink(), CollectSink()
    output.sink_to(sink)
    if kind == "late":
        output.get_side_output(LATE).sink_to(late)
    result = env.execute()
    assert result.status is JobStatus.FINISHED
    assert result.checkpoints is not None
    if kind == "late":  # which records are late depends on the schedule
        assert late.values()
        return Counter(records=sum(value[2] for value in (*sink.values(), *late.values()))), result.checkpoints.restored
    return Counter(sink.values()), result.checkpoints.restored


@pytest.mark.parametrize("kind", KINDS)
def test_job_that_fails_twice_commits_what_undisturbed_job_does(kind: str) -> None:
    """Rule 12.120."""
    parallelism = 1 if kind.startswith("window all") else 2
    failures = (FailTask("work", at_record=40), FailTask("same", at_record=9, attempt=1))
    undisturbed, _ = run(kind, parallelism, ())
    assert undisturbed
    assert run(kind, parallelism, failures) == (undisturbed, 2)
