"""Shows each historical bug once: python -m tests.support.faults.historical.check [TICKET ...].

Prints a line of JSON for each bug: the strategy and the run that shows it by its detector, and how many of the same
schedules show something without the bug. Needs FLOWSIM_PURE=1, because a compiled core ignores changes of its methods.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Final

from flowsim.compiled_modules import COMPILED, execution_mode
from flowsim.faults.historical.bug import Bug
from tests.support.faults.historical.catalogue import BUGS
from tests.support.faults.historical.hits import first_hit
from tests.support.faults.historical.runs import run_job
from tests.support.faults.historical.strategies import Strategy, strategies_of

_RUNS: Final = 60
_CLEAN_RUNS: Final = 3
_SEED: Final = 1
_STRATEGIES: Final = ("default", "order: uniform", "costs")


@dataclass(frozen=True)
class Shown:
    """Which run of which strategy shows a bug ("" for none), and what the same schedules show without the bug."""

    ticket: str
    strategy: str
    run: int
    without_bug: list[str]


def shown(bug: Bug) -> Shown:
    """Tries the strategies of the bug one after the other."""
    without: list[str] = []
    for strategy in strategies_of(bug):
        if strategy.name not in _STRATEGIES:
            continue
        hit = first_hit(bug, strategy, _SEED, _RUNS)
        runs = _CLEAN_RUNS if hit is None else hit.runs
        without += signs_without(bug, strategy, runs)
        if hit is not None:
            return Shown(bug.ticket, strategy.name, hit.runs, without)
    return Shown(bug.ticket, "", 0, without)


def signs_without(bug: Bug, strategy: Strategy, runs: int) -> list[str]:
    """Makes the first runs of a strategy without the bug, and returns what they show."""
    return [sign for run in islice(strategy.runs(_SEED), runs) for sign in run_job(bug, run, with_bug=False).signs]


def main() -> None:
    if execution_mode() == COMPILED:
        sys.exit("the compiled core ignores changes of its methods: set FLOWSIM_PURE=1")
    for ticket, bug in BUGS.items():
        if bug.detector and ticket in (sys.argv[1:] or BUGS):
            print(json.dumps(asdict(shown(bug))), flush=True)


if __name__ == "__main__":
    main()
