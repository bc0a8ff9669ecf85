"""A job that fails in a timer reports the timer."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.functions import KeyedProcessFunction
from flowsim.datastream.window import EventTimeSessionWindows, Trigger, TriggerResult, Window
from flowsim.facts.kinds import Level
from flowsim.operators.windowing.triggers.trigger import TriggerContext
from flowsim.testing import run_job


class _FailsOnTimer(KeyedProcessFunction):
    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        ctx.timer_service().register_event_time_timer(15)
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        raise ValueError("no")


class _FailingTrigger(Trigger[object, Window]):
    def on_element(
        self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext, /
    ) -> TriggerResult:
        ctx.register_event_time_timer(15)
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext, /) -> TriggerResult:
        raise ValueError("no")

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext, /) -> TriggerResult:
        return TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def clear(self, window: Window, ctx: TriggerContext, /) -> None:
        """Keeps nothing."""


@pytest.mark.parametrize("level", [Level.OFF, Level.FULL])
@pytest.mark.parametrize("what", ["process function", "trigger"])
def test_failure_in_timer_names_key_and_time(what: str, level: Level) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.add_source(ScriptedSource((record("a", 10), watermark(20)))).key_by(str, Types.STRING())
    if what == "trigger":
        windows = keyed.window(EventTimeSessionWindows.with_gap(Duration.of_millis(100))).trigger(_FailingTrigger())
        failing = windows.reduce(lambda one, other: one)
    else:
        failing = keyed.process(_FailsOnTimer())
    failing.name("failing").sink_to(CollectSink()).name("sink")
    error = run_job(env.stream_graph("fails"), level=level).result.error
    assert ", operator failing, timer of key 'a' @ 15: ValueError: no (test_failing_timers.py:" in str(error)
