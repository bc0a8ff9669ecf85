"""Runs the job of a historical bug, and names what shows that the run is wrong."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.run_bounds import RunBounds
from flowsim.errors import InvariantViolation, RunTooLong
from flowsim.explore.checked_run import judged_in_memory
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.faults.historical.bug import Bug
from flowsim.laws.law import Verdict
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.scenario.runner import run_compiled
from flowsim.sim.choice_token import Recorded
from flowsim.sim.sampled.by_strategy import replay

BOUNDS: Final = RunBounds(steps=60_000)
"""A run with a bug may never end; those without one need about a hundredth."""
BOUND: Final = "bound"
CLAIM: Final = "claim"
INVARIANT: Final = "invariant"


@dataclass(frozen=True)
class ScheduledRun:
    """What decides a run beside its job; without choices, the scenario does."""

    choices: Recorded | None = None

    def again(self) -> ScheduledRun:
        """Returns a run with the same schedule; what decided a run is used up."""
        return self if self.choices is None else ScheduledRun(replay(self.choices.token("")))


@cache
def compiled_job(bug: Bug) -> CompiledScenario:
    """Returns the compiled job of a bug."""
    return compile_scenario(load_text(bug.scenario, bug.ticket, Path.cwd()), out_dir=Path("out"))


@dataclass(frozen=True)
class Seen:
    """What a run of a bug's job showed."""

    signs: tuple[str, ...]
    """What shows that the run is wrong, in the words of ``Bug.detector``."""
    result: object
    """Equal for runs that ended in the same way with equal rows in the sinks."""


def run_job(bug: Bug, run: ScheduledRun, *, with_bug: bool = True) -> Seen:
    """Runs the job of a bug, with the bug or without it, and checks all laws."""
    with pytest.MonkeyPatch.context() as patch:
        if with_bug:
            return _run(compiled_job(bug), run, bug.bring_back(patch))
        bug.leave_out(patch)
        return _run(compiled_job(bug), run, ())


def _run(compiled: CompiledScenario, run: ScheduledRun, faults: Iterable[Fault]) -> Seen:
    try:
        done = run_compiled(
            compiled,
            policy=None if run.choices is None else run.choices.policy(),
            clock="virtual",
            record=Level.FULL,
            faults=tuple(faults),
            bounds=BOUNDS,
        )
    except InvariantViolation:
        return Seen((INVARIANT,), INVARIANT)
    result = done.result.status, [(sink.name, sink.records) for sink in done.sinks]
    found = [f"law {each.law}" for each in judged_in_memory(done) if each.verdict is Verdict.VIOLATED]
    if isinstance(done.result.error, RunTooLong):
        return Seen((BOUND, *found), result)
    unmet = [each.what for each in done.expectations if each.met is False]
    if "job" in unmet:
        found.append(done.result.status.value)
    if done.result.status is not JobStatus.DEADLOCKED and any(what != "job" for what in unmet):
        found.append(CLAIM)
    return Seen(tuple(found), result)
