"""The bounds of a run inside a test."""

from __future__ import annotations

from typing import Final

from flowsim.cluster.run_bounds import RunBounds

DEFAULT_BOUNDS: Final = RunBounds(steps=200_000, virtual_ms=366 * 24 * 3_600_000)
"""Some seconds, and a year of virtual time."""

_chosen = [DEFAULT_BOUNDS]


def default_bounds() -> RunBounds:
    """The bounds of runs that name none."""
    return _chosen[0]


def set_default_bounds(bounds: RunBounds) -> None:
    """Changes ``default_bounds`` for this process: the pytest option ``--flowsim-steps``."""
    _chosen[0] = bounds
