"""Columns of a study's table, and the distribution of a measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording


@dataclass(frozen=True, slots=True)
class Distribution:
    """Durations in ns. A percentile is the lowest duration that covers this share of all durations (nearest rank)."""

    mean_ns: float
    p50_ns: int
    p90_ns: int
    p99_ns: int
    max_ns: int

    @classmethod
    def of(cls, durations_ns: Ints) -> Distribution | None:
        """Returns the distribution of durations in ns; None for an empty list."""
        if not len(durations_ns):
            return None
        ordered = np.sort(durations_ns)

        def rank(percent: int) -> int:
            return int(ordered[-(-percent * len(ordered) // 100) - 1])

        mean = round(int(ordered.sum()) / len(ordered), 3)
        return cls(mean, rank(50), rank(90), rank(99), int(ordered[-1]))


Ints = npt.NDArray[np.int64]

Columns = Mapping[str, Ints]


def columns(recording: Recording, table: str, names: Sequence[str]) -> dict[str, Ints]:
    """Returns some columns of a fact table, in the order in which the rows were recorded.

    Raises BadInput for a damaged part.
    """
    parts = [recording.part(table, epoch, names) for epoch in range(len(recording.epochs))]
    column_of: dict[str, Ints] = {}
    for name in names:
        pieces = [as_numpy(part[name]).astype(np.int64, copy=False) for part in parts]
        column_of[name] = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    return column_of


def where(rows: Columns, wanted: npt.NDArray[np.bool_]) -> dict[str, Ints]:
    """Returns the rows for which ``wanted`` is true."""
    return {name: column[wanted] for name, column in rows.items()}
