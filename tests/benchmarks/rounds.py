"""Interleaved rounds of all variants, each verified, in CPU seconds: compare the ratios."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from workload import Results, Variant, expected_results


class WrongResult(Exception):
    """A variant computed something else than the batch computation."""


@dataclass(slots=True)
class Measured:
    """All rounds of one variant."""

    name: str
    records: int
    cpu_seconds: list[float] = field(default_factory=list)
    facts: int = 0

    @property
    def median_seconds(self) -> float:
        return statistics.median(self.cpu_seconds)

    @property
    def thousand_records_per_second(self) -> float:
        return self.records / self.median_seconds / 1e3


def measure(
    variants: tuple[Variant, ...], records: int, rounds: int, on_progress: Callable[[str], object]
) -> dict[str, Measured]:
    """Runs every variant once per round, so that a slow moment of the machine hits all alike."""
    expected = expected_results(records)
    measured = {variant.name: Measured(variant.name, records) for variant in variants}
    for number in range(rounds):
        for variant in variants:
            on_progress(f"round {number + 1} of {rounds}: {variant.name}")
            _measure_once(variant, records, expected, measured[variant.name])
    return measured


def _measure_once(variant: Variant, records: int, expected: Results, measured: Measured) -> None:
    gc.collect()
    started = time.process_time()
    outcome = variant.run(records)
    measured.cpu_seconds.append(time.process_time() - started)
    measured.facts = outcome.facts
    if outcome.results != expected:
        different = [
            key for key in sorted({*expected, *outcome.results}) if expected.get(key) != outcome.results.get(key)
        ]
        raise WrongResult(
            f"{variant.name}: {len(different)} of {len(expected)} windows differ, the first (key, start) {different[0]}: "
            f"expected {expected.get(different[0])}, got {outcome.results.get(different[0])}"
        )
