"""The distinct values of the records of a run: all of them up to a size, then a sample (table ``record_values``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.units import NO_TIMESTAMP
from flowsim.values.record_text import record_texts

VALUES_BYTES: Final = 64 << 20
"""How much is kept where no size is set."""

ROW_BYTES: Final = 16
"""What a value costs beside its encoded record: its fingerprint and timestamp."""

_LARGEST: Final = 256
"""A record that takes more than this part of the size is left out."""

ValueColumns = tuple[list[int], list[int], list[bytes]]
"""The columns of table ``record_values``: as lists, because so many small tuples would keep the garbage collector busy."""


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """What was kept. ``distinct`` is exact while ``one_in`` is 1, then an estimate; ``too_large`` were left out."""

    stored: int
    bytes: int
    distinct: int
    one_in: int
    too_large: int


class DistinctValues:
    """Keeps each record the first time that its fingerprint occurs. Implements ``facts.tracer.SeenValues``.

    Half of the size is for all values. Then only those are kept whose fingerprint ends in one 0 bit, then in two, and so
    on. The k-th sample gets 1 / (2 k (k + 1)) of the size: all samples together fit, and each covers more distinct values
    than the one before. An eighth is put aside, because the last value of a sample may not fit. What is kept depends on
    the order of the records alone, not on when rows are taken.

    Invariant: ``known`` holds the fingerprints that occurred and belong to the present sample, and no other.
    """

    __slots__ = (
        "known",
        "limit_bytes",
        "_size",
        "_largest",
        "_mask",
        "_left",
        "_sample",
        "_numbers",
        "_encoded",
        "_stored",
        "_bytes",
        "_too_large",
    )

    def __init__(self, limit_bytes: int = VALUES_BYTES) -> None:
        """``limit_bytes`` 0: nothing is kept."""
        self.known: set[int] = set()
        self.limit_bytes: int = limit_bytes
        self._size = limit_bytes - limit_bytes // 8
        self._largest = limit_bytes // _LARGEST
        self._sample = 0
        self._mask = 0 if limit_bytes else -1
        self._left = self._size // 2
        self._numbers: list[int] = []
        self._encoded: list[bytes | bytearray] = []
        self._stored = 0
        self._bytes = 0
        self._too_large = 0

    def wants(self, fingerprint: int) -> bool:
        """Whether a fingerprint that is not known belongs to the present sample."""
        return not fingerprint & self._mask

    def add(self, fingerprint: int, encoded: bytes | bytearray) -> None:
        """A record whose fingerprint is not known; ``encoded`` is kept and must not change."""
        if fingerprint & self._mask:
            return
        size = len(encoded) + ROW_BYTES
        if size > self._largest:
            self._too_large += 1
            size = ROW_BYTES
        else:
            self._numbers.append(fingerprint)
            self._encoded.append(encoded)
        self.known.add(fingerprint)
        self._left -= size
        if self._left < 0:
            self._next_sample()

    def _next_sample(self) -> None:
        self._sample = sample = self._sample + 1
        self._mask = (1 << sample) - 1
        self._left = self._size // (2 * sample * (sample + 1))
        self.known.intersection_update([number for number in self.known if not number & self._mask])

    def take(self) -> ValueColumns:
        """The rows of what was added since the last call."""
        numbers, self._numbers = self._numbers, []
        encoded, self._encoded = self._encoded, []
        self._stored += len(numbers)
        self._bytes += sum(map(len, encoded)) + ROW_BYTES * len(numbers)
        timestamps, texts = record_texts(encoded)
        return numbers, [NO_TIMESTAMP if one is None else one for one in timestamps], texts

    @property
    def counts(self) -> ValueCounts:
        """What was taken so far."""
        return ValueCounts(
            self._stored, self._bytes, len(self.known) << self._sample, 1 << self._sample, self._too_large
        )
