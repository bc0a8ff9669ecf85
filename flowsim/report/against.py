"""The first difference of two recordings in causal order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.merged_facts import Selection, merged_rows
from flowsim.recording.reader import Recording

_Hashes = npt.NDArray[np.uint64]

_PRIME: Final = np.uint64(0x9E3779B97F4A7C15)
_SHIFT: Final = np.uint64(29)
_NUMBERS: Final = {table.name: number for number, table in enumerate(TASK_TABLES)}


def first_difference(one: Recording, other: Recording) -> int | None:
    """Returns the first step at which the recordings have different facts; None if all facts are equal.

    Memory holds an epoch of each recording. Raises BadInput for a damaged part.
    """
    ours, theirs = _hashes(one), _hashes(other)
    none: _Hashes = np.zeros(0, dtype=np.uint64)
    left, right, step = none, none, 0
    while True:
        left = left if len(left) else next(ours, none)
        right = right if len(right) else next(theirs, none)
        count = min(len(left), len(right))
        if not count:
            return step if len(left) or len(right) else None
        differs = np.flatnonzero(left[:count] != right[:count])
        if len(differs):
            return step + int(differs[0])
        left, right, step = left[count:], right[count:], step + count


def _hashes(recording: Recording) -> Iterator[_Hashes]:
    """Yields a hash of each fact: of its table and all its columns."""
    for merged in merged_rows(recording, Selection()):
        found: _Hashes = np.zeros(len(merged.index), dtype=np.uint64)
        for number, rows in enumerate(merged.rows):
            of_table = merged.table_of == number
            hashes = np.full(len(rows), _NUMBERS[rows.table.name], dtype=np.uint64)
            for column in rows.columns:
                hashes = (hashes ^ column.astype(np.uint64)) * _PRIME
                hashes ^= hashes >> _SHIFT
            found[of_table] = hashes[merged.index[of_table]]
        yield found
