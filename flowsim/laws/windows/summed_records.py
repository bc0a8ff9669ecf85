"""Records that only add to the contents of one window, summed between two watermarks: most records do nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from flowsim.laws.slices import Ints, Mask
from flowsim.laws.windows.panes import PaneId
from flowsim.laws.windows.plan import WindowPlan
from flowsim.units import MAX_WATERMARK

_ODD: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = np.uint64(32)

Sum = tuple[PaneId, int, int, int]
"""A window, and the growth of its contents: records, sum of fingerprint >> 31, exclusive or of the fingerprints."""


def distinct(*columns: Ints) -> tuple[Ints, Ints]:
    """The index of the first of equal rows, and the group of each row; by hashes of 64 bits."""
    mixed = np.zeros(len(columns[0]), dtype=np.uint64)
    for column in columns:
        mixed = (mixed ^ column.astype(np.uint64)) * _ODD
        mixed ^= mixed >> _HALF
    _, first, kind = np.unique(mixed, return_index=True, return_inverse=True)
    return first, kind


def summed(
    plan: WindowPlan, watermark: int, marks: tuple[Ints, Ints], columns: Sequence[Ints]
) -> tuple[Mask, list[list[Sum]]]:
    """Which records of a slice are in sums, and the sums up to each watermark and after the last.

    ``watermark``: that before the slice; ``marks``: sequence numbers and timestamps of those in it; ``columns``: those
    of ``model.Intake``. Sums contain records of fixed windows that are on time and whose trigger waits for the
    watermark: a window with an earlier record in the slice has its timers.
    """
    _, seq, key, _, fingerprint, _, found, start, windows, _ = columns
    sums: list[list[Sum]] = [[] for _ in range(len(marks[0]) + 1)]
    if not (plan.waits_for_watermark and len(seq)):
        return np.zeros(len(seq), dtype=bool), sums
    stretch = np.searchsorted(marks[0], seq)
    current = np.append(np.int64(watermark), marks[1])[stretch]
    latest = MAX_WATERMARK - plan.size_ms - plan.lateness_ms
    plain: Mask = (windows == 1) & (found == current) & (start < latest) & (start + (plan.size_ms - 1) > current)
    # A record in a gap between sliding windows has no window, but the start of the one before the gap.
    first, pane = distinct(key, start, windows)
    plain[first] = False
    plain &= (key == key[first][pane]) & (start == start[first][pane]) & (windows == windows[first][pane])
    rows = np.flatnonzero(plain)
    group = pane[rows] * len(sums) + stretch[rows]
    order = np.argsort(group, kind="stable")
    rows, group = rows[order], group[order]
    begins = np.flatnonzero(np.diff(group, prepend=-1))
    if len(begins):
        of = rows[begins]
        counts = np.diff(begins, append=len(rows))
        totals = np.add.reduceat(fingerprint[rows] >> 31, begins)
        xors = np.bitwise_xor.reduceat(fingerprint[rows], begins)
        every = (column.tolist() for column in (stretch[of], key[of], start[of], counts, totals, xors))
        for at, of_key, begin, count, total, xor in zip(*every, strict=True):
            sums[at].append(((of_key, begin, begin + plan.size_ms), count, total, xor))
    return plain, sums
