"""What adds costs and pauses to the clock of a task. Scenarios test both in whole jobs."""

from __future__ import annotations

from flowsim.task_clock import TaskClock
from flowsim.tasks.record_charge import PausedTime, RecordCharge


def test_a_pause_ends_before_the_cost_of_its_record_and_lets_the_time_pass() -> None:
    clock = TaskClock(0)
    paused: list[tuple[int, int]] = []

    def pause_until(until_ns: int) -> None:
        paused.append((clock.now_ns, until_ns))
        clock.now_ns = until_ns

    charge = RecordCharge((lambda value: 3,), clock, [PausedTime(30, 50), PausedTime(10, 20)], pause_until)
    charge.scale(2, 1)
    seen = []
    for now_ns in (9, 10, 19, 20, 44, 50):
        clock.now_ns = now_ns
        charge.add("record")
        seen.append(clock.now_ns)
    assert seen == [15, 26, 26, 26, 56, 56]
    assert paused == [(10, 20), (19, 20), (44, 50)]


def test_pauses_that_overlap_are_one_after_the_other() -> None:
    clock = TaskClock(0)
    charge = RecordCharge((), clock, [PausedTime(5, 30), PausedTime(0, 10)], lambda ns: setattr(clock, "now_ns", ns))
    charge.add("record")
    assert clock.now_ns == 30
