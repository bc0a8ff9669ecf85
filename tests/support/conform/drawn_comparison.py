"""A drawn scenario on both sides; a program that conforms one alone, and prints the smallest one that still differs.

python -m tests.support.conform.drawn_comparison event_time 12 [SEED]
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any, Final

from flowsim.conform.both_sides import Conformed, Here, conformed, repeated_on_flink
from flowsim.conform.compared_job import jobs_of_scenario
from flowsim.conform.conformer import FlinkRunner
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.testing.drawing.draft import Family
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.families import numbered_scenario
from tests.support.conform.scenario_shrinker import shrunk

REPETITIONS: Final = 5
"""On Flink, of a scenario that differs."""
FEW_SCHEDULES: Final = 4
SCHEDULES: Final = 20
"""Here, of a scenario that differs."""


def conform(runner: FlinkRunner, scenario: DrawnScenario, folder: Path, *, repeats: bool = True) -> Conformed:
    """Runs a scenario on both sides; if it differs, with more schedules here, then again on Flink. Raises Unsupported."""
    compiled = compile_scenario(
        load_text(scenario.yaml, "drawn.yaml", folder), out_dir=folder / "here", allow_python=True
    )
    jobs = jobs_of_scenario(compiled)
    here = Here(jobs).run()
    flink = repeated_on_flink(runner, jobs, here, folder / "once", 1)
    # Each step costs more than the one before.
    for schedules in (1, FEW_SCHEDULES, SCHEDULES) if repeats else (1,):
        found = conformed(jobs, here, flink, schedules)
        if found.agrees or not repeats:
            return found
    flink = repeated_on_flink(runner, jobs, here, folder / "again", REPETITIONS)
    return conformed(jobs, here, flink, SCHEDULES)


def differences(found: Conformed) -> str:
    """Returns a line for each fact and place that differs."""
    lines: list[str] = []
    for phase in found.phases:
        lines += [f"{fact.what}: here {fact.ours}, on Flink {fact.flink}" for fact in phase.facts if not fact.agrees]
        for place in phase.differing:
            first = place.first_difference
            at = "" if first is None else f" from {first.position} on: here {first.ours}, on Flink {first.flink}"
            lines.append(f"{place.place}, attempt {place.attempt}{at}")
    return "\n".join(lines)


def smallest(runner: FlinkRunner, scenario: DrawnScenario) -> DrawnScenario:
    """Returns the smallest scenario found that differs as well."""

    def still_differs(data: dict[str, Any]) -> bool:
        try:
            with tempfile.TemporaryDirectory() as folder:
                return not conform(runner, DrawnScenario(data), Path(folder), repeats=False).agrees
        except Exception:  # smaller, but no scenario that either side accepts
            return False

    return DrawnScenario(shrunk(scenario.data, still_differs))


def main(family: Family, number: int, seed: int) -> int:
    scenario = numbered_scenario(number, family=family, seed=seed)
    runner = FlinkRunner.start(Path(tempfile.gettempdir(), "flowsim-conform-classes"))
    try:
        with tempfile.TemporaryDirectory() as folder:
            found = conform(runner, scenario, Path(folder))
        if not found.agrees:
            print(differences(found), smallest(runner, scenario).yaml, sep="\n\n")
        print("equal" if found.agrees else "different")
    finally:
        runner.close()
    return int(not found.agrees)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0))  # type: ignore[arg-type]
