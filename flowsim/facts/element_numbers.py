"""Numbers of elements, whose sums tell whether two sequences of elements are equal."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import ElementKind

FACTOR: Final = 0x1E3779B97F4A7C15
"""Odd, so that different timestamps give different numbers."""
_RECORD: Final = ElementKind.RECORD


def element_number(kind: int, timestamp: int, fingerprint: int) -> int:
    """Returns the number of an element; a record has its fingerprint. Sums of numbers overflow like a Java long."""
    return fingerprint if kind == _RECORD else timestamp * FACTOR + kind
