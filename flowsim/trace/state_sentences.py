"""Sentences about keyed state and window contents."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import StateAction
from flowsim.history.keyed_state import WRONG
from flowsim.quantities import count_text
from flowsim.trace.names import Names
from flowsim.trace.phrases import STATE_CHANGES
from flowsim.trace.sentence import Sentence, joined, window_text

_COUNTED: Final = {"list": "element", "map": "entry", "window_records": "record"}


def state_changes_sentence(
    names: Names,
    seq: int,
    task: int,
    operator: int,
    time_ns: int,
    key_hash: int,
    key: int,
    state: int,
    action: int,
    entries: int,
    fingerprint: int,
    start: int,
    end: int,
) -> Sentence:
    verb, rules = STATE_CHANGES[StateAction(action)]
    name, kind = names.state(task, operator, state)
    window = window_text(start, end) if (start, end) != (0, 0) else ""
    if kind.startswith("window"):
        what = f"{verb} the contents of {window} of key {names.key(key)}"
    else:
        of_key = f"of key {names.key(key)}{window and f', {window}'}" if key else ""
        what = joined(verb, f"{kind} state {name!r}" if kind else name, of_key)
    value = names.value(fingerprint) if fingerprint else ""
    between = " instead of " if action in WRONG else ": "
    shown = f"{between}{value}" if value else ""
    return Sentence(f"{names.operator(task, operator)} {what}{shown}{_left(kind, action, entries)}", rules)


def _left(kind: str, action: int, entries: int) -> str:
    noun = _COUNTED.get(kind)
    if noun is None or action == StateAction.CLEAR or action in WRONG:
        return ""
    return f", {count_text(entries, noun, 'entries' if noun == 'entry' else None)} now"
