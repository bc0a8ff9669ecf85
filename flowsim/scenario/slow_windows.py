"""Warnings about windows that make a job slow: each record belongs to many of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flowsim.quantities import count_text
from flowsim.scenario.features.windows import CountWindowModel, PlainWindowModel
from flowsim.scenario.loader import Scenario
from flowsim.scenario.yaml.positions import Path, path_text

WINDOWS_WARNED: Final = 50
"""From this many windows per record on, the windows are most of the cost of a job (tests/benchmarks/soak.py)."""
MOST_WARNINGS: Final = 50


def slow_windows(scenario: Scenario) -> tuple[str, ...]:
    """Returns one line for each such window, with its position in the file; at most 50, and a line for the rest."""
    warnings = []
    for path, window in _windows(scenario):
        key, windows, effect = _windows_per_record(window)
        if windows >= WINDOWS_WARNED:
            where = scenario.document.position((*path, key))
            warnings.append(
                f"{where} {path_text((*path, key))}: each record belongs to {windows:,} windows, so {effect}; increase slide "
                f"or decrease size to have fewer windows"
            )
    more = len(warnings) - MOST_WARNINGS
    return (*warnings[:MOST_WARNINGS], f"and {count_text(more, 'more such window')}") if more > 0 else tuple(warnings)


def _windows(scenario: Scenario) -> Iterator[tuple[Path, PlainWindowModel]]:
    """The windows of all operators: their own, and those of joins."""
    for name, operator in scenario.model.operators.items():
        path: Path = ("operators", name)
        if operator.window is not None:
            yield (*path, "window"), operator.window
        kind, block = operator.chosen
        of_join = getattr(block, "window", None)
        if isinstance(of_join, PlainWindowModel):
            yield (*path, kind, "window"), of_join


def _windows_per_record(window: PlainWindowModel) -> tuple[str, int, str]:
    """Returns the key of the assigner, the number of windows of a record, and what they cost."""
    if window.sliding is not None:
        windows = -(-window.sliding.size // window.sliding.slide)
        return "sliding", windows, "the job is slow and its state is large"
    if isinstance(window.count, CountWindowModel):
        return "count", -(-window.count.size // window.count.slide), "the job is slow"
    return window.assigner, 1, ""
