"""The set of the fingerprints whose records are stored; each recorded record is searched in it."""

from __future__ import annotations

from typing import Final

from librt.vecs import vec
from mypy_extensions import i64

_FREE: Final = -1
_FIRST_BITS: Final = 6


class FingerprintSet:
    """A hash table with linear probing. Python's set of ints needs two accesses to memory for a search, this one does one.

    A fingerprint is a hash of 63 bits itself. Its highest bits choose its slot, so that a larger table is filled from
    start to end. Invariants: at most two thirds of the slots are used; between the slot that a fingerprint chooses and
    the fingerprint there is no free slot; no fingerprint has a bit of ``_mask``.
    """

    __slots__ = ("_slots", "_shift", "_count", "_mask")

    _slots: vec[i64]
    _shift: i64
    _count: i64
    _mask: i64

    def __init__(self) -> None:
        self._mask = 0
        self._clear(63 - _FIRST_BITS)

    def __len__(self) -> int:
        return self._count

    def add(self, fingerprint: i64) -> bool:
        """Adds a fingerprint; returns False if the set contains it already, or cannot contain it."""
        if fingerprint & self._mask:
            return False
        slots = self._slots
        last: i64 = len(slots) - 1
        place = fingerprint >> self._shift
        found = slots[place]
        while found != _FREE:
            if found == fingerprint:
                return False
            place = (place + 1) & last
            found = slots[place]
        slots[place] = fingerprint
        self._count += 1
        if self._count * 3 > last * 2:
            self._move_to(self._shift - 1)
        return True

    def keep(self, mask: i64) -> None:
        """Removes, now and from now on, each fingerprint with a bit of ``mask``."""
        self._mask = mask
        self._move_to(self._shift)

    def values(self) -> list[int]:
        """Returns the fingerprints in no particular order."""
        return [value for value in self._slots if value != _FREE]

    def copy(self) -> FingerprintSet:
        """Returns an equal set."""
        copied = FingerprintSet()
        copied._slots = self._slots
        copied._mask = self._mask
        copied._move_to(self._shift)
        return copied

    def _move_to(self, shift: i64) -> None:
        """Moves all fingerprints to a new table."""
        slots = self._slots
        self._clear(shift)
        for value in slots:
            if value != _FREE:
                self.add(value)

    def _clear(self, shift: i64) -> None:
        slots: i64 = 1 << (63 - shift)
        self._slots = vec[i64]([_FREE] * slots)
        self._shift = shift
        self._count = 0
