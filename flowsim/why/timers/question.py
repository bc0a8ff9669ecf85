"""``why timer``: why a timer of a key waits, fired, was deleted, was dropped, or was never registered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.history.key_records import key_records
from flowsim.history.timers import Fate, TimerLife, lives_of, timer_operators
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time
from flowsim.why.about import About, about_of, keys_of
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.restored_state import TIMERS, restored_causes
from flowsim.why.run_facts import RunFacts
from flowsim.why.timers.causes import fate_cause, life_causes, others_text

_FIRST_SHOWN: Final = (Fate.WAITS, Fate.LEFT, Fate.DROPPED, Fate.LOST, Fate.DELETED, Fate.FIRED)


def why_timer(facts: RunFacts, words: Sequence[str], tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the first timer that matches: one that has not fired, if there is one. Raises BadInput."""
    about = about_of(facts, words, takes_timestamp=True)
    lives = asked_lives(facts, about, tasks)
    if not lives:
        return _none(facts, about, tasks)
    life = min(lives, key=lambda one: (_FIRST_SHOWN.index(one.fate(facts)), -one.attempt, one.name))
    of_key = lives_of(facts, life.task, life.operator, frozenset({life.key}))
    others = [one for one in lives if one is not life]
    return WhyAnswer(fate_cause(facts, life), tuple(life_causes(facts, life, of_key)), others_text(facts, others))


def asked_lives(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> list[TimerLife]:
    """The timers that a question is about, operator by operator. Raises BadInput if timers are not recorded."""
    if not facts.is_full:
        raise BadInput("timers are recorded at level full only; run the job again with 'record: full' in its settings")
    keys = keys_of(facts, about.key)
    found = []
    for task, operator in timer_operators(facts, tasks):
        if about.has(operator):
            found += [life for life in lives_of(facts, task, operator, keys) if _is_asked(about, life)]
    return found


def _is_asked(about: About, life: TimerLife) -> bool:
    return about.window in (None, life.window) and about.timestamp in (None, life.timestamp)


def timers_text(about: About) -> str:
    """The timers that a question is about, in words."""
    at = "" if about.timestamp is None else f" {event_time(about.timestamp)}"
    window = "" if about.window is None else f" of {window_text(*about.window)}"
    key = f" of key {about.key}" if about.key else ""
    operator = f" at {about.operators[0].name}" if about.operators else ""
    return f"timer{at}{window}{key}{operator}"


def _none(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> WhyAnswer:
    """No timer that matches was registered."""
    operators = list(timer_operators(facts, tasks))
    if not operators:
        text = "No timer was registered: this job has no keyed stream, and timers need keys."
        return WhyAnswer(Cause(text, ("9.17",)))
    statement = Cause(f"No {timers_text(about)} was registered{facts.by_moment}.", ("9.1",))
    keys = keys_of(facts, about.key)
    causes = []
    for task, operator in operators:
        if about.has(operator):
            causes += restored_causes(facts, task, operator, TIMERS)
    for task, operator in operators if keys else ():
        arrived = key_records(facts, task, keys or frozenset()).arrived
        if arrived:
            name = facts.operator_in(task, operator.operator)
            causes.append(Cause(f"{len(arrived):,} of its records arrived at {name}.", ("1.18",)))
    given = asked_lives(facts, About(key=about.key, operators=about.operators), tasks)
    return WhyAnswer(statement, tuple(causes), others_text(facts, given))
