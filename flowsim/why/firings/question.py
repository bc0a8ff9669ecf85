"""``why fired``: why a window or a timer fired, and why more than once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowsim.history.timers import TimerLife
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.quantities import count_text
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time
from flowsim.why.about import about_of, window_tasks
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.firings.firings import TimerFirings, WindowFirings, timer_firings, window_firings
from flowsim.why.firings.window_causes import firing_causes
from flowsim.why.no_output import why_no_output
from flowsim.why.run_facts import RunFacts, place_of
from flowsim.why.sentence import capital
from flowsim.why.timers.calls import life_text
from flowsim.why.timers.causes import fired_causes, registered_cause
from flowsim.why.timers.question import why_timer

_MOST_LISTED = 4


def why_fired(facts: RunFacts, words: Sequence[str], tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the window or timer that fired most often among those that match. Raises BadInput."""
    about = about_of(facts, words, takes_timestamp=True)
    windows = [] if about.timestamp is not None else window_firings(facts, about, tasks)
    timers = timer_firings(facts, about, tasks)
    found: list[WindowFirings | TimerFirings] = [*windows, *timers]
    if not found:
        if window_tasks(facts, about, tasks) and about.timestamp is None:
            return why_no_output(facts, words, tasks)
        return why_timer(facts, words, tasks)
    chosen = max(found, key=lambda one: len(one.fires))
    answer = _window(facts, chosen) if isinstance(chosen, WindowFirings) else _timer(facts, chosen)
    return WhyAnswer(answer.statement, answer.causes, _others(found, chosen))


def _window(facts: RunFacts, one: WindowFirings) -> WhyAnswer:
    name, at = capital(window_text(*one.window)), facts.operator_in(one.task, one.operator.operator)
    moments = [facts.moment(row["time_ns"]) for _, row in one.fires]
    text = f"{name}{facts.of_key(one.key)} fired {_times(moments)} at {at}."
    return WhyAnswer(Cause(text, ("10.7", "10.13"), place_of(one.fires[0][1])), tuple(firing_causes(facts, one)))


def _times(moments: Sequence[str]) -> str:
    """How often, and when."""
    if len(moments) == 1:
        return f"once, at {moments[0]},"
    shown = ", ".join(moments[:_MOST_LISTED]) + (", ..." if len(moments) > _MOST_LISTED else "")
    return f"{count_text(len(moments), 'time')} ({shown})"


def _timer(facts: RunFacts, one: TimerFirings) -> WhyAnswer:
    first = one.lives[0]
    ends = [life.end for life in one.lives if life.end is not None]
    text = f"{capital(life_text(facts, first))} fired {_times([facts.moment(end['time_ns']) for end in ends]).rstrip(',')}."
    causes: list[Cause] = []
    for number, life in enumerate(one.lives):
        before = one.lives[number - 1] if number else None
        if before is not None and before.attempt != life.attempt:
            causes += _undone(facts, before, life)
        else:
            causes.append(registered_cause(facts, life))
        causes += fired_causes(facts, life)
    if len(one.lives) == 1:
        text_of_one = (
            f"It is one timer, however often {event_time(first.timestamp)} was registered before it fired: registering an "
            "equal timer changes nothing, and is not recorded."
        )
        causes.append(Cause(text_of_one, ("9.1",)))
    rules = ("9.4",) if first.is_event_time else ("9.9", "9.10")
    return WhyAnswer(Cause(text, rules, place_of(ends[0])), tuple(causes))


def _undone(facts: RunFacts, before: TimerLife, life: TimerLife) -> list[Cause]:
    """A timer of a later attempt: restored from a snapshot that was taken before it fired, or registered again."""
    end = before.end
    contained = facts.restored_rows("timers", life.task, life.attempt)["seq"]
    if end is None or life.restored == NO_CHECKPOINT or bool(np.isin(end["seq"], contained)):
        return [registered_cause(facts, life)]
    text = (
        f"Attempt {life.attempt} restored checkpoint {life.restored}, which was taken before the firing at "
        f"{facts.moment(end['time_ns'])} and contains the timer: it fires again."
    )
    return [Cause(text, ("9.15", "12.123"), place_of(end))]


def _others(found: Sequence[WindowFirings | TimerFirings], chosen: WindowFirings | TimerFirings) -> tuple[str, ...]:
    others = [one for one in found if one is not chosen]
    again = sum(len(one.fires) > 1 for one in others)
    if not others:
        return ()
    return (
        f"{count_text(len(others), 'other window or timer', 'other windows or timers')} fired, {again:,} of them more than once",
    )
