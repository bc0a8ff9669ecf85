"""When timers fire, with which key and in which order (rules 9.1-9.15)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.facts.kinds import Level, TimeDomain, TimerAction
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.memory import MemoryRecorder
from flowsim.testing.harness import ManualClock, ManualProcessingTimeService
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import InternalTimerService
from flowsim.timers.key_facts import KeyFacts
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.values import key_fingerprint, key_hash, state_key

Fired = tuple[str, object, int]


class Bench:
    """One service with its key context and a script of what callbacks do."""

    def __init__(self, trace: TaskTrace | None = None) -> None:
        self.current_key: object = None
        self.current_key_id: object = None
        self.clock = ManualClock(NS_PER_MS)
        self.time = ManualProcessingTimeService(self.clock)
        self.fired: list[Fired] = []
        self.then: dict[int, Callable[[], None]] = {}
        facts = KeyFacts(trace, None) if trace is not None else None
        self.manager = InternalTimeServiceManager(self, self.time, 3, trace, facts)
        self.service: InternalTimerService[str] = self.manager.internal_timer_service(
            "timers", self, lambda name: (0, len(name))
        )

    def set_current_key(self, key: object, key_id: object) -> None:
        self.current_key, self.current_key_id = key, key_id

    def on_event_time(self, timer: InternalTimer[str]) -> None:
        self._fire("event", timer)

    def on_processing_time(self, timer: InternalTimer[str]) -> None:
        self._fire("processing", timer)

    def _fire(self, domain: str, timer: InternalTimer[str]) -> None:
        assert self.current_key is timer.key
        self.fired.append((domain, self.current_key, timer.timestamp))
        self.then.get(timer.timestamp, lambda: None)()

    def key(self, key: object) -> InternalTimerService[str]:
        """Makes ``key`` the current one, for the registration that follows."""
        self.set_current_key(key, state_key(key))
        return self.service


def test_a_callback_sees_the_new_watermark_and_its_own_key() -> None:
    """Rule 9.4: the watermark moves first; rule 9.13: the key is set and stays set."""
    bench = Bench()
    bench.key("a").register_event_time_timer("", 5)
    bench.key("b").register_event_time_timer("", 3)
    seen: list[int] = []
    bench.then[3] = lambda: seen.append(bench.service.current_watermark)
    assert bench.service.current_watermark == NO_TIMESTAMP
    bench.service.advance_watermark(10)
    assert bench.fired == [("event", "b", 3), ("event", "a", 5)]
    assert seen == [10]
    assert bench.current_key == "a"
    assert bench.service.fired_timers == 2


def test_a_timer_registered_while_firing_fires_in_the_same_advance_if_it_is_due() -> None:
    """Rule 9.5: also when it is earlier than the timer that registered it."""
    bench = Bench()
    bench.key("a").register_event_time_timer("", 5)

    def register_two() -> None:
        bench.service.register_event_time_timer("", 2)
        bench.service.register_event_time_timer("", 11)

    bench.then[5] = register_two
    bench.service.advance_watermark(10)
    assert bench.fired == [("event", "a", 5), ("event", "a", 2)]
    assert bench.service.num_event_time_timers == 1


def test_a_timer_behind_the_watermark_waits_for_the_next_advance() -> None:
    """Rules 9.6, 9.7: even an advance backwards fires it, since nobody checks here."""
    bench = Bench()
    bench.service.advance_watermark(10)
    bench.key("a").register_event_time_timer("", 4)
    assert bench.fired == []
    bench.service.advance_watermark(9)
    assert bench.fired == [("event", "a", 4)]
    assert bench.service.current_watermark == 9


def test_deleting_needs_the_same_time_key_and_namespace() -> None:
    """Rule 9.11."""
    bench = Bench()
    bench.key("a").register_event_time_timer("w", 5)
    bench.key("b").delete_event_time_timer("w", 5)
    bench.key("a").delete_event_time_timer("v", 5)
    bench.key("a").delete_event_time_timer("w", 6)
    assert bench.service.num_event_time_timers == 1
    bench.key("a").delete_event_time_timer("w", 5)
    assert bench.service.num_event_time_timers == 0


def test_one_and_true_are_two_keys() -> None:
    bench = Bench()
    bench.key(1).register_event_time_timer("", 5)
    bench.key(True).register_event_time_timer("", 5)
    bench.key(1.0).register_event_time_timer("", 5)
    bench.key(1).register_event_time_timer("", 5)
    assert bench.service.num_event_time_timers == 3


def test_the_timer_at_the_end_of_time_fires_with_the_last_watermark() -> None:
    bench = Bench()
    bench.key("a").register_event_time_timer("", MAX_WATERMARK)
    bench.service.advance_watermark(MAX_WATERMARK - 1)
    assert bench.fired == []
    bench.service.advance_watermark(MAX_WATERMARK)
    assert bench.fired == [("event", "a", MAX_WATERMARK)]


def test_only_the_earliest_processing_timer_has_a_system_timer() -> None:
    """Rule 9.8."""
    bench = Bench()
    bench.key("a").register_processing_time_timer("", 50)
    bench.key("a").register_processing_time_timer("", 60)
    assert bench.time.live_timers_ms() == [50]
    bench.key("a").register_processing_time_timer("", 40)
    assert bench.time.live_timers_ms() == [40]


def test_processing_timers_fire_up_to_the_registered_time_of_the_system_timer() -> None:
    """Rule 9.9: not up to now; then the next head gets a system timer of its own."""
    bench = Bench()
    for timestamp in (10, 20, 30):
        bench.key("a").register_processing_time_timer("", timestamp)
    seen: list[list[int]] = []
    bench.then[10] = lambda: seen.append(bench.time.live_timers_ms())
    bench.time.advance_to(25)
    assert bench.fired == [("processing", "a", 10), ("processing", "a", 20)]
    assert seen == [[]]
    assert bench.time.live_timers_ms() == [30]


def test_a_processing_timer_registered_while_firing_arms_the_system_timer_once() -> None:
    """Rule 9.9."""
    bench = Bench()
    bench.key("a").register_processing_time_timer("", 10)
    bench.key("a").register_processing_time_timer("", 90)
    bench.then[10] = lambda: bench.service.register_processing_time_timer("", 15)
    bench.time.advance_to(10)
    assert bench.fired == [("processing", "a", 10)]
    assert bench.time.live_timers_ms() == [15]


def test_the_system_timer_of_a_deleted_head_finds_nothing_and_arms_the_next() -> None:
    """Rule 9.11."""
    bench = Bench()
    bench.key("a").register_processing_time_timer("", 10)
    bench.key("a").register_processing_time_timer("", 20)
    bench.key("a").delete_processing_time_timer("", 10)
    assert bench.time.live_timers_ms() == [10]
    bench.time.advance_to(10)
    assert bench.fired == []
    assert bench.time.live_timers_ms() == [20]


def test_the_timers_of_a_key_group_move_to_another_service() -> None:
    """Rule 9.15: an overdue processing timer fires as soon as the service starts and time is looked at."""

    def group_of(key: object) -> int:
        return 0 if key == "a" else 1

    old = Bench()
    old.key("a").register_event_time_timer("w", 5)
    old.key("b").register_event_time_timer("w", 6)
    old.key("a").register_processing_time_timer("w", 7)
    new = Bench()
    new.clock.now_ns = 100 * NS_PER_MS
    new.service.restore_timers(old.service.snapshot_timers_for_key_group(0, group_of))
    assert (new.service.num_event_time_timers, new.service.num_processing_time_timers) == (1, 1)
    assert new.service.current_watermark == NO_TIMESTAMP
    new.service.start()
    new.time.advance_to(100)
    new.service.advance_watermark(5)
    assert new.fired == [("processing", "a", 7), ("event", "a", 5)]
    assert len(old.service.snapshot_timers_for_key_group(1, group_of).event_time) == 1


def test_every_service_of_an_operator_advances_and_names_are_unique() -> None:
    """Rule 9.12."""
    bench = Bench()
    other: InternalTimerService[str] = bench.manager.internal_timer_service(
        "others", bench, lambda name: (0, len(name))
    )
    bench.key("a").register_event_time_timer("", 5)
    other.register_event_time_timer("", 4)
    bench.manager.advance_watermark(5)
    assert bench.fired == [("event", "a", 5), ("event", "a", 4)]
    with pytest.raises(ValueError, match="'others' already"):
        bench.manager.internal_timer_service("others", bench, lambda name: (0, len(name)))


def test_a_full_recording_tells_what_happened_to_each_timer_and_nothing_else() -> None:
    recorder = MemoryRecorder(Level.FULL)
    clock = ManualClock(7)
    bench = Bench(TaskTrace(11, clock, recorder))
    bench.key("a").register_event_time_timer("ww", 5)
    bench.key("a").register_event_time_timer("ww", 5)
    bench.key("a").delete_event_time_timer("ww", 6)
    bench.key(1).register_processing_time_timer("", 9)
    bench.key(1).delete_processing_time_timer("", 9)
    bench.service.advance_watermark(5)
    a, one = (key_hash("a"), key_fingerprint("a")), (key_hash(1), key_fingerprint(1))
    register, delete, fire = TimerAction.REGISTER, TimerAction.DELETE, TimerAction.FIRE
    event, processing = TimeDomain.EVENT_TIME, TimeDomain.PROCESSING_TIME
    assert recorder.rows("timers") == [
        (0, 11, 3, 7, register, event, 5, *a, 0, NO_TIMESTAMP, 2, 0),
        (1, 11, 3, 7, register, processing, 9, *one, 0, NO_TIMESTAMP, 0, 0),
        (2, 11, 3, 7, delete, processing, 9, *one, 0, NO_TIMESTAMP, 0, 0),
        (3, 11, 3, 7, fire, event, 5, *a, 0, 5, 2, 0),
    ]
    assert recorder.static_rows("keys") == [(11, a[1], a[0], "STRING", '"a"'), (11, one[1], one[0], "LONG", "1")]
    assert bench.fired == [("event", "a", 5)]
