"""``why state``: why the keyed state of a key has its value, or is empty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.errors import BadInput
from flowsim.facts.kinds import StoredKind
from flowsim.history.key_records import key_records
from flowsim.history.keyed_state import is_empty, state_changes
from flowsim.history.timers import timer_operators
from flowsim.quantities import count_text
from flowsim.why.about import About, about_of, keys_of
from flowsim.why.answer import Cause, WhyAnswer
from flowsim.why.key_state import change_cause, state_cause
from flowsim.why.restored_state import restored_causes
from flowsim.why.run_facts import Row, RunFacts

_MOST_LISTED: Final = 8


def why_state(facts: RunFacts, words: Sequence[str], tasks: frozenset[int] | None = None) -> WhyAnswer:
    """Explains the state that matches and changed last. Raises BadInput if changes of state are not recorded."""
    if not facts.is_full or not facts.recording.manifest.run.settings.get("record_state"):
        raise BadInput(
            "changes of state are recorded only with 'record: full' and 'record_state: true' in the settings; run the job "
            "again with them"
        )
    names = {str(row[3]) for row in facts.recording.static_rows("states")}
    name = next((word for word in words if word in names), "")
    about = about_of(facts, [word for word in words if word != name])
    found = asked_states(facts, about, name, tasks)
    if not found:
        return _never_written(facts, about, name, tasks)
    rows = max(found, key=lambda one: (one[-1]["time_ns"], one[-1]["task"], one[-1]["seq"]))
    changes = rows[-_MOST_LISTED:]
    causes = [change_cause(facts, row) for row in changes]
    notes = []
    if len(rows) > len(changes):
        notes.append(f"these are the last {len(changes)} of {count_text(len(rows), 'change')}")
    others = [one for one in found if one is not rows]
    if others:
        empty = sum(is_empty(one[-1]) for one in others)
        notes.append(f"{count_text(len(others), 'other state')} of operators and keys, {empty:,} of them empty")
    return WhyAnswer(state_cause(facts, rows), tuple(causes), tuple(notes))


def asked_states(facts: RunFacts, about: About, name: str, tasks: frozenset[int] | None) -> list[list[Row]]:
    """The changes of each state that a question is about."""
    keys = keys_of(facts, about.key)
    found = []
    for task, operator in timer_operators(facts, tasks):
        for (state, _, start, end), rows in (
            state_changes(facts, task, operator, keys).items() if about.has(operator) else ()
        ):
            is_named = not name or facts.names.state(task, operator.operator, state)[0] == name
            if is_named and about.window in (None, (start, end)):
                found.append(rows)
    return found


def _never_written(facts: RunFacts, about: About, name: str, tasks: frozenset[int] | None) -> WhyAnswer:
    """No call has changed such a state."""
    what = f"state {name!r}" if name else "state"
    of_key = f" of key {about.key}" if about.key else ""
    at = f" at {about.operators[0].name}" if about.operators else ""
    statement = Cause(
        f"No call has written {what}{of_key}{at}{facts.by_moment}.", ("12.123",) if facts.graph.history.restarts else ()
    )
    keys = keys_of(facts, about.key)
    causes = []
    for task, operator in timer_operators(facts, tasks):
        if about.has(operator):
            causes += restored_causes(facts, task, operator, (StoredKind.KEYED_STATE,))
    for task, operator in timer_operators(facts, tasks) if keys else ():
        arrived = len(key_records(facts, task, keys or frozenset()).arrived)
        text = f"{count_text(arrived, 'record')} of the key {'has' if arrived == 1 else 'have'} arrived at"
        causes.append(Cause(f"{text} {facts.operator_in(task, operator.operator)}.", ("1.18",)))
    return WhyAnswer(statement, tuple(causes))
