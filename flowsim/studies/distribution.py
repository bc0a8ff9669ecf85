"""The distribution of a measure of a study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from flowsim.history.rows import Ints


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
