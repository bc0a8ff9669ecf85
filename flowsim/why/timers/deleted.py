"""``why deleted``: why a timer was deleted, or a window was cleaned up or merged into another one."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.facts.kinds import TimeDomain, TimerAction, WindowResult
from flowsim.history.timers import Fate, TimerLife, lives_of
from flowsim.history.windows import Pane, panes_of
from flowsim.laws.job_graph import Operator
from flowsim.laws.windows.plan import window_plan
from flowsim.quantities import count_text
from flowsim.trace.sentence import record_text, window_text
from flowsim.trace.time import event_time, span_text
from flowsim.units import MAX_WATERMARK
from flowsim.why.about import About, about_of, keys_of, window_tasks
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.event_time.held_watermark import held_causes
from flowsim.why.event_time.open_pane import pane_text
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital
from flowsim.why.timers.calls import call_of
from flowsim.why.timers.causes import fate_cause, life_causes, others_text
from flowsim.why.timers.question import asked_lives, why_timer
from flowsim.why.timers.window_timers import deleted_cause


def why_deleted(facts: RunFacts, words: Sequence[str], tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the first deleted timer or window that matches; timers of functions first. Raises BadInput."""
    about = about_of(facts, words, takes_timestamp=True)
    lives = asked_lives(facts, about, tasks) if facts.is_full else []
    deleted = [life for life in lives if life.fate(facts) is Fate.DELETED]
    of_functions = [life for life in deleted if life.operator.kind != "window"]
    if about.timestamp is None and not (of_functions and about.window is None):
        for task, operator in window_tasks(facts, about, tasks):
            found = _window(facts, about, task, operator)
            if found is not None:
                return found
    chosen = (of_functions or deleted)[:1]
    if not chosen:
        there = [] if about.timestamp is not None else _windows_there(facts, about, tasks)
        return _still_there(facts, there[0]) if there else why_timer(facts, words, tasks)
    life = chosen[0]
    of_key = lives_of(facts, life.task, life.operator, frozenset({life.key}))
    of_window = deleted_cause(facts, life)
    causes = (*life_causes(facts, life, of_key), *(() if of_window is None else (of_window,)))
    return WhyAnswer(fate_cause(facts, life), causes, others_text(facts, [one for one in deleted if one is not life]))


def _window(facts: RunFacts, about: About, task: int, operator: Operator) -> WhyAnswer | None:
    """The first window that matches and is gone."""
    plan = window_plan(operator)
    if plan is None:
        return None
    keys = keys_of(facts, about.key)
    merges = facts.rows_of_state("window_merge", task).equal(operator=operator.operator)
    for merge in merges:
        window = merge["window_start"], merge["window_end"]
        if about.window in (None, window) and (keys is None or merge["key"] in keys):
            return WhyAnswer(*_merged(facts, operator, merge))
    panes = _panes(facts, about, task, operator)
    cleaned = (found for found in (_cleaned(facts, pane) for pane in panes) if found is not None)
    return next(cleaned, None) if facts.is_full else None


def _panes(facts: RunFacts, about: About, task: int, operator: Operator) -> list[Pane]:
    """The windows with records that a question is about."""
    plan, keys = window_plan(operator), keys_of(facts, about.key)
    return [
        pane
        for pane in (() if plan is None else panes_of(facts, task, operator, plan))
        if pane.intakes and about.window in (None, pane.window) and (keys is None or pane.key in keys)
    ]


def _windows_there(facts: RunFacts, about: About, tasks: frozenset[int] | None) -> list[Pane]:
    """The windows that a question is about and that are not deleted; empty if the level does not show that."""
    found = window_tasks(facts, about, tasks) if facts.is_full else []
    return [pane for task, operator in found for pane in _panes(facts, about, task, operator)]


def _merged(facts: RunFacts, operator: Operator, merge: Row) -> tuple[Cause, tuple[Cause, ...]]:
    window = window_text(merge["window_start"], merge["window_end"])
    whole = window_text(merge["into_start"], merge["into_end"])
    own = facts.in_attempt_of(merge, "window_merge")
    intake = own.rows("window_intake", merge["task"]).before(merge["seq"]).equal(operator=operator.operator).last()
    at = facts.operator_in(merge["task"], operator.operator)
    text = f"{capital(window)}{facts.of_key(merge['key'])} was merged into {whole} at {facts.moment(merge['time_ns'])} at {at}."
    statement = Cause(text, ("10.25", "10.26"), place_of(merge))
    if intake is None:
        return statement, ()
    record = record_text("Record", intake["timestamp"], facts.names.value(intake["fingerprint"]))
    why = (
        f"{record} opened a window that overlaps or touches it, so all of them became one. Its contents were merged into those "
        f"of {whole}, its trigger was cleared and its cleanup timer deleted. A timer of it that is left is ignored."
    )
    return statement, (Cause(capital(why), ("10.25", "10.26", "10.28"), place_of(intake)),)


def _cleaned(facts: RunFacts, pane: Pane) -> WhyAnswer | None:
    """A window that was cleaned up after its last record; None if it is still there."""
    plan, task = pane.plan, pane.task
    cleanup = plan.cleanup_of(pane.last_ms)
    fired = facts.rows_of_state("timers", task).equal(
        action=TimerAction.FIRE, operator=pane.operator.operator, key=pane.key, timestamp=cleanup,
        window_start=pane.window[0], window_end=pane.window[1],
        domain=TimeDomain.EVENT_TIME if plan.event_time else TimeDomain.PROCESSING_TIME,
    )  # fmt: skip
    row = fired.last()
    last_intake = max((intake["seq"] for intake in pane.intakes), default=-1)
    if row is None or row["seq"] < last_intake or cleanup == MAX_WATERMARK:
        return None
    name = facts.operator_in(task, pane.operator.operator)
    text = f"{pane_text(facts, pane)} was cleaned up at {facts.moment(row['time_ns'])} at {name}."
    causes = [_cleanup_time(pane, cleanup, row)]
    fires = [fire for fire in pane.fires if fire["result"] != WindowResult.PURGE]
    fate = f"It had fired {count_text(len(fires), 'time')}" if fires else "It had never fired"
    last = f", the last time at {facts.moment(fires[-1]['time_ns'])}" if fires else ""
    place = place_of(fires[-1]) if fires else place_of(row)
    causes.append(Cause(f"{fate}{last}. The cleanup itself emits nothing.", ("10.16",), place))
    return WhyAnswer(Cause(text, ("10.13",), place_of(row)), tuple(causes))


def _cleanup_time(pane: Pane, cleanup: int, row: Row | None) -> Cause:
    place = None if row is None else place_of(row)
    if not pane.plan.event_time:
        text = f"A processing-time window is cleaned up when the clock passes its last millisecond, {cleanup:,} ms."
        return Cause(text, ("10.6", "10.8", "10.13"), place)
    plus = f" plus the allowed lateness of {span_text(pane.plan.lateness_ms)}"
    text = f"It is cleaned up when the watermark reaches {event_time(cleanup)}, its last millisecond{plus}"
    text += "." if row is None else f"; it was {event_time(row['watermark'])}."
    return Cause(text, ("10.8", "10.13"), place)


def _still_there(facts: RunFacts, pane: Pane) -> WhyAnswer:
    name = facts.operator_in(pane.task, pane.operator.operator)
    text = f"{pane_text(facts, pane)} has not been deleted{facts.by_moment} at {name}."
    cleanup = pane.plan.cleanup_of(pane.last_ms)
    place = place_of(pane.intakes[-1]) if pane.intakes else None
    if cleanup == MAX_WATERMARK:
        cause = Cause("It is never cleaned up: its cleanup time is MAX, for which there is no timer.", ("10.8",), place)
        return WhyAnswer(Cause(text, ("10.13",), place), (cause,))
    timer = _cleanup_timer(facts, pane, cleanup)
    if timer is not None and timer.end is not None and timer.fate(facts) is Fate.DELETED:
        # A trigger may delete the timer that it shares with the cleanup.
        call = call_of(facts, timer.end, "timers")
        who = "A call" if call is None else capital(call.text)
        deleted = f"{who} deleted its cleanup timer of {event_time(cleanup)} at {facts.moment(timer.end['time_ns'])}"
        why = (
            f"{deleted}, because the trigger cleared its own timer of the same time. Only another record of the window registers "
            "it again."
        )
        return WhyAnswer(Cause(text, ("10.13",), place), (Cause(why, ("10.15", "10.23"), place_of(timer.end)),))
    causes = [_cleanup_time(pane, cleanup, None)]
    if pane.plan.event_time:
        causes += held_causes(facts, pane.task, cleanup)
    return WhyAnswer(Cause(text, ("10.13",), place), tuple(causes))


def _cleanup_timer(facts: RunFacts, pane: Pane, cleanup: int) -> TimerLife | None:
    """The last timer of a window at its cleanup time."""
    lives = lives_of(facts, pane.task, pane.operator, frozenset({pane.key}))
    found = [
        life
        for life in lives
        if life.window == pane.window and life.timestamp == cleanup and life.is_event_time is pane.plan.event_time
    ]
    return found[-1] if found else None
