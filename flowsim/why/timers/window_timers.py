"""Timers of windows: whether one had an effect when it fired, and why a window's trigger deleted one (section 10.C)."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import TimerAction, WindowResult
from flowsim.history.timers import TimerLife
from flowsim.history.windows import panes_of
from flowsim.laws.windows.plan import last_of, trigger_parts, window_plan
from flowsim.trace.sentence import window_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of
from flowsim.why.sentence import capital
from flowsim.why.timers.calls import call_of


def in_call_of(facts: RunFacts, row: Row, table: str) -> Rows:
    """The rows of ``table`` that a task recorded after a row of ``timers``, in the same call."""
    own = facts.in_attempt_of(row, "timers")
    task, seq = row["task"], row["seq"]
    if own.attempt_of(task) < facts.attempt_of(task):
        own = own.whole
    received = own.rows("received", task).after(seq)["seq"][:1].tolist()
    fired = own.rows("timers", task).after(seq).equal(action=TimerAction.FIRE)["seq"][:1].tolist()
    rows = own.rows(table, task).after(seq)
    return rows.before(min([*received, *fired])) if received or fired else rows


def ignored_cause(facts: RunFacts, life: TimerLife) -> Cause | None:
    """Why the trigger of a window did not fire for a timer that did; None if it fired, or for other timers."""
    end, window = life.end, life.window
    if end is None or window is None or end["action"] != TimerAction.FIRE or life.operator.kind != "window":
        return None
    name, of_life = capital(window_text(*window)), {"operator": life.operator.operator, "key": life.key}
    of_window = {**of_life, "window_start": window[0], "window_end": window[1]}
    if len(in_call_of(facts, end, "window_fire").equal(**of_window)):
        return None
    place = place_of(end)
    own = facts.in_attempt_of(end, "timers")
    merges = own.rows_of_state("window_merge", life.task).before(end["seq"]).equal(**of_window)
    merge = merges.last()
    if merge is not None and _is_gone(own, life, merge):
        whole = window_text(merge["into_start"], merge["into_end"])
        text = (
            f"{name} was merged into {whole} at {facts.moment(merge['time_ns'])}: a timer of a window that was merged "
            "into another one is ignored."
        )
        return Cause(text, ("10.28",), place_of(merge))
    if _is_empty(own, life, end):
        text = "The trigger was called, but the window had no contents: nothing is passed to the window function."
        return Cause(text, ("10.14",), place)
    plan = window_plan(life.operator)
    if (
        plan is not None
        and life.is_event_time is plan.event_time
        and life.timestamp == plan.cleanup_of(last_of(*window))
    ):
        text = f"It is the timer that cleans the window up, at {event_time(life.timestamp)}: that emits nothing."
        return Cause(text, ("10.13", "10.16"), place)
    kinds = ", ".join(kind for kind, _ in trigger_parts(life.operator.params.get("trigger"))) or "unknown"
    return Cause(f"The trigger of the window ({kinds}) did not fire for this timer.", ("10.13",), place)


def _is_gone(own: RunFacts, life: TimerLife, merge: Row) -> bool:
    """Whether no record has opened the window again since it was merged."""
    end, plan = life.end, window_plan(life.operator)
    if end is None or plan is None or not plan.merging:
        return False
    rows = own.rows_of_state("window_merge", life.task)
    later = rows.where((rows["seq"] > merge["seq"]) & (rows["seq"] < end["seq"]))
    again = later.equal(key=life.key, into_start=life.name[3], into_end=life.name[4])
    registered = life.registered
    return not len(again) and registered is not None and registered["seq"] < merge["seq"]


def _is_empty(own: RunFacts, life: TimerLife, end: Row) -> bool:
    """Whether all contents of the window had been purged by a firing before its timer fired."""
    plan = window_plan(life.operator)
    if plan is None:
        return False
    before = own.until(end["time_ns"])
    for pane in panes_of(before, life.task, life.operator, plan):
        if pane.key == life.key and pane.window == life.window:
            purges = [
                one["seq"] for one in pane.fires if one["result"] != WindowResult.FIRE and one["seq"] < end["seq"]
            ]
            intakes = [one["seq"] for one in pane.intakes if one["seq"] < end["seq"]]
            return bool(purges) and max(intakes, default=-1) < max(purges)
    return False


def deleted_cause(facts: RunFacts, life: TimerLife) -> Cause | None:
    """Why a window deleted one of its timers; None for other timers, and if the facts do not show it."""
    end, window = life.end, life.window
    if end is None or window is None or end["action"] != TimerAction.DELETE or life.operator.kind != "window":
        return None
    call = call_of(facts, end, "timers")
    if call is None:
        return None
    own, name = facts.in_attempt_of(end, "timers"), capital(window_text(*window))
    rows = own.rows("window_merge", life.task).after(call.row["seq"])
    merge = rows.equal(key=life.key, window_start=window[0], window_end=window[1]).first()
    boundary = in_call_of(facts, end, "window_merge")["seq"].tolist()
    if merge is not None and (merge["seq"] < end["seq"] or bool(np.isin(merge["seq"], boundary))):
        whole = window_text(merge["into_start"], merge["into_end"])
        text = f"{name} was merged into {whole}, so its timers were deleted; the larger window has timers of its own."
        return Cause(text, ("10.26", "10.27"), place_of(merge))
    plan = window_plan(life.operator)
    is_own = call.is_timer and (call.row["window_start"], call.row["window_end"]) == window
    if plan is not None and is_own and call.row["timestamp"] == plan.cleanup_of(last_of(*window)):
        text = f"{name} was cleaned up by that timer: the trigger deletes the timer that it had stored."
        return Cause(text, ("10.13", "10.21"), place_of(call.row))
    return None
