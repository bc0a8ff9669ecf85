"""What a task holds up while it is inside one action: timers that fire, mails and snapshots that wait (section 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from flowsim.facts.kinds import ActionPhase, MailAction, TimeDomain, TimerAction
from flowsim.history.task_states import Doing, TaskState, open_frames, waiting_mails
from flowsim.quantities import count_text
from flowsim.trace.time import event_time
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, Rows, RunFacts, place_of


def held_up_causes(facts: RunFacts, state: TaskState) -> list[Cause]:
    """Timers that fire in the action of the task, and the mails and snapshots that wait for its end."""
    frames = open_frames(facts.rows("actions", state.task))
    actions = [frame for frame in frames if frame["phase"] == ActionPhase.BEGIN]
    if not actions or state.doing not in (Doing.HARD, Doing.YIELD, Doing.LOCK, Doing.BUSY):
        return []
    return [*_firing_timers(facts, state, actions), *_mails(facts, state, actions[0])]


def _firing_timers(facts: RunFacts, state: TaskState, actions: Sequence[Row]) -> list[Cause]:
    last = facts.rows("timers", state.task).after(actions[0]["seq"]).equal(action=TimerAction.FIRE).last()
    if last is None:
        return []
    # The innermost action that contains the timer; a mail inside a yield fires timers of its own.
    action = next(one for one in reversed(actions) if one["seq"] < last["seq"])
    begun = facts.whole.rows("actions", state.task).after(action["seq"])
    end = begun.equal(phase=ActionPhase.END, action=action["action"]).first()
    due = facts.whole.rows("timers", state.task).after(action["seq"])
    due = due.equal(action=TimerAction.FIRE, domain=last["domain"], watermark=last["watermark"])
    due = due if end is None else due.before(end["seq"])
    due = _outside(due, begun if end is None else begun.before(end["seq"]))
    fired = due.before(last["seq"] + 1)
    if not len(fired) or len(fired) == len(due):
        return []
    if last["domain"] == TimeDomain.EVENT_TIME:
        why = f"one watermark, {event_time(last['watermark'])}, makes {count_text(len(due), 'timer')} due"
    else:
        why = f"{count_text(len(due), 'processing-time timer')} fire in it"
    text = (
        f"{facts.task(state.task)} is inside one action since {facts.moment(action['time_ns'])}: {why}, of which "
        f"{len(fired):,} {'has' if len(fired) == 1 else 'have'} fired so far. Until the last one has fired, the task reads no "
        f"record and runs no other mail{_beside(state)}: a timer never fires while a record is processed, and a record is never "
        "processed while a timer fires. Interruptible timers let mails in between."
    )
    return [Cause(text, ("9.4", "3.11", "9.18"), place_of(action))]


def _beside(state: TaskState) -> str:
    """The mails that a task in a yield runs nevertheless."""
    return f" of priority below {state.priority}" if state.doing is Doing.YIELD else ""


def _outside(timers: Rows, actions: Rows) -> Rows:
    """The timers that fired outside the actions among these facts, which all began inside another action."""
    phase = actions["phase"]
    steps = np.where(phase == ActionPhase.BEGIN, 1, np.where(phase == ActionPhase.END, -1, 0))
    depth = np.concatenate([[0], np.cumsum(steps)])
    return timers.where(depth[np.searchsorted(actions["seq"], timers["seq"])] == 0)


def _mails(facts: RunFacts, state: TaskState, action: Row) -> list[Cause]:
    # A yield runs mails inside the action, also one that begins later: at the end of the input every operator yields.
    later = facts.whole.rows("actions", state.task).after(action["seq"])
    end = later.equal(phase=ActionPhase.END, action=action["action"]).first()
    ran = facts.whole.rows("mails", state.task).equal(action=MailAction.RUN)
    inside = set((ran if end is None else ran.before(end["seq"]))["mail"].tolist())
    mails = [row for row in waiting_mails(facts, state.task) if row["mail"] not in inside]
    now_ns = facts.until_ns or facts.end_ns
    snapshots = facts.whole.rows("snapshots", state.task).equal(operator=0, inside=0)
    snapshots = snapshots.where((snapshots["requested_ns"] <= now_ns) & (snapshots["time_ns"] > now_ns))
    lines = tuple(
        f"a snapshot of {facts.task(state.task)} for checkpoint {row['checkpoint']}, requested at "
        f"{facts.moment(row['requested_ns'])}, taken at {facts.moment(row['time_ns'])}"
        for row in snapshots
    )
    if not mails:
        return []
    text = (
        f"{count_text(len(mails), 'mail')} {'waits' if len(mails) == 1 else 'wait'} in the mailbox of {facts.task(state.task)} "
        f"until the action that began at {facts.moment(action['time_ns'])} has ended: only one action runs at a time."
    )
    return [Cause(text, ("3.11", "3.25", "I3.a"), place_of(mails[0]), lines)]
