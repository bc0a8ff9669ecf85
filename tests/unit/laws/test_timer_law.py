"""Law timers over hand-made histories: what satisfies it, and each violation (section 9)."""

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


def test_timer_fired_when_due_satisfies_law() -> None:
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5).timer(FIRE, 5, 5).sends(WATERMARK, 5)
    history._add("lifecycle", -1, 0, LifeEvent.FINISHED)
    outcome = history.judged("timers")
    assert (outcome.verdict, outcome.rows_examined, outcome.evidence) == (Verdict.HOLDS, 4, ())


def test_job_without_keys_is_not_applicable() -> None:
    assert History().judged("timers").verdict is Verdict.NOT_APPLICABLE


def test_timer_fired_twice_violates() -> None:
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5).timer(FIRE, 5, 5).timer(FIRE, 5, 5)
    assert history.broken("timers") == ["a timer that is not registered is fired or deleted"]


@pytest.mark.parametrize("action", [FIRE, DELETE])
def test_deleted_timer_fired_or_deleted_again_violates(action: TimerAction) -> None:
    history = keyed().timer(REGISTER, 5, NOW).timer(DELETE, 5, NOW).hears(WATERMARK, 5).timer(action, 5, 5)
    assert history.broken("timers") == ["a timer that is not registered is fired or deleted"]


def test_registering_equal_timer_twice_violates() -> None:
    """Rule 9.1; one of another window is another timer."""
    history = keyed().timer(REGISTER, 5, NOW).timer(REGISTER, 5, NOW, window=(0, 6)).timer(REGISTER, 5, NOW)
    assert history.broken("timers") == ["a timer is registered while an equal timer is registered"]


def test_timer_fired_before_watermark_violates() -> None:
    """Rule 9.4."""
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 4).timer(FIRE, 5, 4)
    assert history.broken("timers") == ["a timer fired before the watermark reached its time"]


def test_operator_watermark_is_minimum_of_inputs() -> None:
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
def test_processing_time_timer_fires_one_millisecond_after_its_time(at_ns: int, broken: list[str]) -> None:
    """Rule 9.10."""
    history = keyed().timer(REGISTER, 5, NOW, PROCESSING).timer(FIRE, 5, NOW, PROCESSING, at_ns=at_ns)
    assert history.broken("timers") == broken


def test_timers_fired_out_of_order_violate() -> None:
    """Rule 9.2; those of the other domain do not count."""
    history = keyed().timer(REGISTER, 5, NOW).timer(REGISTER, 3, NOW).timer(REGISTER, 1, NOW, PROCESSING)
    history.hears(WATERMARK, 9).timer(FIRE, 5, 9).timer(FIRE, 3, 9)
    assert history.broken("timers") == ["a timer fired before a timer with an earlier time"]


def test_timer_registered_by_callback_fires_in_order() -> None:
    """Rule 9.5."""
    history = keyed().timer(REGISTER, 5, NOW).timer(REGISTER, 6, NOW).hears(WATERMARK, 9).timer(FIRE, 5, 9)
    history.timer(REGISTER, 2, 9).timer(FIRE, 6, 9).timer(FIRE, 2, 9)
    assert history.broken("timers") == ["a timer fired before a timer with an earlier time"]


def test_due_timer_must_fire_before_watermark_is_sent() -> None:
    """Rule 8.15."""
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5).sends(WATERMARK, 5).timer(FIRE, 5, 5)
    assert history.broken("timers") == [
        "a due timer did not fire",
        "a timer that is not registered is fired or deleted",
    ]


def test_due_timer_must_fire_before_next_watermark_or_end() -> None:
    history = keyed().timer(REGISTER, 5, NOW).hears(WATERMARK, 5)
    assert history.broken("timers", whole=False) == []
    assert history.broken("timers") == ["a due timer did not fire"]
    assert history.hears(WATERMARK, 6).broken("timers", whole=False) == ["a due timer did not fire"]


def test_timer_registered_late_fires_at_next_watermark() -> None:
    """Rule 9.7."""
    history = (
        keyed().hears(WATERMARK, 5).sends(WATERMARK, 5).timer(REGISTER, 3, 5).hears(WATERMARK, 6).timer(FIRE, 3, 6)
    )
    assert history.broken("timers") == []


def test_interruptible_timer_fires_before_watermark_is_sent() -> None:
    """Rule 9.18."""

    def spread() -> History:
        history = keyed(interruptible_timers=True).timer(REGISTER, 5, NOW).timer(REGISTER, 6, NOW)
        return history.hears(WATERMARK, 6).timer(FIRE, 5, 6).hears(WATERMARK, 7)

    assert spread().timer(FIRE, 6, 7).sends(WATERMARK, 7).broken("timers") == []
    assert spread().sends(WATERMARK, 7).timer(FIRE, 6, 7).broken("timers") == [
        "a due timer did not fire",
        "a timer that is not registered is fired or deleted",
    ]


def test_timer_of_undescribed_key_violates() -> None:
    history = keyed().timer(REGISTER, 5, NOW, key=KEY + 1)
    assert history.broken("timers") == ["the key of a timer belongs to another subtask"]


def test_timer_of_key_of_other_subtask_violates() -> None:
    history = keyed().timer(REGISTER, 5, NOW)
    history.tables["tasks"][0] = (0, 0, 0, "judged", 0, 2, 8, 1)
    first = history.broken("timers")
    history.tables["tasks"][0] = (0, 0, 0, "judged", 1, 2, 8, 1)
    assert sorted([first, history.broken("timers")]) == [[], ["the key of a timer belongs to another subtask"]]
