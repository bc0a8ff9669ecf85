"""When timers fire, with which key and in which order (rules 9.1-9.15)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level, TimeDomain, TimerAction
from flowsim.facts.tracer import TaskTrace
from flowsim.recording.memory import MemoryRecorder
from flowsim.state.key_group_range import KeyGroupRange
from flowsim.state.key_group_range_assignment import assign_to_key_group
from flowsim.testing.harness import ManualClock, ManualProcessingTimeService
from flowsim.timers.internal_time_service_manager import InternalTimeServiceManager
from flowsim.timers.internal_timer import InternalTimer
from flowsim.timers.internal_timer_service import (
    CancellationContext,
    InternalTimerService,
    TimersSnapshot,
    Triggerable,
)
from flowsim.timers.key_groups import KeyGroups
from flowsim.timers.recorded_timer_service import KeyFacts
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS
from flowsim.values.java_hash_code import key_hash
from flowsim.values.keys import key_fingerprint, state_key

Fired = tuple[str, object, int]


class TimerHarness:
    """One service with its key context and a script of what callbacks do."""

    def __init__(self, trace: TaskTrace | None = None) -> None:
        self.current_key: object = None
        self.current_key_id: object = None
        self.clock = ManualClock(NS_PER_MS)
        self.time = ManualProcessingTimeService(self.clock)
        self.fired: list[Fired] = []
        self.then: dict[int, Callable[[], None]] = {}
        facts = KeyFacts(trace, None) if trace is not None else None
        self.cancellation = CancellationContext()
        groups = KeyGroups(KeyGroupRange(0, 127), 128)
        self.manager = InternalTimeServiceManager(
            self, self.time, 3, trace, facts, key_groups=groups, cancellation=self.cancellation
        )
        self.service = self.service_named("timers")

    def service_named(self, name: str) -> InternalTimerService[str]:
        """Records the name of the service with each of its timers if it is not the first service."""
        owner: Triggerable = self if name == "timers" else _Named(self, name)
        self.set_current_key("a", "a")
        return self.manager.internal_timer_service(name, owner, lambda namespace: (0, len(namespace)))

    def set_current_key(self, key: object, key_id: object) -> None:
        self.current_key, self.current_key_id = key, key_id

    def on_event_time(self, timer: InternalTimer) -> None:
        self._fire("event", timer)

    def on_processing_time(self, timer: InternalTimer) -> None:
        self._fire("processing", timer)

    def _fire(self, domain: str, timer: InternalTimer) -> None:
        assert self.current_key is timer.key
        self.fired.append((domain, self.current_key, timer.timestamp))
        self.then.get(timer.timestamp, lambda: None)()

    def key(self, key: object) -> InternalTimerService[str]:
        """Makes ``key`` the current one, for the registration that follows."""
        self.set_current_key(key, state_key(key))
        return self.service


class _Named:
    """Tells which service a timer is of."""

    def __init__(self, harness: TimerHarness, name: str) -> None:
        self.harness = harness
        self.name = name

    def on_event_time(self, timer: InternalTimer) -> None:
        self.harness.fired.append((self.name, timer.key, timer.timestamp))

    def on_processing_time(self, timer: InternalTimer) -> None:
        self.harness.fired.append((self.name, timer.key, timer.timestamp))


def test_callback_sees_new_watermark_and_its_key() -> None:
    """Rule 9.4: the watermark moves first; rule 9.13: the key is set and stays set."""
    harness = TimerHarness()
    harness.key("a").register_event_time_timer("", 5)
    harness.key("b").register_event_time_timer("", 3)
    seen: list[int] = []
    harness.then[3] = lambda: seen.append(harness.service.current_watermark)
    assert harness.service.current_watermark == NO_TIMESTAMP
    harness.service.advance_watermark(10)
    assert harness.fired == [("event", "b", 3), ("event", "a", 5)]
    assert seen == [10]
    assert harness.current_key == "a"
    assert harness.service.fired_timers == 2


def test_due_timer_registered_by_callback_fires_in_same_advance() -> None:
    """Rule 9.5: also when it is earlier than the timer that registered it."""
    harness = TimerHarness()
    harness.key("a").register_event_time_timer("", 5)

    def register_two() -> None:
        harness.service.register_event_time_timer("", 2)
        harness.service.register_event_time_timer("", 11)

    harness.then[5] = register_two
    harness.service.advance_watermark(10)
    assert harness.fired == [("event", "a", 5), ("event", "a", 2)]
    assert harness.service.num_event_time_timers == 1


def test_timer_behind_watermark_fires_at_next_advance() -> None:
    """Rules 9.6, 9.7: even an advance backwards fires it, since the service does not check the order."""
    harness = TimerHarness()
    harness.service.advance_watermark(10)
    harness.key("a").register_event_time_timer("", 4)
    assert harness.fired == []
    harness.service.advance_watermark(9)
    assert harness.fired == [("event", "a", 4)]
    assert harness.service.current_watermark == 9


def test_delete_needs_same_time_key_and_namespace() -> None:
    """Rule 9.11."""
    harness = TimerHarness()
    harness.key("a").register_event_time_timer("w", 5)
    harness.key("b").delete_event_time_timer("w", 5)
    harness.key("a").delete_event_time_timer("v", 5)
    harness.key("a").delete_event_time_timer("w", 6)
    assert harness.service.num_event_time_timers == 1
    harness.key("a").delete_event_time_timer("w", 5)
    assert harness.service.num_event_time_timers == 0


def test_int_boolean_and_double_keys_are_different() -> None:
    harness = TimerHarness()
    harness.key(1).register_event_time_timer("", 5)
    harness.key(True).register_event_time_timer("", 5)
    harness.key(1.0).register_event_time_timer("", 5)
    harness.key(1).register_event_time_timer("", 5)
    assert harness.service.num_event_time_timers == 3


def test_timer_at_max_watermark_fires_with_last_watermark() -> None:
    harness = TimerHarness()
    harness.key("a").register_event_time_timer("", MAX_WATERMARK)
    harness.service.advance_watermark(MAX_WATERMARK - 1)
    assert harness.fired == []
    harness.service.advance_watermark(MAX_WATERMARK)
    assert harness.fired == [("event", "a", MAX_WATERMARK)]


def test_only_earliest_processing_timer_has_a_system_timer() -> None:
    """Rule 9.8."""
    harness = TimerHarness()
    harness.key("a").register_processing_time_timer("", 50)
    harness.key("a").register_processing_time_timer("", 60)
    assert harness.time.live_timers_ms() == [50]
    harness.key("a").register_processing_time_timer("", 40)
    assert harness.time.live_timers_ms() == [40]


def test_processing_timers_fire_up_to_time_of_system_timer() -> None:
    """Rule 9.9: not up to now; then the next head gets a system timer of its own."""
    harness = TimerHarness()
    for timestamp in (10, 20, 30):
        harness.key("a").register_processing_time_timer("", timestamp)
    seen: list[list[int]] = []
    harness.then[10] = lambda: seen.append(harness.time.live_timers_ms())
    harness.time.advance_to(25)
    assert harness.fired == [("processing", "a", 10), ("processing", "a", 20)]
    assert seen == [[]]
    assert harness.time.live_timers_ms() == [30]


def test_processing_timer_registered_by_callback_registers_system_timer_once() -> None:
    """Rule 9.9."""
    harness = TimerHarness()
    harness.key("a").register_processing_time_timer("", 10)
    harness.key("a").register_processing_time_timer("", 90)
    harness.then[10] = lambda: harness.service.register_processing_time_timer("", 15)
    harness.time.advance_to(10)
    assert harness.fired == [("processing", "a", 10)]
    assert harness.time.live_timers_ms() == [15]


def test_system_timer_of_deleted_head_fires_nothing_and_registers_next() -> None:
    """Rule 9.11."""
    harness = TimerHarness()
    harness.key("a").register_processing_time_timer("", 10)
    harness.key("a").register_processing_time_timer("", 20)
    harness.key("a").delete_processing_time_timer("", 10)
    assert harness.time.live_timers_ms() == [10]
    harness.time.advance_to(10)
    assert harness.fired == []
    assert harness.time.live_timers_ms() == [20]


def test_timers_of_key_group_are_restored_in_other_service() -> None:
    """Rule 9.15: an overdue processing timer fires as soon as the service starts and time is looked at."""
    groups = {name: assign_to_key_group(name, 128) for name in "ab"}
    old = TimerHarness()
    old.key("a").register_event_time_timer("w", 5)
    old.key("b").register_event_time_timer("w", 6)
    old.key("a").register_processing_time_timer("w", 7)
    new = TimerHarness()
    new.clock.now_ns = 100 * NS_PER_MS
    new.manager.restore_timers({groups["a"]: old.manager.snapshot_timers_for_key_group(groups["a"])})
    assert (new.service.num_event_time_timers, new.service.num_processing_time_timers) == (1, 1)
    assert new.service.current_watermark == NO_TIMESTAMP
    new.time.advance_to(100)
    new.service.advance_watermark(5)
    assert new.fired == [("processing", "a", 7), ("event", "a", 5)]
    snapshot = old.manager.snapshot_timers_for_key_group(groups["b"])
    assert snapshot == {"timers": TimersSnapshot(((6, "b", "b", "w"),), ())}
    assert old.manager.snapshot_timers_for_key_group(0) == {"timers": TimersSnapshot((), ())}


def test_snapshot_has_order_of_java_hash_map() -> None:
    """Rule 9.15: bins by the hash code of time, key and namespace, not the order of registration."""
    harness = TimerHarness()
    group = assign_to_key_group("a", 128)
    for timestamp in (1, 2, 3, 4):
        harness.key("a").register_event_time_timer("w", timestamp)
    snapshot = harness.service.snapshot_timers_for_key_group(group)
    assert [timestamp for timestamp, _, _, _ in snapshot.event_time] == [2, 3, 4, 1]


def test_restoring_timers_of_unknown_service_is_refused() -> None:
    harness = TimerHarness()
    with pytest.raises(BadInput, match="'others' that the operator no longer has"):
        harness.manager.restore_timers({0: {"others": TimersSnapshot((), ())}})


def test_services_advance_in_order_of_java_hash_map() -> None:
    """Rule 9.12."""
    harness = TimerHarness()
    for name in ("window-timers", "user-timers", "CLEANUP_TIMER"):
        harness.service_named(name).register_event_time_timer("", 5)
    harness.manager.advance_watermark(5)
    assert [name for name, _, _ in harness.fired] == ["CLEANUP_TIMER", "window-timers", "user-timers"]
    assert harness.manager.fired_timers == 3


def test_service_name_in_use_returns_existing_service() -> None:
    """Rule 9.12: the second triggerable is never called."""
    first, second = TimerHarness(), TimerHarness()
    again: InternalTimerService[str] = first.manager.internal_timer_service("timers", second, lambda name: (0, 0))
    assert again is first.service
    first.key("a").register_event_time_timer("", 5)
    first.manager.advance_watermark(5)
    assert (first.fired, second.fired) == ([("event", "a", 5)], [])


def test_interrupted_advance_leaves_remaining_timers_and_services() -> None:
    """Rule 9.18: it asks after each timer, also after the last, and the next service keeps its watermark."""
    harness = TimerHarness()
    other = harness.service_named("a service behind")
    for timestamp in (1, 2, 3):
        harness.key("a").register_event_time_timer("", timestamp)
    answers = iter([False, True, True, False])
    assert not harness.manager.try_advance_watermark(10, lambda: next(answers))
    assert [timestamp for _, _, timestamp in harness.fired] == [1, 2]
    assert (harness.service.current_watermark, other.current_watermark) == (10, NO_TIMESTAMP)
    assert not harness.manager.try_advance_watermark(10, lambda: next(answers))
    assert (harness.service.num_event_time_timers, other.current_watermark) == (0, NO_TIMESTAMP)
    assert harness.manager.try_advance_watermark(10, lambda: next(answers))
    assert other.current_watermark == 10


def test_cancelled_task_fires_no_more_timers() -> None:
    """Rule 9.14: of either kind; the advance itself is over."""
    harness = TimerHarness()
    for timestamp in (1, 2):
        harness.key("a").register_event_time_timer("", timestamp)
        harness.key("a").register_processing_time_timer("", timestamp)

    def cancel() -> None:
        harness.cancellation.is_cancelled = True

    harness.then[1] = cancel
    assert harness.manager.try_advance_watermark(10, lambda: False)
    (system_timer,) = harness.time.timers
    system_timer.callback(system_timer.timestamp_ms)
    assert harness.fired == [("event", "a", 1)]
    assert (harness.service.num_event_time_timers, harness.service.num_processing_time_timers) == (1, 2)


def test_negative_times_are_valid() -> None:
    harness = TimerHarness()
    for timestamp in (-(2**63), -5, 0):
        harness.key("a").register_event_time_timer("", timestamp)
    harness.service.advance_watermark(-6)
    harness.service.advance_watermark(-1)
    assert [timestamp for _, _, timestamp in harness.fired] == [-(2**63), -5]


def test_processing_timer_at_max_time_has_no_system_timer() -> None:
    """Rule 9.8: nothing is earlier than the head that is not there."""
    harness = TimerHarness()
    harness.key("a").register_processing_time_timer("", MAX_WATERMARK)
    assert (harness.service.num_processing_time_timers, harness.time.live_timers_ms()) == (1, [])


def test_full_recording_has_each_register_delete_and_fire() -> None:
    recorder = MemoryRecorder(Level.FULL)
    clock = ManualClock(7)
    harness = TimerHarness(TaskTrace(11, clock, recorder))
    harness.key("a").register_event_time_timer("ww", 5)
    harness.key("a").register_event_time_timer("ww", 5)
    harness.key("a").delete_event_time_timer("ww", 6)
    harness.key(1).register_processing_time_timer("", 9)
    harness.key(1).delete_processing_time_timer("", 9)
    harness.service.advance_watermark(5)
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
    assert harness.fired == [("event", "a", 5)]
