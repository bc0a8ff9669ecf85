"""How soon detangle, simloom and simloop show the races of ``races.py``: prints a table. See requirements.txt.

build/peers/bin/python tests/benchmarks/peers/measure.py
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from statistics import median
from time import process_time
from typing import Any, Final

import detangle  # type: ignore[import-not-found]
import simloom  # type: ignore[import-not-found]
import simloop  # type: ignore[import-not-found]
from races import RACES  # type: ignore[import-not-found]

_SEEDS: Final = 20
_RUNS: Final = 1_000

Race = Callable[[], Coroutine[Any, Any, None]]


def _detangle(race: Race, seed: int) -> float:
    try:
        detangle.explore(race, runs=_RUNS, seed=seed, shrink=False, database=False)
    except detangle.BugFound as found:
        return float(found.report.runs)
    return float("inf")


def _simloop(race: Race, seed: int) -> float:
    report = simloop.explore(race, range(seed * _RUNS, (seed + 1) * _RUNS))
    return float("inf") if report is None else float(report.seeds_passed + 1)


def _simloom(race: Race, seed: int) -> float:
    found = simloom.explore(race, runs=_RUNS, start_seed=seed * _RUNS)
    return float(found.runs) if found.failures else float("inf")


def _cell(explore: Callable[[Race, int], float], race: Race) -> str:
    runs, times = [], []
    for seed in range(1, _SEEDS + 1):
        begun = process_time()
        runs.append(explore(race, seed))
        times.append(process_time() - begun)
    return f"{median(runs):g}, {median(times):.3f} s"


if __name__ == "__main__":
    tools = {"detangle": _detangle, "simloom": _simloom, "simloop": _simloop}
    print(f"| race | {' | '.join(tools)} |\n|---|{'---|' * len(tools)}")
    for name, race in RACES.items():
        print(f"| {name} | {' | '.join(_cell(explore, race) for explore in tools.values())} |")
