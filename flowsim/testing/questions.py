"""The question of ``flowsim why`` that fits what a test expected and what it found."""

from __future__ import annotations

import json
from collections.abc import Iterator

from flowsim.errors import BadInput
from flowsim.testing.differences import Difference, missing_text, swapped_texts, texts_of
from flowsim.why.asked_recording import Recording
from flowsim.why.explanation import Explanation
from flowsim.why.order import comes_first
from flowsim.why.records import Records
from flowsim.why.run_facts import RunFacts


def fitting_explanation(recording: Recording, difference: Difference) -> Explanation | None:
    """Explains two records whose order changed, a late record, or a result that is missing.

    None if the facts of the run have no cause. Raises BadInput.
    """
    for question, *about in _questions(RunFacts(recording), difference):
        try:
            found = recording.why(question, *about)
        except BadInput:  # A word that is no record or key, or that several records have.
            continue
        if found.causes:
            return found
    return None


def _questions(facts: RunFacts, difference: Difference) -> Iterator[tuple[str, ...]]:
    """The questions that fit, and their words; the most exact one first."""
    expected = texts_of(difference.expected)
    found = [] if difference.is_missing else texts_of(difference.found)
    if expected is None or found is None:
        return
    swapped, missing = swapped_texts(expected, found), missing_text(expected, found)
    if swapped is not None and _is_later(facts, *swapped):
        yield "order", *swapped
    if missing is not None:
        keys = texts_of(difference.place[-1:]) if difference.is_missing else []
        yield from _of_missing(facts, missing, [*(keys or ()), *_parts(missing)], found)


def _is_later(facts: RunFacts, first: str, second: str) -> bool:
    """Whether the record ``second`` comes before ``first`` at some task."""
    try:
        return comes_first(facts, second, first)
    except BadInput:  # Values that the test computed, or several records of one value.
        return False


def _parts(text: str) -> list[str]:
    """A value and its fields, as the recording has them: one of them may be a key."""
    value = json.loads(text)
    fields = value if isinstance(value, list) else value.values() if isinstance(value, dict) else []
    return [text, *(json.dumps(one, separators=(",", ":"), ensure_ascii=False) for one in fields)]


def _of_missing(facts: RunFacts, missing: str, parts: list[str], found: list[str]) -> Iterator[tuple[str, ...]]:
    known = {str(row[4]): int(row[1]) for row in facts.recording.static_rows("keys")}
    key = next((part for part in parts if part in known), None)
    late = _late_record(facts, missing, known.get(key) if key is not None else None)
    if late is not None:
        yield "late", late
    if key is not None and not any(key in _parts(text) for text in found):
        yield "no-output", json.loads(key) if key.startswith('"') else key
    yield ("no-output",)


def _late_record(facts: RunFacts, value: str, key: int | None) -> str | None:
    """A late record with this value, or the first one of this key."""
    drops = facts.all_rows("late_drop")
    of_key = None
    for row in drops:
        text = facts.names.value(row["fingerprint"])
        if text == value:
            return _argument(facts, text, row["timestamp"])
        if of_key is None and text and row["key"] == key:
            of_key = _argument(facts, text, row["timestamp"])
    return of_key


def _argument(facts: RunFacts, value: str, timestamp: int) -> str:
    """A record as ``flowsim why`` reads it: with its timestamp, if other records have the same value."""
    return value if len(Records(facts).find(value)) == 1 else f"{value}@{timestamp}"
