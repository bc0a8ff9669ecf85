"""What a task holds up while it is inside one action: timers that fire, mails and snapshots that wait (section 3)."""

from __future__ import annotations

import numpy as np

from flowsim.facts.kinds import ActionPhase, TimeDomain, TimerAction
from flowsim.quantities import count_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.waits.task_state import Doing, TaskState, waiting_mails


def open_action(facts: RunFacts, state: TaskState) -> Row | None:
    """The action that the task is inside."""
    actions = facts.rows("actions", state.task)
    ended = set(actions.equal(phase=ActionPhase.END)["action"].tolist())
    begun = actions.equal(phase=ActionPhase.BEGIN)
    is_open = ~np.isin(begun["action"], list(ended))
    return begun.where(is_open).first()


def held_up_causes(facts: RunFacts, state: TaskState) -> list[Cause]:
    """Timers that fire in the action of the task, and the mails and snapshots that wait for its end."""
    action = open_action(facts, state)
    if action is None or state.doing not in (Doing.HARD, Doing.YIELD, Doing.LOCK, Doing.BUSY):
        return []
    return [*_firing_timers(facts, state, action), *_mails(facts, state, action)]


def _firing_timers(facts: RunFacts, state: TaskState, action: Row) -> list[Cause]:
    last = facts.rows("timers", state.task).after(action["seq"]).equal(action=TimerAction.FIRE).last()
    if last is None:
        return []
    later = facts.whole.rows("actions", state.task).after(action["seq"])
    end = later.equal(phase=ActionPhase.END, action=action["action"]).first()
    due = facts.whole.rows("timers", state.task).after(action["seq"])
    due = due.equal(action=TimerAction.FIRE, domain=last["domain"], watermark=last["watermark"])
    if end is not None:
        due = due.before(end["seq"])
    fired = due.before(last["seq"] + 1)
    if len(fired) == len(due):
        return []
    if last["domain"] == TimeDomain.EVENT_TIME:
        why = f"one watermark, {event_time(last['watermark'])}, makes {count_text(len(due), 'timer')} due"
    else:
        why = f"{count_text(len(due), 'processing-time timer')} fire in one mail"
    text = (
        f"{facts.task(state.task)} is inside one action since {facts.moment(action['time_ns'])}: {why}, of which "
        f"{len(fired):,} {'has' if len(fired) == 1 else 'have'} fired so far. Until the last one has fired, the task reads no "
        "record and runs no other mail: a timer never fires while a record is processed, and a record is never processed "
        "while a timer fires. Interruptible timers let mails in between."
    )
    return [Cause(text, ("9.4", "3.11", "9.18"), place_of(action))]


def _mails(facts: RunFacts, state: TaskState, action: Row) -> list[Cause]:
    mails = waiting_mails(facts, state.task)
    now_ns = facts.until_ns or facts.end_ns
    snapshots = facts.whole.rows("snapshots", state.task)
    snapshots = snapshots.where((snapshots["requested_ns"] <= now_ns) & (snapshots["time_ns"] > now_ns))
    lines = tuple(
        f"a snapshot of {facts.task(state.task)} for checkpoint {row['checkpoint']}, requested at "
        f"{facts.moment(row['requested_ns'])}, taken at {facts.moment(row['time_ns'])}"
        for row in snapshots.equal(operator=0)
    )
    if not mails and not lines:
        return []
    text = (
        f"{count_text(len(mails), 'mail')} {'waits' if len(mails) == 1 else 'wait'} in the mailbox of {facts.task(state.task)} "
        f"until the action that began at {facts.moment(action['time_ns'])} has ended: only one action runs at a time."
    )
    place = place_of(mails[0]) if mails else place_of(snapshots.row(0))
    return [Cause(text, ("3.11", "3.25", "I3.a"), place, lines)]
