"""Columns of integers as bytes: zigzag varints of values or of differences, whichever compress better.

The viewer decodes them in ``web/src/decode.ts``; ``decoded`` is the same in Python.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

BOUND: Final = 1 << 50
"""Stands for 2^63-1, and its negative for -2^63: JavaScript numbers are exact to 2^53, the zigzag of a difference too."""

VALUES: Final = "values"
DIFFERENCES: Final = "differences"
"""Each value less the previous one."""

_LEVEL: Final = 6
_SAMPLE: Final = 1 << 14
_SEVEN_BITS: Final = 127
_ONE_BYTE: Final = 1 << 7
_SHORT: Final = 1 << 16


def compressed(data: bytes) -> bytes:
    """A gzip member. Equal data gives equal bytes."""
    return gzip.compress(data, _LEVEL, mtime=0)


def bounded(values: Ints) -> Ints:
    """The sentinels -2^63 and 2^63-1 as -2^50 and 2^50; other values of such a size as the next smaller ones."""
    limits = np.iinfo(np.int64)
    if np.min(values, initial=0) > -BOUND and np.max(values, initial=0) < BOUND:
        return values
    inside = np.clip(values, 1 - BOUND, BOUND - 1)
    return np.where(values == limits.min, -BOUND, np.where(values == limits.max, BOUND, inside))


class Groups:
    """The group of every row; ``differences`` are of a value less the previous one of its group."""

    def __init__(self, of_rows: Ints) -> None:
        self.of_rows = of_rows

    @cached_property
    def sample(self) -> Groups:
        """The groups of the first rows."""
        return Groups(self.of_rows[:_SAMPLE])

    @cached_property
    def _order(self) -> tuple[Ints, Ints]:
        """The rows by group, and the places in this order where groups begin."""
        groups = self.of_rows
        if len(groups) and groups.min() >= 0 and groups.max() < _SHORT:
            groups = groups.astype(np.uint16)  # numpy sorts short numbers by radix.
        order = np.argsort(groups, kind="stable")
        of_group = self.of_rows[order]
        return order, np.flatnonzero(np.diff(of_group, prepend=of_group[:1] - 1))

    def differences(self, values: Ints) -> Ints:
        """A value less the previous one of its group, for the first of a group the value itself."""
        order, starts = self._order
        in_order = values[order]
        differences = np.diff(in_order, prepend=0)
        differences[starts] = in_order[starts]
        found = np.empty_like(values)
        found[order] = differences
        return found


def encoded(values: Ints, groups: Mapping[str, Groups]) -> tuple[str, bytes]:
    """The name of the encoding, and the bytes.

    ``groups``: names of further encodings: a value less the previous one of its group.
    """
    sample = values[:_SAMPLE]
    of_sample = _candidates({name: group.sample for name, group in groups.items()})
    sizes = {name: len(zlib.compress(varints(numbers(sample)), 1)) for name, numbers in of_sample.items()}
    best = min(sizes, key=lambda name: sizes[name])
    return best, varints(_candidates(groups)[best](values))


def _candidates(groups: Mapping[str, Groups]) -> dict[str, Callable[[Ints], Ints]]:
    """By the name of an encoding the numbers that it writes."""
    return {
        VALUES: lambda values: values,
        DIFFERENCES: lambda values: np.diff(values, prepend=0),
        **{name: group.differences for name, group in groups.items()},
    }


def varints(values: Ints) -> bytes:
    """Zigzag varints: 7 bits per byte, lowest first; the high bit means that more follow.

    Equal numbers at the end are written once.
    """
    other = np.flatnonzero(values != values[-1:])
    values = values[: other[-1] + 2 if len(other) else 1]
    zigzag = ((values << 1) ^ (values >> 63)).astype(np.uint64)
    longer = np.flatnonzero(zigzag >= _ONE_BYTE)
    if not len(longer):
        return zigzag.astype(np.uint8).tobytes()
    more = zigzag[longer] >> np.uint64(7)
    length = np.ones(len(zigzag), dtype=np.int64)
    length[longer] += 1 + sum((more >= np.uint64(1 << bits) for bits in range(7, 57, 7)), np.zeros(len(more), np.int64))
    ends = np.cumsum(length)
    out = np.empty(int(ends[-1]), dtype=np.uint8)
    starts = ends - length
    out[starts] = zigzag.astype(np.uint8) & _SEVEN_BITS
    starts = starts[longer]
    while len(starts):
        out[starts] |= _ONE_BYTE
        starts = starts + 1
        out[starts] = more.astype(np.uint8) & _SEVEN_BITS
        has_more = more >= _ONE_BYTE
        starts, more = starts[has_more], more[has_more] >> np.uint64(7)
    return out.tobytes()


def from_varints(data: bytes, rows: int) -> Ints:
    """The inverse of ``varints``."""
    byte = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(byte < _ONE_BYTE)
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    zigzag = np.zeros(len(ends), dtype=np.uint64)
    for place in range(int((ends - starts).max(initial=-1)) + 1):
        has = starts + place <= ends
        zigzag[has] |= (byte[starts[has] + place] & _SEVEN_BITS).astype(np.uint64) << np.uint64(7 * place)
    found = (zigzag >> np.uint64(1)).astype(np.int64) ^ -(zigzag & np.uint64(1)).astype(np.int64)
    return np.concatenate((found, np.repeat(found[-1:], rows - len(found))))


def decoded(encoding: str, data: bytes, rows: int, groups: Mapping[str, Ints]) -> Ints:
    """The inverse of ``encoded``."""
    found = from_varints(data, rows)
    if encoding == VALUES:
        return found
    if encoding == DIFFERENCES:
        return np.cumsum(found)
    last: dict[int, int] = {}
    for place, (group, difference) in enumerate(zip(groups[encoding].tolist(), found.tolist(), strict=True)):
        last[group] = last.get(group, 0) + difference
        found[place] = last[group]
    return found
