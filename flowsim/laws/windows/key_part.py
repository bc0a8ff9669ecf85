"""Splits the keys of a task, so that a task with very many facts is examined in parts."""

from __future__ import annotations

from flowsim.laws.law import KeyPart
from flowsim.laws.slices import Mask, Rows


def is_in(key: int, part: KeyPart | None) -> bool:
    return part is None or key % part[1] == part[0]


def rows_of(rows: Rows, operator: int, part: KeyPart | None = None) -> Mask:
    """Which rows are of this operator, and of the keys of the part."""
    mask: Mask = rows.column("operator") == operator
    if part is not None:
        mask &= rows.column("key") % part[1] == part[0]
    return mask
