"""Sums of hashes over blocks of consecutive numbers: they show what two tasks recorded alike without keeping it."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.laws.network.groups import Groups
from flowsim.laws.slices import Ints

BLOCK_BITS: Final = 10
"""A block is 1,024 numbers."""

Words = npt.NDArray[np.uint64]
Block = tuple[int, int]
"""A channel, and the number of a block."""
Sums = dict[Block, tuple[int, int]]
"""Per block how many rows it has, and the sum of their hashes."""
_ODD: Final = tuple(np.uint64(number) for number in (0x9E3779B97F4A7C15, 0xFF51AFD7ED558CCD))


def hashes(*columns: Ints) -> Words:
    """64 bits per row, all of which depend on every column."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed ^= column.astype(np.int64).view(np.uint64)
        mixed *= _ODD[0]
        mixed ^= mixed >> np.uint64(31)
        mixed *= _ODD[1]
        mixed ^= mixed >> np.uint64(29)
    return mixed


def add_up(sums: Sums, groups: Groups, number: Ints, hashed: Words) -> None:
    """Adds rows, in the order of ``groups``, to the sums of their blocks."""
    block = number >> BLOCK_BITS
    is_start = np.zeros(len(block), dtype=bool)
    is_start[groups.starts] = True
    is_start[1:] |= block[1:] != block[:-1]
    starts = np.flatnonzero(is_start)
    counts = np.diff(np.append(starts, len(block))).tolist()
    group = groups.spread(groups.ids)[starts].tolist()
    totals = np.add.reduceat(hashed, starts).tolist()
    for key, count, total in zip(zip(group, block[starts].tolist(), strict=True), counts, totals, strict=True):
        before, summed = sums.get(key, (0, 0))
        sums[key] = before + count, (summed + total) % 2**64
