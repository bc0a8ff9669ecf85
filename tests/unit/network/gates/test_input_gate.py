"""A flag that runs its callbacks once when it is set."""

from __future__ import annotations

from flowsim.network.gates.input_gate import AvailabilityHelper


def test_waiting_callbacks_run_once_last_registered_first() -> None:
    """As the dependents of a Java future."""
    flag, reported = AvailabilityHelper(), list[int]()
    for number in range(3):
        flag.when_available(lambda number=number: reported.append(number))  # type: ignore[misc]
    flag.set_available()
    flag.set_available()
    assert (reported, flag.available) == ([2, 1, 0], True)


def test_callback_of_available_helper_runs_at_once() -> None:
    flag, reported = AvailabilityHelper(), list[str]()
    flag.set_available()
    flag.when_available(lambda: reported.append("now"))
    assert reported == ["now"]


def test_callback_registered_during_notification_waits_for_next() -> None:
    flag, reported = AvailabilityHelper(), list[str]()

    def again() -> None:
        reported.append("called")
        flag.reset_unavailable()
        flag.when_available(again)

    flag.when_available(again)
    flag.set_available()
    assert reported == ["called"]
    flag.set_available()
    assert reported == ["called", "called"]
