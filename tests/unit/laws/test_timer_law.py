"""Law timers over hand-made histories: what satisfies it, and each violation (section 9)."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import ActionKind, ActionPhase, ElementKind, LifeEvent, TimeDomain, TimerAction
from flowsim.laws.law import Verdict
from flowsim.testing import DrawnScenario, run_job
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
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


OVERDUE = ["a due timer did not fire"]


def alarm(at_ms: int = 5) -> History:
    return keyed().timer(REGISTER, at_ms, NOW, PROCESSING)


@pytest.mark.parametrize(
    ("from_ns", "to_ns", "broken"),
    [
        (MS, 7 * MS - 1, []),
        (MS, 7 * MS, OVERDUE),
        (7 * MS, 7 * MS, []),
        (8 * MS, 8 * MS, []),
        (8 * MS, 8 * MS + 1, OVERDUE),
    ],
    ids=["ends before it is due", "ends after it was due", "takes no time", "begins later", "begins and ends later"],
)
def test_processing_time_timer_ends_wait_of_loop(from_ns: int, to_ns: int, broken: list[str]) -> None:
    """Rules 3.11 and 9.10: what is registered inside a millisecond is due up to 2 ms after its time."""
    history = alarm().waits(from_ns, to_ns)
    assert history.broken("timers", whole=False) == broken
    history.timer(FIRE, 5, NOW, PROCESSING, at_ns=9 * MS)
    assert len(history.broken("timers")) == 2 * len(broken)


def test_timer_registered_after_wait_was_not_due_in_it() -> None:
    """Rule 9.10: one of the past fires at once, so it ends the next wait."""
    history = keyed().waits(MS, 30 * MS).timer(REGISTER, 5, NOW, PROCESSING, at_ns=31 * MS)
    assert history.broken("timers") == []
    assert history.waits(31 * MS, 31 * MS).broken("timers") == []
    assert history.waits(31 * MS, 32 * MS).broken("timers") == OVERDUE


def test_wait_inside_action_does_not_run_mails_of_timers() -> None:
    """Rules 3.8 and 3.21: an operator that yields may wait for mails of a higher priority."""
    history = alarm().acts(ActionPhase.BEGIN, ActionKind.DEFAULT_ACTION, MS).waits(MS, 30 * MS)
    history.acts(ActionPhase.END, ActionKind.DEFAULT_ACTION, 30 * MS)
    assert history.broken("timers") == []


def test_all_overdue_timers_are_reported_once_and_only_those() -> None:
    history = alarm(5).timer(REGISTER, 6, NOW, PROCESSING).timer(REGISTER, 90, NOW, PROCESSING).timer(REGISTER, 5, NOW)
    assert history.waits(MS, 20 * MS).waits(20 * MS, 40 * MS).broken("timers") == OVERDUE * 2


@pytest.mark.parametrize(("actions", "broken"), [(7, []), (8, OVERDUE)])
def test_busy_task_runs_mail_of_timer_after_some_default_actions(actions: int, broken: list[str]) -> None:
    """Rules 3.2 and 3.11: mails first, then one default action."""
    times = [7 * MS + number for number in range(actions)]
    assert alarm().works(MS, 2 * MS, *times).broken("timers") == broken
    assert alarm().timer(REGISTER, 4, NOW, PROCESSING).works(*times[:5]).timer(FIRE, 4, NOW, PROCESSING, at_ns=9 * MS).works(
        *times[:7]
    ).broken("timers") == []  # fmt: skip


@pytest.mark.parametrize("event", [LifeEvent.FINISH, LifeEvent.CLOSE])
def test_operator_that_finished_fires_no_processing_time_timer(event: LifeEvent) -> None:
    """Rule 3.27; the event of another operator does not count."""
    assert alarm().lives(event, 0).waits(MS, 30 * MS).broken("timers") == []
    assert alarm().lives(event, 1).waits(MS, 30 * MS).broken("timers") == OVERDUE
    assert alarm().waits(MS, 30 * MS).lives(event, 0).broken("timers") == OVERDUE


@pytest.mark.parametrize("event", [LifeEvent.STOP_NO_DRAIN, LifeEvent.CANCELING, LifeEvent.CANCELED, LifeEvent.FAILED])
def test_task_that_ends_early_fires_no_processing_time_timer(event: LifeEvent) -> None:
    assert alarm().lives(event).waits(MS, 30 * MS).broken("timers", whole=False) == []
    assert alarm().waits(MS, 30 * MS).lives(event).broken("timers", whole=False) == OVERDUE


@pytest.mark.parametrize(("drain", "broken"), [(0, []), (1, OVERDUE)])
def test_input_that_ended_without_drain_ends_processing_time_timers(drain: int, broken: list[str]) -> None:
    history = alarm()._add("received", 0, 0, 0, ElementKind.END_OF_DATA, drain, 0, 0)
    assert history.lives(LifeEvent.CLOSE, 0).waits(MS, 30 * MS).broken("timers") == []
    assert alarm()._add("received", 0, 0, 0, ElementKind.END_OF_DATA, drain, 0, 0).waits(MS, 30 * MS).broken(
        "timers"
    ) == broken  # fmt: skip


@pytest.mark.parametrize(("drain", "broken"), [(0, []), (1, OVERDUE)])
def test_record_behind_the_end_without_drain_makes_no_timer_due(drain: int, broken: list[str]) -> None:
    """Results of an async operator may follow EndOfData without drain: the timers that they register never fire."""
    end = (0, 0, 0, ElementKind.END_OF_DATA, drain, 0, 0)
    first = alarm()._add("received", *end).waits(MS, 30 * MS).timer(REGISTER, 50, NOW, PROCESSING, at_ns=30 * MS)
    assert first.broken("timers") == broken
    only = keyed()._add("received", *end).timer(REGISTER, 5, NOW, PROCESSING, at_ns=MS).waits(MS, 30 * MS)
    assert only.broken("timers") == broken


def test_timers_of_real_clock_may_be_late() -> None:
    now = 1_700_000_000_000 * MS
    assert alarm().waits(now, now + 30 * MS).broken("timers") == []


def test_deleted_processing_time_timer_must_not_fire() -> None:
    """Rule 9.11; nor is it overdue."""
    history = alarm().timer(DELETE, 5, NOW, PROCESSING).waits(MS, 30 * MS)
    assert history.broken("timers") == []
    history.timer(FIRE, 5, NOW, PROCESSING, at_ns=30 * MS)
    assert history.broken("timers") == ["a timer that is not registered is fired or deleted"]


def test_processing_time_timers_fire_once_and_in_order() -> None:
    history = alarm(5).timer(REGISTER, 6, NOW, PROCESSING).timer(FIRE, 6, NOW, PROCESSING, at_ns=9 * MS)
    assert history.broken("timers") == ["a timer fired before a timer with an earlier time"]
    twice = alarm(5).timer(FIRE, 5, NOW, PROCESSING, at_ns=9 * MS).timer(FIRE, 5, NOW, PROCESSING, at_ns=9 * MS)
    assert twice.broken("timers") == ["a timer that is not registered is fired or deleted"]


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


RESTORED_AND_IDLE = """
flowsim: 1
name: restored-and-idle-at-the-end
settings:
  checkpointing: {interval: 1 h}
  restart_strategy: {fixed_delay: {attempts: 3, delay: 1 ms}}
sources:
  s:
    script:
      fields: {k: string, n: long}
      subtasks: [[{record: [a, 1], timestamp: 10}, {sleep: 50 ms}, {idle: true}]]
operators:
  w: {input: s, key_by: k, window: {tumbling: 5 ms}, aggregate: {n: sum(n)}}
sinks:
  out: {input: w, collect: {}}
actions:
  - {checkpoint: {at: 20 ms}}
failures:
  - {fail_task: {task: w, at: 30 ms}}
"""


def test_restored_timer_may_be_left_if_the_stream_is_idle_at_its_end() -> None:
    """Rule 5.8: an idle output drops the last watermark."""
    run = run_job(DrawnScenario.of(RESTORED_AND_IDLE))
    assert [each for each in run.outcomes if each.verdict is Verdict.VIOLATED] == []
    ended = run_job(DrawnScenario.of(RESTORED_AND_IDLE.replace(", {idle: true}", "")))
    (outcome,) = (each for each in ended.outcomes if each.law == "restored-timers")
    assert (outcome.verdict, len(ended.facts.rows("window_fire"))) == (Verdict.HOLDS, 1)


def test_timers_of_a_key_fire_at_its_end_in_batch_mode() -> None:
    history = keyed(batch=True).timer(REGISTER, 5, NOW).timer(REGISTER, 7, NOW, domain=PROCESSING)
    history = history.timer(FIRE, 5, MAX_WATERMARK).timer(FIRE, 7, MAX_WATERMARK, domain=PROCESSING)
    assert history.judged("timers").verdict is Verdict.HOLDS


def test_timer_before_the_end_of_its_key_violates_in_batch_mode() -> None:
    history = keyed(batch=True).timer(REGISTER, 5, NOW).hears(WATERMARK, 5).timer(FIRE, 5, 5)
    assert history.broken("timers") == ["a timer fired before the end of its key"]


def test_processing_time_before_event_time_violates_in_batch_mode() -> None:
    history = keyed(batch=True).timer(REGISTER, 5, NOW).timer(REGISTER, 1, NOW, domain=PROCESSING)
    history = history.timer(FIRE, 1, MAX_WATERMARK, domain=PROCESSING).timer(FIRE, 5, MAX_WATERMARK)
    assert history.broken("timers") == ["a timer of processing time fired before one of event time"]


def test_timer_that_never_fires_violates_in_batch_mode() -> None:
    history = keyed(batch=True).timer(REGISTER, 5, NOW).timer(REGISTER, 1, NOW, domain=PROCESSING)
    assert history.broken("timers") == ["a due timer did not fire", "a due timer did not fire"]
