"""The distinct record values of a run: all of them up to a size, then a sample (table ``record_values``)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from librt.strings import BytesWriter, write_i64_le
from mypy_extensions import i64

from flowsim.facts.recorder import VALUES_BYTES, SeenValues
from flowsim.recording.value_columns import Integers, ValueColumns
from flowsim.units import NO_TIMESTAMP
from flowsim.values.record_text import record_texts

ROW_BYTES: Final = 16
"""The size of a value in bytes in addition to its encoded record: fingerprint and timestamp."""

_LINE_BREAK: Final = ord("\n")

_LARGEST: Final = 256
"""A divisor: a record that needs more than the size divided by this number is omitted."""


@dataclass(frozen=True)
class ValueCounts:
    """The counts of the stored values.

    ``distinct`` is exact while ``one_in`` is 1, then an estimate. ``too_large`` counts the omitted records.
    """

    stored: int
    bytes: int
    distinct: int
    one_in: int
    too_large: int


class DistinctValues(SeenValues):
    """Stores each record at the first occurrence of its fingerprint.

    Half of the size is for all values. When it is full, only fingerprints that end in one 0 bit are stored, then two,
    and so on. The k-th sample gets 1 / (2 k (k + 1)) of the size: all samples together fit, and each covers more
    distinct values than the previous one. An eighth is reserved, because the last value of a sample may not fit. The
    stored values depend only on the order of the records, not on when rows are taken.

    Invariant: ``known`` contains exactly the fingerprints that occurred and belong to the current sample; it accepts no
    other ones.
    """

    __slots__ = (
        "limit_bytes",
        "_size",
        "_largest",
        "_left",
        "_sample",
        "_numbers",
        "_records",
        "_sizes",
        "_stored",
        "_bytes",
        "_too_large",
    )

    _largest: i64
    _left: i64
    _numbers: BytesWriter
    _records: BytesWriter
    _sizes: BytesWriter

    def __init__(self, limit_bytes: int = VALUES_BYTES) -> None:
        """Creates an empty store. ``limit_bytes`` 0: nothing is stored."""
        super().__init__()
        self.limit_bytes: int = limit_bytes
        self._size = limit_bytes - limit_bytes // 8
        self._largest = limit_bytes // _LARGEST
        self._sample = 0
        if not limit_bytes:
            self.known.keep(-1)
        self._left = self._size // 2
        self._numbers = BytesWriter()
        self._records = BytesWriter()
        self._sizes = BytesWriter()
        self._stored = 0
        self._bytes = 0
        self._too_large = 0

    def add(self, fingerprint: i64, encoded: bytes) -> None:
        """Adds a record whose fingerprint was just added to ``known``."""
        size: i64 = len(encoded) + ROW_BYTES
        if size > self._largest:
            self._too_large += 1
            size = ROW_BYTES
        else:
            write_i64_le(self._numbers, fingerprint)
            write_i64_le(self._sizes, len(encoded))
            self._records.write(encoded)
        self._left -= size
        if self._left < 0:
            self._next_sample()

    def _next_sample(self) -> None:
        self._sample = sample = self._sample + 1
        self._left = self._size // (2 * sample * (sample + 1))
        self.known.keep((1 << sample) - 1)

    def take(self) -> ValueColumns:
        """Returns the rows added since the last call."""
        columns = self.waiting()
        self._stored += len(columns.numbers)
        self._bytes += len(self._records) + ROW_BYTES * len(columns.numbers)
        for writer in (self._numbers, self._sizes, self._records):
            writer.truncate(0)
        return columns

    def waiting(self) -> ValueColumns:
        """Returns the rows that ``take`` would return, which stay."""
        numbers: Integers = np.frombuffer(self._numbers.getvalue(), "<i8")
        sizes: Integers = np.frombuffer(self._sizes.getvalue(), "<i8")
        records = self._records.getvalue()
        timestamps, lines = record_texts(records, [0, *np.cumsum(sizes).tolist()])
        bounds: Integers = np.zeros(len(numbers) + 1, np.int64)
        bounds[1:] = np.flatnonzero(np.frombuffer(lines, np.uint8) == _LINE_BREAK) + 1
        times: Integers = np.array([NO_TIMESTAMP if one is None else one for one in timestamps], np.int64)
        return ValueColumns(numbers, times, lines, bounds)

    def copy(self) -> DistinctValues:
        """Returns a store with the same rows."""
        copied = DistinctValues(self.limit_bytes)
        copied.known = self.known.copy()
        copied._left, copied._sample = self._left, self._sample
        copied._stored, copied._bytes, copied._too_large = self._stored, self._bytes, self._too_large
        copied._numbers.write(self._numbers.getvalue())
        copied._records.write(self._records.getvalue())
        copied._sizes.write(self._sizes.getvalue())
        return copied

    @property
    def counts(self) -> ValueCounts:
        """The counts of all rows taken so far."""
        return ValueCounts(
            self._stored, self._bytes, len(self.known) << self._sample, 1 << self._sample, self._too_large
        )
