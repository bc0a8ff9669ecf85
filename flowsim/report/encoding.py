"""Columns of integers as bytes: zigzag varints of values or of differences, whichever compress better.

The viewer decodes them in ``web/src/decode.ts``; ``decoded`` is the same in Python.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

BOUND: Final = 1 << 50
"""Stands for 2^63-1, and its negative for -2^63: JavaScript numbers are exact to 2^53, the zigzag of a difference too."""

VALUES: Final = "values"
DIFFERENCES: Final = "differences"
"""Each value less the previous one."""

_SAMPLE: Final = 1 << 16
_SEVEN_BITS: Final = 127


def bounded(values: Ints) -> Ints:
    """The sentinels -2^63 and 2^63-1 as -2^50 and 2^50; other values of such a size as the next smaller ones."""
    limits = np.iinfo(np.int64)
    inside = np.clip(values, 1 - BOUND, BOUND - 1)
    return np.where(values == limits.min, -BOUND, np.where(values == limits.max, BOUND, inside))


def encoded(values: Ints, groups: Mapping[str, Ints]) -> tuple[str, bytes]:
    """The name of the encoding, and the bytes.

    ``groups``: names of further encodings, each with the group of every row: a value less the previous one of its group.
    """
    sample = {name: group[:_SAMPLE] for name, group in groups.items()}
    sizes = {name: len(zlib.compress(data, 1)) for name, data in _candidates(values[:_SAMPLE], sample).items()}
    best = min(sizes, key=lambda name: sizes[name])
    return best, _candidates(values, groups, best)[best]


def _candidates(values: Ints, groups: Mapping[str, Ints], only: str | None = None) -> dict[str, bytes]:
    found = {}
    if only in (None, VALUES):
        found[VALUES] = varints(values)
    if only in (None, DIFFERENCES):
        found[DIFFERENCES] = varints(np.diff(values, prepend=0))
    for name, group in groups.items():
        if only in (None, name):
            found[name] = varints(_differences_in_groups(values, group))
    return found


def _differences_in_groups(values: Ints, group: Ints) -> Ints:
    order = np.argsort(group, kind="stable")
    of_group = group[order]
    differences = np.diff(values[order], prepend=0)
    starts = np.flatnonzero(np.diff(of_group, prepend=of_group[:1] - 1))
    differences[starts] = values[order][starts]
    found = np.empty_like(values)
    found[order] = differences
    return found


def varints(values: Ints) -> bytes:
    """Zigzag varints: 7 bits per byte, lowest first; the high bit means that more follow."""
    zigzag = ((values << 1) ^ (values >> 63)).astype(np.uint64)
    length = np.ones(len(zigzag), dtype=np.int64)
    for bits in range(7, 64, 7):
        length += zigzag >= np.uint64(1 << bits)
    ends = np.cumsum(length)
    out = np.empty(int(ends[-1]) if len(ends) else 0, dtype=np.uint8)
    starts = ends - length
    for place in range(int(length.max(initial=0))):
        has = length > place
        byte = (zigzag[has] >> np.uint64(7 * place)).astype(np.uint8) & _SEVEN_BITS
        out[starts[has] + place] = byte | np.where(length[has] > place + 1, 128, 0).astype(np.uint8)
    return out.tobytes()


def from_varints(data: bytes) -> Ints:
    """The inverse of ``varints``."""
    byte = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(byte < 128)
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    zigzag = np.zeros(len(ends), dtype=np.uint64)
    for place in range(int((ends - starts).max(initial=-1)) + 1):
        has = starts + place <= ends
        zigzag[has] |= (byte[starts[has] + place] & _SEVEN_BITS).astype(np.uint64) << np.uint64(7 * place)
    return (zigzag >> np.uint64(1)).astype(np.int64) ^ -(zigzag & np.uint64(1)).astype(np.int64)


def decoded(encoding: str, data: bytes, groups: Mapping[str, Ints]) -> Ints:
    """The inverse of ``encoded``."""
    found = from_varints(data)
    if encoding == VALUES:
        return found
    if encoding == DIFFERENCES:
        return np.cumsum(found)
    last: dict[int, int] = {}
    for place, (group, difference) in enumerate(zip(groups[encoding].tolist(), found.tolist(), strict=True)):
        last[group] = last.get(group, 0) + difference
        found[place] = last[group]
    return found
