"""Arithmetic of Java's ``long``: 64 bits with overflow, and a remainder with the sign of the dividend."""

from __future__ import annotations

from typing import Final

_MIN: Final = -(2**63)
_MAX: Final = 2**63 - 1


def wrapped(number: int) -> int:
    """Wraps a sum or difference to 64 bits as Java does.

    >>> wrapped(2**63 - 1 + 1) == -(2**63)
    True
    """
    return number if _MIN <= number <= _MAX else (number - _MIN) % 2**64 + _MIN


def remainder(dividend: int, divisor: int) -> int:
    """Returns Java's ``dividend % divisor``.

    >>> remainder(-7, 5), -7 % 5
    (-2, 3)
    """
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest
