"""How evidence shows the numbers of a recording."""

from __future__ import annotations

from enum import IntEnum


def named(kinds: type[IntEnum], number: int) -> IntEnum | int:
    """The member that a number means, or the number itself where it means none: the recording may be damaged."""
    return next((kind for kind in kinds if kind == number), number)
