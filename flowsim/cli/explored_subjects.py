"""The jobs whose orders ``flowsim explore`` explores: scenarios, and jobs that a Python function builds."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from flowsim.cluster.job_execution import RunOptions
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, RunTooLong
from flowsim.explore.assumptions import left_out
from flowsim.explore.explore import Step, explore_token
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_digest import job_digest
from flowsim.explore.observed_graph import observe
from flowsim.explore.outcome import BOUND_REACHED
from flowsim.facts.kinds import Level
from flowsim.laws.law import Verdict
from flowsim.scenario.compiled import CompiledScenario
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space
from flowsim.testing import Schedule, run_job


class Subject(Protocol):
    """A job whose orders are explored."""

    job: ExploredJob

    @property
    def left_out(self) -> Sequence[str]:
        """What the order space leaves out; nothing in the runtime space, which proves nothing."""

    def check(self, token: ChoiceToken) -> list[str]:
        """Repeats a run; returns what it violated or did not meet. Raises BadInput for a token that does not fit."""

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        """Returns what the user enters to repeat a run, to check it as the exploration did, or to end it at its bounds."""

    def explain(self, token: ChoiceToken) -> str | None:
        """Returns what the user enters to see the choices of a run as sentences; None if there is no such command."""


class ScenarioSubject:
    """A scenario; ``again`` is the command that runs it, at most for ``until_ns``. Raises BadInput for one with phases."""

    def __init__(
        self,
        compiled: CompiledScenario,
        again: Sequence[str],
        record: str,
        until_ns: int | None = None,
        space: Space = "order",
    ) -> None:
        if compiled.phases:
            raise BadInput(f"scenario {compiled.scenario.model.name!r} has phases, which cannot be explored")
        options = replace(compiled.run_options(), clock="virtual")
        if until_ns is not None:
            options = replace(options, until_ns=until_ns)
        self.job = ExploredJob(compiled.stream_graph(), options, compiled.scenario.digest(), space)
        self._compiled = compiled
        self._again = again
        self._record = record
        self._until_ns = until_ns

    @property
    def left_out(self) -> Sequence[str]:
        if self.job.space == "runtime":
            return ()
        return left_out(self._compiled.stream_graph(), self._compiled.failures, self._compiled.actions)

    def check(self, token: ChoiceToken) -> list[str]:
        level = Level[self._record.upper()]
        return _what(
            explore_token(self._compiled, token, record=level, until_ns=self._until_ns, bounds=self.job.bounds)
        )

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        checks = ["--record", self._record, "--validate", "--engine", "python"] if is_checked else []
        checks += ["--limit", f"steps={self.job.bounds.steps}"] if is_bounded else []
        return shlex.join([*self._again, "--token", str(token), *checks])

    def explain(self, token: ChoiceToken) -> str | None:
        return shlex.join(["flowsim", "explain", *self._again[2:], "--token", str(token)])


class ProgramSubject:
    """A job that a Python function builds: ``name`` is ``module:function``."""

    def __init__(self, env: StreamExecutionEnvironment, name: str, record: str, space: Space = "order") -> None:
        graph = env.stream_graph()
        self.job = ExploredJob(graph, RunOptions(), job_digest(observe(graph).graph), space)
        self._env = env
        self._name = name
        self._level = Level[record.upper()]

    @property
    def left_out(self) -> Sequence[str]:
        return () if self.job.space == "runtime" else left_out(self._env.stream_graph())

    def check(self, token: ChoiceToken) -> list[str]:
        run = run_job(self._env, schedule=Schedule.of(str(token)), level=self._level, bounds=self.job.bounds)
        laws = [outcome.law for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED]
        if isinstance(run.result.error, RunTooLong):
            return [BOUND_REACHED]
        failed = [] if run.result.error is None else [f"the job {run.result.status.value}: {run.result.error}"]
        return [*(f"law {law} violated" for law in laws), *failed]

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        call = "assert_laws" if is_checked else "run_job"
        return f"{call}({self._name.partition(':')[2]}(), schedule=Schedule.of({str(token)!r}))  # flowsim.testing"

    def explain(self, token: ChoiceToken) -> str | None:
        return None


def _what(step: Step) -> list[str]:
    found = [f"law {outcome.law} violated" for outcome in step.violated]
    found += [f"expected {unmet.what} not met: {unmet.expected}" for unmet in step.unmet]
    if not found and step.is_finding:
        found.append(BOUND_REACHED)
    return found
