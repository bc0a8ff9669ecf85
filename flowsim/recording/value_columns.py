"""The columns of table ``record_values``, and their bytes for the digest."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]


class ValueColumns(NamedTuple):
    """Fingerprints, timestamps and values; value n is ``lines[bounds[n] : bounds[n + 1]]``, JSON and a line break."""

    numbers: Integers
    timestamps: Integers
    lines: bytes
    bounds: Integers

    def packed(self) -> bytes:
        """Returns the bytes of the rows for the digest: fingerprint, timestamp and line of each.

        Whole rows as JSON would take eight times as long.
        """
        heads = np.stack((self.numbers, self.timestamps), axis=1).astype("<i8")
        row_bytes = 2 * heads.itemsize
        of_heads = np.zeros(len(self.lines) + row_bytes * len(heads), bool)
        starts = self.bounds[:-1] + row_bytes * np.arange(len(heads))
        of_heads[(starts[:, None] + np.arange(row_bytes)).ravel()] = True
        content: npt.NDArray[np.uint8] = np.empty(len(of_heads), np.uint8)
        content[of_heads] = np.frombuffer(heads.tobytes(), np.uint8)
        content[~of_heads] = np.frombuffer(self.lines, np.uint8)
        return content.tobytes()
