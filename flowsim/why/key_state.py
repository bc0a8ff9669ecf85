"""The keyed state of a key: what wrote, cleared or expired it (table ``state_changes``)."""

from __future__ import annotations

from typing import Final

import numpy as np

from flowsim.facts.kinds import StateAction
from flowsim.history.keyed_state import is_empty, state_changes
from flowsim.laws.job_graph import Operator
from flowsim.laws.job_history import NO_CHECKPOINT
from flowsim.quantities import count_text
from flowsim.trace.phrases import ENTRY_NOUNS
from flowsim.trace.sentence import window_text
from flowsim.why.answer import Cause
from flowsim.why.run_facts import Row, RunFacts, place_of
from flowsim.why.sentence import capital
from flowsim.why.timers.calls import call_of

_DONE: Final = {
    StateAction.PUT: "wrote it",
    StateAction.ADD: "added to it",
    StateAction.REMOVE: "removed an entry from it",
    StateAction.CLEAR: "cleared it",
}


def state_causes(facts: RunFacts, task: int, operator: Operator, keys: frozenset[int]) -> list[Cause]:
    """One sentence per state of a key that was ever written; empty without recorded state."""
    return [state_cause(facts, rows) for rows in state_changes(facts, task, operator, keys).values()]


def state_text(facts: RunFacts, row: Row) -> str:
    """Names a state with its kind, key and window."""
    name, kind = facts.names.state(row["task"], row["operator"], row["state"])
    start, end = row["window_start"], row["window_end"]
    window = f" of {window_text(start, end)}" if (start, end) != (0, 0) else ""
    what = "contents" if kind.startswith("window") else f"{kind} state {name!r}"
    return f"{what}{window}{facts.of_key(row['key'])} at {facts.operator_in(row['task'], row['operator'])}"


def state_cause(facts: RunFacts, rows: list[Row]) -> Cause:
    """What a state contains, and the call that changed it last."""
    last = rows[-1]
    name = capital(state_text(facts, last))
    if is_empty(last):
        text = f"{name} {'are' if name.startswith('Contents') else 'is'} empty: {_how(facts, last)}."
    else:
        text = f"{name} {_contains(facts, last)}: {_how(facts, last)}."
    return Cause(text + _restored(facts, last), _rules(last), place_of(last))


def change_cause(facts: RunFacts, row: Row) -> Cause:
    """One change of a state, in one sentence."""
    value = facts.names.value(row["fingerprint"]) if row["fingerprint"] else ""
    return Cause(f"{capital(_how(facts, row))}{value and f': {value}'}.", _rules(row), place_of(row))


def _contains(facts: RunFacts, row: Row) -> str:
    kind = facts.names.state(row["task"], row["operator"], row["state"])[1]
    noun = ENTRY_NOUNS.get(kind)
    if noun is not None:
        verb = "have" if kind.startswith("window") else "has"
        return f"{verb} {count_text(row['entries'], *noun.split('/'))}"
    value = facts.names.value(row["fingerprint"]) if row["fingerprint"] else ""
    verb = "are" if kind.startswith("window") else "has the value"
    return (
        f"{verb} {value}" if value else ("exist" if verb == "are" else "has a value that the recording does not show")
    )


def _how(facts: RunFacts, row: Row) -> str:
    at = facts.moment(row["time_ns"])
    if row["action"] == StateAction.EXPIRE:
        call = call_of(facts, row, "state_changes")
        during = "" if call is None else f", found when it processed {call.text}"
        return f"its time to live had passed by {at}{during}"
    call = call_of(facts, row, "state_changes")
    who = "a call that the recording does not show" if call is None else call.text
    return f"{who} {_DONE[StateAction(row['action'])]} at {at}"


def _restored(facts: RunFacts, row: Row) -> str:
    """That a change of an earlier attempt came with a snapshot."""
    attempt = facts.attempt_of(row["task"])
    own = facts.rows("state_changes", row["task"])
    if not attempt or bool(np.isin(row["seq"], own["seq"])):
        return ""
    checkpoint = facts.graph.history.restored(row["task"], attempt)
    return "" if checkpoint == NO_CHECKPOINT else f" Attempt {attempt} restored it from checkpoint {checkpoint}."


def _rules(row: Row) -> tuple[str, ...]:
    return ("10.13", "10.16") if row["action"] == StateAction.CLEAR and row["window_start"] < row["window_end"] else ()
