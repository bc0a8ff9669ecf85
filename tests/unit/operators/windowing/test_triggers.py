"""Triggers: their results, timers and state (rules 10.17-10.24)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.operators.windowing.triggers.any_of_trigger import AnyOfTrigger
from flowsim.operators.windowing.triggers.continuous_triggers import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.count_triggers import CountTrigger, DeltaTrigger
from flowsim.operators.windowing.triggers.nested_triggers import ProcessingTimeoutTrigger, PurgingTrigger
from flowsim.operators.windowing.triggers.time_triggers import (
    EndOfStreamTrigger,
    EventTimeTrigger,
    NeverTrigger,
    ProcessingTimeTrigger,
)
from flowsim.operators.windowing.triggers.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.windows import GLOBAL_WINDOW, TimeWindow, Window
from flowsim.units import MAX_WATERMARK
from flowsim.values.types import Types
from tests.support.operators.scripted_context import ScriptedContext

CONTINUE, FIRE, PURGE, FIRE_AND_PURGE = TriggerResult
WINDOW = TimeWindow(0, 100)


class On:
    """A trigger in its context, for one window unless another is named."""

    def __init__(self, trigger: Trigger, window: Window = WINDOW) -> None:
        self.trigger = trigger
        self.ctx = ScriptedContext()
        self.window = self.ctx.at = window

    def element(self, timestamp: int | None = 5, value: object = "x") -> TriggerResult:
        return self.trigger.on_element(value, timestamp, self.window, self.ctx)

    def event_time(self, time: int) -> TriggerResult:
        return self.trigger.on_event_time(time, self.window, self.ctx)

    def processing_time(self, time: int) -> TriggerResult:
        return self.trigger.on_processing_time(time, self.window, self.ctx)

    def merge(self, into: Window, *windows: Window) -> None:
        self.window, self.ctx.merged = into, windows
        self.ctx.at = into
        self.trigger.on_merge(into, self.ctx)

    def at(self, window: Window) -> On:
        self.window = self.ctx.at = window
        return self

    def clear(self) -> None:
        self.trigger.clear(self.window, self.ctx)


class OnlyPurges(NeverTrigger):
    """Purges at each record, without a firing."""

    def on_element(self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        return PURGE


def distance(old: object, new: object) -> float:
    assert isinstance(old, int)
    assert isinstance(new, int)
    return float(new - old)


def test_trigger_result_has_fire_and_purge() -> None:
    assert [(result.is_fire(), result.is_purge()) for result in (CONTINUE, FIRE, PURGE, FIRE_AND_PURGE)] == [
        (False, False), (True, False), (False, True), (True, True),
    ]  # fmt: skip


def test_event_time_trigger_fires_only_at_last_millisecond() -> None:
    on = On(EventTimeTrigger())
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, ["+e99"])
    assert [on.event_time(98), on.event_time(99), on.event_time(150)] == [CONTINUE, FIRE, CONTINUE]
    assert on.processing_time(99) is CONTINUE
    on.clear()
    assert on.ctx.take_timer_calls() == ["-e99"]


def test_event_time_trigger_fires_at_once_for_passed_window() -> None:
    on = On(EventTimeTrigger())
    on.ctx.watermark = 98
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, ["+e99"])
    on.ctx.watermark = 99
    assert (on.element(), on.ctx.take_timer_calls()) == (FIRE, [])


def test_event_time_trigger_registers_timer_of_merged_window_unless_passed() -> None:
    on = On(EventTimeTrigger())
    on.ctx.watermark = 98
    on.merge(WINDOW)
    assert on.ctx.take_timer_calls() == ["+e99"]
    on.ctx.watermark = 99
    on.merge(WINDOW)
    assert on.ctx.take_timer_calls() == []


def test_processing_time_trigger_fires_at_any_timer() -> None:
    on = On(ProcessingTimeTrigger())
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, ["+p99"])
    assert [on.processing_time(99), on.processing_time(7), on.event_time(99)] == [FIRE, FIRE, CONTINUE]
    on.ctx.now = 98
    on.merge(WINDOW)
    on.ctx.now = 99
    on.merge(WINDOW)
    on.clear()
    assert on.ctx.take_timer_calls() == ["+p99", "-p99"]


def test_count_trigger_fires_every_n_records_of_a_window() -> None:
    on = On(CountTrigger(3))
    assert [on.element() for _ in range(7)] == [CONTINUE, CONTINUE, FIRE, CONTINUE, CONTINUE, FIRE, CONTINUE]
    assert on.ctx.kept() == {"count@0:100": 1}
    assert on.at(TimeWindow(100, 200)).element() is CONTINUE
    on.at(WINDOW).clear()
    assert on.ctx.kept() == {"count@100:200": 1}
    assert [on.event_time(99), on.processing_time(99), on.ctx.take_timer_calls()] == [CONTINUE, CONTINUE, []]


def test_count_trigger_adds_counts_of_merged_windows() -> None:
    first, second, both = TimeWindow(0, 10), TimeWindow(20, 30), TimeWindow(0, 30)
    on = On(CountTrigger(4))
    for window in (first, first, second, second, second):
        on.at(window).element()
    on.merge(both, first, second)
    assert on.ctx.kept() == {"count@0:30": 5}
    assert on.element() is FIRE
    assert on.ctx.kept() == {}


def test_purging_trigger_purges_at_every_fire_and_delegates_the_rest() -> None:
    on = On(PurgingTrigger(EventTimeTrigger()))
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, ["+e99"])
    assert [on.event_time(99), on.event_time(5), on.processing_time(5)] == [FIRE_AND_PURGE, CONTINUE, CONTINUE]
    on.ctx.watermark = 200
    assert on.element() is FIRE_AND_PURGE
    assert On(PurgingTrigger(ProcessingTimeTrigger())).processing_time(1) is FIRE_AND_PURGE
    assert on.trigger.can_merge()
    on.ctx.watermark = 0
    on.merge(WINDOW)
    on.clear()
    assert on.ctx.take_timer_calls() == ["+e99", "-e99"]


def test_continuous_event_time_trigger_fires_at_interval_and_at_end() -> None:
    on = On(ContinuousEventTimeTrigger(30))
    assert (on.element(35), on.ctx.take_timer_calls()) == (CONTINUE, ["+e99", "+e60"])
    assert (on.element(5), on.ctx.take_timer_calls()) == (CONTINUE, ["+e99"])
    assert (on.event_time(60), on.ctx.take_timer_calls()) == (FIRE, ["+e90"])
    assert (on.event_time(90), on.ctx.take_timer_calls()) == (FIRE, ["+e99"])
    assert (on.event_time(99), on.event_time(60), on.ctx.take_timer_calls()) == (FIRE, CONTINUE, [])
    assert on.ctx.kept() == {"fire-time@0:100": 99}
    on.clear()
    assert (on.ctx.take_timer_calls(), on.ctx.kept()) == (["-e99"], {})
    on.ctx.watermark = 99
    assert (on.element(5), on.ctx.take_timer_calls()) == (FIRE, [])


def test_continuous_event_time_trigger_rounds_up_before_zero() -> None:
    """Java's remainder has the sign of the timestamp."""
    on = On(ContinuousEventTimeTrigger(10), TimeWindow(-100, 100))
    on.element(-15)
    assert on.ctx.take_timer_calls() == ["+e99", "+e0"]


def test_continuous_event_time_trigger_merges_to_earliest_firing() -> None:
    first, second, both = TimeWindow(0, 50), TimeWindow(40, 90), TimeWindow(0, 90)
    on = On(ContinuousEventTimeTrigger(30))
    on.at(first).element(35)
    on.at(second).element(65)
    on.ctx.take_timer_calls()
    on.merge(both, first, second)
    assert (on.ctx.take_timer_calls(), on.ctx.kept()) == (["+e49"], {"fire-time@0:90": 49})
    on.merge(TimeWindow(0, 200))
    assert on.ctx.take_timer_calls() == []


def test_continuous_processing_time_trigger_shortens_last_interval() -> None:
    on = On(ContinuousProcessingTimeTrigger(30))
    on.ctx.now = 65
    assert (on.element(5), on.ctx.take_timer_calls()) == (CONTINUE, ["+p90"])
    assert (on.element(5), on.ctx.take_timer_calls()) == (CONTINUE, [])
    assert (on.processing_time(90), on.ctx.take_timer_calls()) == (FIRE, ["+p99"])
    assert (on.processing_time(95), on.event_time(99)) == (CONTINUE, CONTINUE)
    assert on.processing_time(99) is FIRE
    on.merge(TimeWindow(0, 200), WINDOW)
    assert on.ctx.take_timer_calls() == ["+p99"]
    on.clear()
    assert (on.ctx.take_timer_calls(), on.ctx.kept()) == (["-p99"], {})


def test_continuous_processing_time_trigger_refuses_unknown_timer() -> None:
    with pytest.raises(BadInput, match="the trigger did not register the timer at 5 ms"):
        On(ContinuousProcessingTimeTrigger(30)).processing_time(5)


@pytest.mark.parametrize("kind", [ContinuousEventTimeTrigger, ContinuousProcessingTimeTrigger])
def test_continuous_trigger_without_interval_is_refused(kind: type[ContinuousEventTimeTrigger]) -> None:
    with pytest.raises(BadInput, match="an interval of at least 1 ms, got 0 ms"):
        kind(0)


def test_delta_trigger_fires_when_distance_exceeds_threshold() -> None:
    on = On(DeltaTrigger(3, distance, Types.LONG()))
    assert [on.element(0, value) for value in (10, 13, 14, 17, 18)] == [CONTINUE, CONTINUE, FIRE, CONTINUE, FIRE]
    assert on.ctx.kept() == {"last-element@0:100": 18}
    assert [on.event_time(99), on.processing_time(99), on.ctx.take_timer_calls()] == [CONTINUE, CONTINUE, []]
    on.clear()
    assert on.ctx.kept() == {}
    assert On(DeltaTrigger(3, lambda old, new: float("nan"), Types.LONG())).element() is CONTINUE


def test_timeout_trigger_fires_after_timeout() -> None:
    on = On(ProcessingTimeoutTrigger(CountTrigger(3), 50))
    on.ctx.now = 7
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, ["+p57"])
    on.ctx.now = 20
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, [])
    assert (on.processing_time(57), on.ctx.take_timer_calls(), on.ctx.kept()) == (FIRE, ["-p57"], {})


def test_timeout_ends_when_nested_trigger_fires() -> None:
    on = On(ProcessingTimeoutTrigger(PurgingTrigger(CountTrigger(2)), 50))
    on.element()
    assert (on.element(), on.ctx.take_timer_calls(), on.ctx.kept()) == (FIRE_AND_PURGE, ["+p50", "-p50"], {})


def test_timeout_may_restart_with_each_record_and_keep_state() -> None:
    on = On(ProcessingTimeoutTrigger(CountTrigger(9), 50, reset_on_element=True, clear_on_timeout=False))
    on.element()
    on.ctx.now = 20
    on.element()
    assert on.ctx.take_timer_calls() == ["+p50", "-p50", "+p70"]
    assert (on.processing_time(70), on.ctx.kept()) == (FIRE, {"count@0:100": 2, "timeout@0:100": 70})


def test_timeout_trigger_fires_at_any_timer_and_purges_like_nested_one() -> None:
    on = On(ProcessingTimeoutTrigger(PurgingTrigger(EventTimeTrigger()), 50))
    assert [on.event_time(98), on.event_time(99), on.processing_time(1)] == [FIRE, FIRE_AND_PURGE, FIRE]


def test_any_of_calls_every_part_and_combines_results() -> None:
    on = On(AnyOfTrigger.of(EventTimeTrigger(), CountTrigger(2), PurgingTrigger(CountTrigger(3))))
    assert [on.element(), on.element(), on.element()] == [CONTINUE, FIRE, FIRE_AND_PURGE]
    assert on.ctx.take_timer_calls() == ["+e99"] * 3
    assert [on.event_time(98), on.event_time(99), on.processing_time(99)] == [CONTINUE, FIRE, CONTINUE]
    assert On(AnyOfTrigger.of(OnlyPurges(), CountTrigger(2))).element() is PURGE
    assert On(AnyOfTrigger.of(OnlyPurges(), CountTrigger(1))).element() is FIRE_AND_PURGE


def test_any_of_keeps_a_state_for_each_part_and_clears_all() -> None:
    on = On(AnyOfTrigger.of(CountTrigger(3), AnyOfTrigger.of(CountTrigger(9), ContinuousEventTimeTrigger(10))))
    on.element()
    assert on.ctx.kept() == {"0/count@0:100": 1, "1/0/count@0:100": 1, "1/1/fire-time@0:100": 10}
    on.ctx.take_timer_calls()
    on.clear()
    assert (on.ctx.kept(), on.ctx.take_timer_calls()) == ({}, ["-e10"])


def test_any_of_merges_the_states_of_its_parts() -> None:
    on = On(AnyOfTrigger.of(CountTrigger(5), CountTrigger(3)), TimeWindow(0, 10))
    on.element()
    on.at(TimeWindow(5, 20)).element()
    on.merge(TimeWindow(0, 20), TimeWindow(0, 10), TimeWindow(5, 20))
    assert on.ctx.kept() == {"0/count@0:20": 2, "1/count@0:20": 2}
    assert (on.element(), on.ctx.kept()) == (FIRE, {"0/count@0:20": 3})


def test_any_of_merges_only_if_all_parts_do() -> None:
    parts = [CountTrigger(2), EventTimeTrigger()]
    assert AnyOfTrigger.of(*parts).can_merge()
    assert not AnyOfTrigger.of(*parts, ProcessingTimeoutTrigger(CountTrigger(2), 5)).can_merge()


def test_any_of_shares_timers_of_one_time_as_flinks_windows_do() -> None:
    """A window has one timer for each time: the part that deletes it deletes it for all parts."""
    on = On(AnyOfTrigger.of(ProcessingTimeTrigger(), ProcessingTimeoutTrigger(CountTrigger(2), 99)))
    on.element()
    on.element()
    assert on.ctx.take_timer_calls() == ["+p99", "+p99", "+p99", "-p99"]


@pytest.mark.parametrize(("parts", "error"), [((), BadInput), ((CountTrigger,), TypeError), ((None,), TypeError)])
def test_any_of_refuses_what_is_no_trigger(parts: tuple[object, ...], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"^AnyOfTrigger.of: expected "):
        AnyOfTrigger.of(*parts)  # type: ignore[arg-type]  # what the test is about


def test_never_trigger_never_fires() -> None:
    on = On(NeverTrigger(), GLOBAL_WINDOW)
    assert [on.element(), on.event_time(MAX_WATERMARK), on.processing_time(9)] == [CONTINUE, CONTINUE, CONTINUE]
    on.merge(GLOBAL_WINDOW)
    on.clear()
    assert on.ctx.take_timer_calls() == []


def test_end_of_stream_trigger_fires_only_at_max_watermark() -> None:
    on = On(EndOfStreamTrigger(), GLOBAL_WINDOW)
    assert (on.element(), on.ctx.take_timer_calls()) == (CONTINUE, [f"+e{MAX_WATERMARK}"])
    assert [on.event_time(99), on.event_time(MAX_WATERMARK), on.processing_time(9)] == [CONTINUE, FIRE, CONTINUE]
    on.merge(GLOBAL_WINDOW)
    on.clear()
    assert on.ctx.take_timer_calls() == []


def test_custom_trigger_merges_only_with_on_merge() -> None:
    class Always(Trigger):
        def on_element(
            self, element: object, timestamp: int | None, window: Window, ctx: TriggerContext
        ) -> TriggerResult:
            return FIRE

        def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
            return CONTINUE

        def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
            return CONTINUE

        def clear(self, window: Window, ctx: TriggerContext) -> None:
            return

    class AlwaysMerging(Always):
        def can_merge(self) -> bool:
            return True

        def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
            ctx.register_event_time_timer(window.max_timestamp())

    assert not Always().can_merge()
    with pytest.raises(BadInput, match="the trigger Always does not support merging windows"):
        On(Always()).merge(WINDOW)
    on = On(PurgingTrigger(AlwaysMerging()))
    on.merge(WINDOW)
    assert (on.trigger.can_merge(), on.ctx.take_timer_calls(), on.element()) == (True, ["+e99"], FIRE_AND_PURGE)


def test_trigger_with_undefined_method_cannot_be_constructed() -> None:
    class Half(Trigger):
        def clear(self, window: Window, ctx: TriggerContext) -> None:
            return

    with pytest.raises(TypeError, match="on_element"):
        Half()  # type: ignore[abstract]  # what the test is about
