"""``why ignored``: timers without an effect: dropped at the end, behind the watermark, or of a merged or empty window."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.history.timers import Fate, TimerLife, lives_of
from flowsim.trace.time import event_time
from flowsim.why.about import About, about_of
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.sentence import capital
from flowsim.why.timers.calls import life_text
from flowsim.why.timers.causes import fate_cause, life_causes, others_text, registered_cause
from flowsim.why.timers.question import asked_lives, timers_text
from flowsim.why.timers.window_timers import ignored_cause

_UNFIRED: Final = (Fate.DROPPED, Fate.LEFT, Fate.LOST)


def why_ignored(facts: RunFacts, words: Sequence[str], tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the first timer that matches and had no effect. Raises BadInput."""
    about = about_of(facts, words, takes_timestamp=True)
    lives = asked_lives(facts, about, tasks)
    for fate in _UNFIRED:
        unfired = [life for life in lives if life.fate(facts) is fate and not _is_restored_later(life, lives)]
        if unfired:
            return _explained(facts, unfired[0], unfired[1:])
    is_named = about.window is not None or about.timestamp is not None
    for life in lives:
        cause = ignored_cause(facts, life)
        # A cleanup timer does what it is for: it is explained if the question names it.
        if cause is not None and life.end is not None and (is_named or "10.16" not in cause.rules):
            text = f"{capital(life_text(facts, life))} fired at {facts.moment(life.end['time_ns'])} without an effect."
            statement = Cause(text, cause.rules, place_of(life.end))
            return WhyAnswer(statement, (registered_cause(facts, life), cause))
    behind = [life for life in lives if _was_due(life)]
    if behind:
        return _explained(facts, behind[0], behind[1:])
    return _none(facts, about, lives)


def _is_restored_later(life: TimerLife, lives: Sequence[TimerLife]) -> bool:
    return any(one.name == life.name and one.task == life.task and one.attempt > life.attempt for one in lives)


def _was_due(life: TimerLife) -> bool:
    """Whether a call registered an event-time timer at or behind the watermark."""
    row = life.registered
    return life.is_event_time and row is not None and row["watermark"] >= life.timestamp


def _explained(facts: RunFacts, life: TimerLife, others: list[TimerLife]) -> WhyAnswer:
    of_key = lives_of(facts, life.task, life.operator, frozenset({life.key}))
    row = life.registered
    statement = fate_cause(facts, life)
    if _was_due(life) and row is not None and life.fate(facts) is Fate.FIRED:
        text = (
            f"{capital(life_text(facts, life))} was due when it was registered at {facts.moment(row['time_ns'])}, at watermark "
            f"{event_time(row['watermark'])}: the registration fired nothing."
        )
        statement = Cause(text, ("9.7",), place_of(row))
    return WhyAnswer(statement, tuple(life_causes(facts, life, of_key)), others_text(facts, others))


def _none(facts: RunFacts, about: About, lives: list[TimerLife]) -> WhyAnswer:
    """No timer was without an effect."""
    text = f"No {timers_text(about)} was ignored{facts.by_moment}."
    equal = (
        "A call that registers a timer with the time, key and window of a registered one, or deletes a timer that is not there, "
        "changes nothing. Such calls are not recorded."
    )
    causes = [Cause(equal, ("9.1", "9.11"))]
    return WhyAnswer(Cause(text, ("9.1",)), tuple(causes), others_text(facts, lives))
