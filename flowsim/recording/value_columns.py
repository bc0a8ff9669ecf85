"""The columns of table ``record_values``, and their bytes for the digest."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

Integers: TypeAlias = npt.NDArray[np.int64]

_HEAD: Final = np.dtype("V16")
"""The packed fingerprint and timestamp of a row."""


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
        heads = np.stack((self.numbers, self.timestamps), axis=1).astype("<i8").view(_HEAD).ravel()
        gap = bytes(_HEAD.itemsize)
        content = bytearray(gap + self.lines.replace(b"\n", b"\n" + gap))
        any_head: npt.NDArray[np.void] = np.ndarray(len(content) - len(gap) + 1, _HEAD, content, strides=(1,))
        any_head[self.bounds[:-1] + len(gap) * np.arange(len(heads))] = heads
        return bytes(memoryview(content)[: -len(gap)])
