"""The names of actions and waits of a task, as slices of a trace or frames of a profile."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ActionKind, ActionPhase
from flowsim.facts.schema import ACTIONS
from flowsim.history.task_states import Wait, wait_of
from flowsim.recording.merged_facts import Fact

ACTION_NAMES: Final = {
    ActionKind.LIFE_CYCLE: "life cycle",
    ActionKind.DEFAULT_ACTION: "default action",
    ActionKind.MAIL: "mail",
    ActionKind.LOCK_HOLDER: "lock holder",
}
WAIT_NAMES: Final = {
    Wait.COST: "cost",
    Wait.INPUT: "idle",
    Wait.BUFFER: "hard back pressure",
    Wait.YIELD: "yield",
    Wait.LOCK: "without lock",
    Wait.OUTPUT: "soft back pressure",
    Wait.MAIL_IN_YIELD: "wait for a mail",
    Wait.SNAPSHOTS: "wait for snapshots",
}
SLICE_NAMES: Final = (*ACTION_NAMES.values(), *WAIT_NAMES.values())

_PHASE, _KIND, _PRIORITY = (ACTIONS.names.index(name) for name in ("phase", "kind", "priority"))


def opened_slice(fact: Fact) -> str | None:
    """Returns the name of the action or wait that begins with a fact of table ``actions``; None if one ends with it."""
    phase, kind = fact.row[_PHASE], fact.row[_KIND]
    if phase == ActionPhase.BEGIN:
        return ACTION_NAMES[ActionKind(kind)]
    if phase != ActionPhase.WAIT:
        return None
    return WAIT_NAMES[wait_of(kind, fact.row[_PRIORITY], fact.depth > 0)]
