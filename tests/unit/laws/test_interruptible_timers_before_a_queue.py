"""Law task-watermark where interruptible timers delay watermarks before an async operator (rules 9.18, 11.3)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from flowsim.connectors.script import ScriptedSource
from flowsim.connectors.script_entries import Entry, idle, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, StreamExecutionEnvironment
from flowsim.datastream.common.time import Duration
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.async_wait.latency import FixedLatency
from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction
from flowsim.recording.memory import MemoryRecorder


class OneTimerForEach(KeyedProcessFunction):
    def use_interruptible_timers(self) -> bool:
        return True

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterator[object]:
        ctx.timer_service().register_event_time_timer(value + 1)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterator[object]:
        yield -timestamp


def _parity(value: Any) -> object:
    return value % 2


def test_status_overtaking_queue_satisfies_task_watermark() -> None:
    env = StreamExecutionEnvironment.get_execution_environment().configure(interruptible_timers=True)
    script: list[Entry] = [
        record(1, 1),
        record(2, 2),
        watermark(5),
        sleep(50),
        idle(),
        sleep(50),
        record(7, 7),
        watermark(9),
    ]
    timed = env.add_source(ScriptedSource([*script, sleep(50)])).set_parallelism(1).key_by(_parity)
    asks = SimulatedAsyncFunction(lambda value: [value], FixedLatency(2_000_000))
    answered = AsyncDataStream.unordered_wait(timed.process(OneTimerForEach()), asks, Duration.of_seconds(1))
    recorder = MemoryRecorder(Level.FULL)
    env.flowsim_settings(recorder=recorder)
    assert list(answered.rebalance().execute_and_collect()) == [1, 2, -2, -3, 7, -8]

    statuses = [row for row in recorder.rows("task_watermark") if row[4] == ElementKind.STATUS]
    verdicts = {outcome.law: outcome.verdict for outcome in check_all(recorder)}
    assert len(statuses) > 0
    assert verdicts["task-watermark"] is Verdict.HOLDS
    assert Verdict.VIOLATED not in verdicts.values()
