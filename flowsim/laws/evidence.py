"""How evidence shows recorded numbers."""

from __future__ import annotations

from enum import IntEnum


def named(kinds: type[IntEnum], number: int) -> IntEnum | int:
    """The enum member of a number, or the number itself if there is none: the recording may be damaged."""
    return next((kind for kind in kinds if kind == number), number)
