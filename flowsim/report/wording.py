"""The phrases of ``flowsim trace`` as JSON: the viewer makes the same sentences from them."""

from __future__ import annotations

from typing import Any, Final

from flowsim.facts.kinds import CheckpointReason
from flowsim.trace import phrases
from flowsim.trace.phrases import Phrases

_TABLES: Final[dict[str, Phrases]] = {
    "sent": phrases.SENT,
    "received": phrases.RECEIVED,
    "life": phrases.LIFE,
    "segments": phrases.SEGMENTS,
    "credits": phrases.CREDITS,
    "timers": phrases.TIMERS,
    "state_changes": phrases.STATE_CHANGES,
    "waits": phrases.WAITS,
    "actions": phrases.ACTIONS,
}
_CHECKPOINT_TABLES: Final[dict[str, Phrases]] = {
    "checkpoint_steps": phrases.CHECKPOINT_STEPS,
    "stored_kinds": phrases.STORED_KINDS,
    "committables": phrases.COMMITTABLES,
}
_SINGLE: Final = {
    "mail_in_yield": phrases.MAIL_IN_YIELD,
    "mail_or_input": phrases.MAIL_OR_INPUT,
    "soft_back_pressure": phrases.SOFT_BACK_PRESSURE,
}


def wording(checkpoints: bool = True) -> dict[str, Any]:
    """By the name of a set of phrases: text and rules per member; and the single phrases.

    ``checkpoints``: with the phrases of checkpoints, and ``reasons``: the names of the reasons why one failed.
    """
    tables: dict[str, Any] = {
        name: {str(int(member)): [text, list(rules)] for member, (text, rules) in table.items()}
        for name, table in {**_TABLES, **(_CHECKPOINT_TABLES if checkpoints else {})}.items()
    }
    if checkpoints:
        tables["reasons"] = {str(int(reason)): reason.name for reason in CheckpointReason}
    return {**tables, **{name: [text, list(rules)] for name, (text, rules) in _SINGLE.items()}}
