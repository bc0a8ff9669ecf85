"""The elements with which channels end; use with ``Slice.once``."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.laws.elements import Mark
from flowsim.laws.slices import Slice

_END_OF_DATA = int(ElementKind.END_OF_DATA)
_COLUMNS = ("seq", "channel", "position", "kind", "timestamp")


def sent_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task sent, in order."""
    return _ends(facts, "sent")


def received_ends(facts: Slice) -> list[Mark]:
    """END_OF_DATA and END_OF_PARTITION elements that the task received, in order."""
    return _ends(facts, "received")


def _ends(facts: Slice, table: str) -> list[Mark]:
    rows = facts.of(table)
    if not len(rows):
        return []
    mask = rows.column("kind") >= _END_OF_DATA
    return rows.tuples(_COLUMNS, mask) if mask.any() else []
