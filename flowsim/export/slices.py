"""The names of actions and waits of a task, as slices of a trace or frames of a profile."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase, WaitKind
from flowsim.facts.schema import ACTIONS, OUTPUT_FULL
from flowsim.recording.merged_facts import Fact

IDLE: Final = "idle"
SOFT_BACK_PRESSURE: Final = "soft back pressure"
MAIL_IN_YIELD: Final = "wait for a mail"
ACTION_NAMES: Final = {
    ActionKind.LIFE_CYCLE: "life cycle",
    ActionKind.DEFAULT_ACTION: "default action",
    ActionKind.MAIL: "mail",
    ActionKind.LOCK_HOLDER: "lock holder",
}
WAIT_NAMES: Final = {
    WaitKind.COST: "cost",
    WaitKind.MAIL: IDLE,
    WaitKind.BUFFER: "hard back pressure",
    WaitKind.YIELD: "yield",
    WaitKind.LOCK: "without lock",
}
SLICE_NAMES: Final = (*ACTION_NAMES.values(), *WAIT_NAMES.values(), SOFT_BACK_PRESSURE, MAIL_IN_YIELD)

_PHASE, _KIND, _PRIORITY = (ACTIONS.names.index(name) for name in ("phase", "kind", "priority"))


def opened_slice(fact: Fact) -> str | None:
    """Returns the name of the action or wait that begins with a fact of table ``actions``; None if one ends with it.

    A task is idle only between actions: inside a yield it waits for a mail (rule 3.28).
    """
    phase, kind = fact.row[_PHASE], fact.row[_KIND]
    if phase == ActionPhase.BEGIN:
        return ACTION_NAMES[ActionKind(kind)]
    if phase != ActionPhase.WAIT:
        return None
    if fact.row[_PRIORITY] == OUTPUT_FULL:
        return SOFT_BACK_PRESSURE
    if kind == WaitKind.MAIL and fact.depth:
        return MAIL_IN_YIELD
    return WAIT_NAMES[WaitKind(kind)]
