"""Law timers over histories made by hand: what holds, and each way to break it (section 9)."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import LifeEvent, TimeDomain, TimerAction
from flowsim.laws.law import Verdict
from flowsim.units import NO_TIMESTAMP
from tests.support.facts.event_time_history import KEY, STATUS, WATERMARK, History

REGISTER, DELETE, FIRE = TimerAction.REGISTER, TimerAction.DELETE, TimerAction.FIRE
PROCESSING = TimeDomain.PROCESSING_TIME
MS = 1_000_000
NOW = NO_TIMESTAMP


def keyed(**more: object) -> History:
    return History(keyed=True, chain=(("keyed_process", dict(more)),))


def test_a_timer_that_fires_when_its_time_has_come() -> None:
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5).timer(FIRE, 5, 5).sends(WATERMARK, 5)
    history._add("lifecycle", -1, 0, LifeEvent.FINISHED)
    outcome = history.judged("timers")
    assert (outcome.verdict, outcome.rows_examined, outcome.evidence) == (Verdict.HOLDS, 4, ())


def test_without_keys_there_are_no_timers() -> None:
    assert History().judged("timers").verdict is Verdict.NOT_APPLICABLE


def test_a_timer_fires_once() -> None:
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5).timer(FIRE, 5, 5).timer(FIRE, 5, 5)
    assert history.broken("timers") == ["a timer that is not registered is fired or deleted"]


@pytest.mark.parametrize("action", [FIRE, DELETE])
def test_a_timer_that_was_deleted_is_gone(action: TimerAction) -> None:
    history = keyed().timer(REGISTER, 5, NOW).timer(DELETE, 5, NOW).hears(WATERMARK, 5).timer(action, 5, 5)
    assert history.broken("timers") == ["a timer that is not registered is fired or deleted"]


def test_registering_an_equal_timer_is_no_fact() -> None:
    """Rule 9.1; one of another window is another timer."""
    history = keyed().timer(REGISTER, 5, NOW).timer(REGISTER, 5, NOW, window=(0, 6)).timer(REGISTER, 5, NOW)
    assert history.broken("timers") == ["a timer is registered while an equal timer is registered"]


def test_a_timer_does_not_fire_before_the_watermark_has_reached_it() -> None:
    """Rule 9.4."""
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 4).timer(FIRE, 5, 4)
    assert history.broken("timers") == ["a timer fired before the watermark reached its time"]


def test_the_watermark_is_that_of_all_inputs_together() -> None:
    history = History(keyed=True, inputs=2, chain=(("keyed_co_process", {}),)).timer(REGISTER, 5, NOW)
    history.hears(WATERMARK, 9, of=0).hears(WATERMARK, 5, of=1).timer(FIRE, 5, 5)
    assert history.broken("timers") == []
    history.timer(REGISTER, 8, 9)
    assert history.broken("timers") == ["the recorded watermark is not the watermark of the operator"]
    history.hears(STATUS, -1, of=1).timer(FIRE, 8, 9)
    assert history.broken("timers") == ["the recorded watermark is not the watermark of the operator"], (
        "an idle input holds nobody back"
    )


@pytest.mark.parametrize(("at_ns", "broken"), [(6 * MS - 1, ["a timer fired before its time"]), (6 * MS, [])])
def test_a_processing_time_timer_fires_a_millisecond_after_its_time(at_ns: int, broken: list[str]) -> None:
    """Rule 9.10."""
    history = keyed().timer(REGISTER, 5, NOW, PROCESSING).timer(FIRE, 5, NOW, PROCESSING, at_ns=at_ns)
    assert history.broken("timers") == broken


def test_timers_fire_in_the_order_of_their_times() -> None:
    """Rule 9.2; those of the other domain do not count."""
    history = keyed().timer(REGISTER, 5, NOW).timer(REGISTER, 3, NOW).timer(REGISTER, 1, NOW, PROCESSING)
    history.hears(WATERMARK, 9).timer(FIRE, 5, 9).timer(FIRE, 3, 9)
    assert history.broken("timers") == ["a timer fired before a timer with an earlier time"]


def test_a_timer_that_a_callback_registers_counts_at_once() -> None:
    """Rule 9.5."""
    history = keyed().timer(REGISTER, 5, NOW).timer(REGISTER, 6, NOW).hears(WATERMARK, 9).timer(FIRE, 5, 9)
    history.timer(REGISTER, 2, 9).timer(FIRE, 6, 9).timer(FIRE, 2, 9)
    assert history.broken("timers") == ["a timer fired before a timer with an earlier time"]


def test_what_is_due_fires_before_the_watermark_goes_on() -> None:
    """Rule 8.15."""
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5).sends(WATERMARK, 5).timer(FIRE, 5, 5)
    assert history.broken("timers") == [
        "a due timer did not fire",
        "a timer that is not registered is fired or deleted",
    ]


def test_what_is_due_is_gone_when_the_next_watermark_comes_or_at_the_end() -> None:
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5)
    assert history.broken("timers", whole=False) == []
    assert history.broken("timers") == ["a due timer did not fire"]
    assert history.hears(WATERMARK, 6).broken("timers", whole=False) == ["a due timer did not fire"]


def test_a_timer_registered_too_late_waits_for_the_next_watermark() -> None:
    """Rule 9.7."""
    history = (
        keyed().hears(WATERMARK, 5).sends(WATERMARK, 5).timer(REGISTER, 3, 5).hears(WATERMARK, 6).timer(FIRE, 3, 6)
    )
    assert history.broken("timers") == []


def test_a_timer_that_gives_way_fires_later_but_before_the_watermark_is_sent() -> None:
    """Rule 9.18."""

    def spread() -> History:
        history = keyed(interruptible_timers=True).timer(REGISTER, 5, NOW).timer(REGISTER, 6, NOW)
        return history.hears(WATERMARK, 6).timer(FIRE, 5, 6).hears(WATERMARK, 7)

    assert spread().timer(FIRE, 6, 7).sends(WATERMARK, 7).broken("timers") == []
    assert spread().sends(WATERMARK, 7).timer(FIRE, 6, 7).broken("timers") == [
        "a due timer did not fire",
        "a timer that is not registered is fired or deleted",
    ]


def test_a_timer_under_a_key_that_nobody_described() -> None:
    history = keyed().timer(REGISTER, 5, NOW, key=KEY + 1)
    assert history.broken("timers") == ["the key of a timer belongs to another subtask"]


def test_a_timer_of_a_key_of_another_subtask() -> None:
    history = keyed().timer(REGISTER, 5, NOW)
    history.tables["tasks"][0] = (0, 0, 0, "judged", 0, 2, 8, 1)
    first = history.broken("timers")
    history.tables["tasks"][0] = (0, 0, 0, "judged", 1, 2, 8, 1)
    assert sorted([first, history.broken("timers")]) == [[], ["the key of a timer belongs to another subtask"]]
