"""Adds up the records that reach their windows before these end, by whole columns instead of one by one.

Where ``WindowPlan.adds_up``, such a record changes nothing but the contents of its window, and the window fires after
the last of them. So they may be added before the watermarks among them are taken, as long as these ascend.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.laws.slices import Ints, Mask
from flowsim.laws.windows.plan import WindowPlan

FEWEST: Final = 128
"""For fewer records, whole columns are slower than rows."""

Added = tuple[int, int, int, int, int]
"""Key and start of a window, and the records added to it: their number, sum of fingerprint >> 31, exclusive or."""

_SANE: Final = 1 << 61
"""Nothing wraps around while timestamps and sizes are below it."""
_ODD: Final = np.uint64(0x9E3779B97F4A7C15)


def can_add_up(plan: WindowPlan, timestamp: Ints, watermarks: Ints) -> bool:
    """Whether records of these timestamps may be added up; ``watermarks``: the one before them and those among them."""
    if not plan.adds_up or len(timestamp) < FEWEST or plan.size_ms + plan.slide_ms >= _SANE:
        return False
    sane = int(timestamp.min()) > -_SANE and int(timestamp.max()) < _SANE
    return sane and bool((watermarks[1:] >= watermarks[:-1]).all())


def add_up(
    plan: WindowPlan, key: Ints, fingerprint: Ints, start: Ints, bound: Ints, watermark: Ints
) -> tuple[list[Added], Mask]:
    """What is added to each window, which may come more than once, and which records are not added to all of theirs.

    ``start`` and ``bound`` are those of ``WindowPlan.assign``; ``watermark`` is that at the arrival of each record.
    """
    added: list[Added] = []
    sliding = plan.shape == "sliding"
    too_old = bound if sliding else start - 1
    left = too_old >= start
    for older in range(-(-plan.size_ms // plan.slide_ms) if sliding else 1):
        begin = start - older * plan.slide_ms if older else start
        inside = begin > too_old
        on_time = inside & (begin + (plan.size_ms - 1) > watermark)
        left |= inside & ~on_time
        added += _added(key[on_time], begin[on_time], fingerprint[on_time])
    return added, left


def _added(key: Ints, begin: Ints, fingerprint: Ints) -> Iterator[Added]:
    if not len(key):
        return iter(())
    mixed: npt.NDArray[np.uint64] = key.astype(np.uint64) * _ODD + begin.astype(np.uint64)
    order = np.argsort(mixed)
    key, begin, fingerprint = key[order], begin[order], fingerprint[order]
    first = np.concatenate(([0], np.flatnonzero((key[1:] != key[:-1]) | (begin[1:] != begin[:-1])) + 1))
    columns = (
        key[first],
        begin[first],
        np.diff(first, append=len(key)),
        np.add.reduceat(fingerprint >> 31, first),
        np.bitwise_xor.reduceat(fingerprint, first),
    )
    return zip(*(column.tolist() for column in columns), strict=True)
