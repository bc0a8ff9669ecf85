"""The jobs that ``flowsim explore`` explores: scenarios, and jobs that a Python function builds."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from flowsim.cli.command import duration_argument
from flowsim.cli.options import default_out
from flowsim.cli.programs import environment_of, is_function, is_program
from flowsim.cli.scenarios import compiled_scenario, write_warnings
from flowsim.cli.topics import topics_of
from flowsim.cluster.job_execution import RunOptions
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.errors import BadInput, RunTooLong
from flowsim.explore.assumptions import left_out
from flowsim.explore.checked_run import CheckedRun, check_run
from flowsim.explore.claim import Claim, Claims
from flowsim.explore.explored_job import ExploredJob, silenced
from flowsim.explore.observed_graph import observed_digest
from flowsim.explore.unit import NO_CLAIMS
from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import StreamGraph
from flowsim.limits import limits_of
from flowsim.play.game import Game
from flowsim.play.puzzle import Puzzle
from flowsim.pyflink.built_job import job_of_program
from flowsim.pyflink.program import surroundings
from flowsim.pyflink.program_executor import directory_of_job
from flowsim.recording.manifest import RunDescription
from flowsim.scenario.compiled import CompiledScenario
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.context import load_function
from flowsim.scenario.loader import Scenario, load_scenario, load_text
from flowsim.scenario.program_settings import ProgramSettings
from flowsim.scenario.run_description import describe_run
from flowsim.scenario.runner import resolved_settings
from flowsim.scenario.yaml.positions import YamlValue
from flowsim.sim.choice_token import ChoiceToken
from flowsim.sim.exploring_loop import Space
from flowsim.sim.policy import SchedulingPolicy
from flowsim.sim.sampled.by_strategy import replay
from flowsim.testing import Schedule, run_job


class Subject(Protocol):
    """A job that is explored in one space."""

    job: ExploredJob
    claims: Claims

    @property
    def left_out(self) -> Sequence[str]:
        """What the order space leaves out; nothing in the runtime space, which proves nothing."""

    @property
    def expected_verdicts(self) -> Mapping[str, str]:
        """The verdict of each law that the scenario names."""

    @property
    def has_faults(self) -> bool:
        """True if a fault is switched on."""

    def judge(self, token: ChoiceToken) -> CheckedRun:
        """Repeats a run with a recording and checks it. Raises BadInput for a token that does not fit."""

    def check(self, token: ChoiceToken) -> list[str]:
        """Repeats a run; returns what it violated or did not meet. Raises BadInput for a token that does not fit."""

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        """Returns what the user enters to repeat a run, to check it as the exploration did, or to end it at its bounds."""

    @property
    def repeated_in(self) -> Path | None:
        """Where the repeated run is recorded; None if it is not."""

    def explain(self, token: ChoiceToken) -> str | None:
        """Returns what the user enters to see the choices of a run as sentences; None if there is no such command."""

    def explained(self, token: ChoiceToken) -> Mapping[str, Any] | None:
        """Returns what that command prints, as ``Game.explained`` has it; None if there is no such command."""


def with_claims(subject: Subject, token: ChoiceToken) -> CheckedRun:
    """Repeats a run and checks it, as ``judge``, and the claims of the user with it."""
    checked = subject.judge(token)
    return replace(checked, claims=subject.claims.broken(subject.job.run(replay(token)))) if subject.claims else checked


class ScenarioSubject:
    """A scenario; ``again`` is the command that runs it, at most for ``until_ns``. Raises BadInput for one with phases."""

    def __init__(
        self,
        compiled: CompiledScenario,
        again: Sequence[str],
        record: str,
        until_ns: int | None = None,
        space: Space = "order",
        claims: Claims = NO_CLAIMS,
    ) -> None:
        if compiled.phases:
            name = compiled.scenario.model.name
            raise BadInput(f"scenario {name!r} has phases: only 'flowsim run' and 'replay' run them")
        options = replace(compiled.run_options(), clock="virtual")
        if until_ns is not None:
            options = replace(options, until_ns=until_ns)
        self.job = ExploredJob(compiled.stream_graph(), options, compiled.scenario.digest(), space)
        self._compiled = compiled
        self._again = again
        self._record = record
        self._until_ns = until_ns
        self.claims = claims

    @property
    def document(self) -> dict[str, YamlValue]:
        """The scenario with its overrides, as plain values, without what would vary."""
        value = self._compiled.scenario.document.value
        return {key: each for key, each in value.items() if key != "vary"} if isinstance(value, dict) else {}

    @property
    def left_out(self) -> Sequence[str]:
        if self.job.space == "runtime":
            return ()
        return left_out(self._compiled.stream_graph(), self._compiled.failures, self._compiled.actions)

    @property
    def expected_verdicts(self) -> Mapping[str, str]:
        return self._compiled.expect.laws

    @property
    def has_faults(self) -> bool:
        return bool(self._compiled.faults)

    def judge(self, token: ChoiceToken) -> CheckedRun:
        level = Level[self._record.upper()]
        return check_run(self._compiled, token, record=level, until_ns=self._until_ns, bounds=self.job.bounds)

    def check(self, token: ChoiceToken) -> list[str]:
        return with_claims(self, token).found

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        checks = ["--record", self._record, "--validate", "--engine", "python"] if is_checked else []
        checks += ["--limit", f"steps={self.job.bounds.steps}"] if is_bounded else []
        return shlex.join([*self._again, "--token", str(token), *checks])

    @property
    def repeated_in(self) -> Path:
        return default_out(Path(self._again[2]))

    def explain(self, token: ChoiceToken) -> str | None:
        if not token.asks_for_choices:
            return None
        return shlex.join(["flowsim", "explain", *self._again[2:], "--token", str(token)])

    def explained(self, token: ChoiceToken) -> Mapping[str, Any]:
        with TemporaryDirectory(prefix="flowsim-explain-") as folder:
            return self.game(self._compiled.scenario.model.name, Path(folder)).explained(token)

    def game(self, name: str, folder: Path, puzzle: Puzzle | None = None) -> Game:
        """Returns a game of the job, which writes recordings to ``folder``."""
        return Game(self, name, folder, self._described, puzzle)

    def _described(self, policy: SchedulingPolicy) -> RunDescription:
        settings = resolved_settings(self._compiled.run, clock="virtual", record=Level.FULL)
        return describe_run(self._compiled, settings, policy, None, None, ())


class ProgramSubject:
    """A job that a Python function builds: ``name`` is ``module:function``."""

    expected_verdicts: Mapping[str, str] = {}
    has_faults = False

    def __init__(
        self,
        job: StreamExecutionEnvironment | StreamGraph,
        name: str,
        record: str,
        space: Space = "order",
        claims: Claims = NO_CLAIMS,
    ) -> None:
        graph = job if isinstance(job, StreamGraph) else job.stream_graph()
        self.job = ExploredJob(graph, RunOptions(), observed_digest(graph), space)
        self._graph = graph
        self._name = name
        self._level = Level[record.upper()]
        self.claims = claims

    @property
    def left_out(self) -> Sequence[str]:
        return () if self.job.space == "runtime" else left_out(self._graph)

    def judge(self, token: ChoiceToken) -> CheckedRun:
        with silenced():
            run = run_job(self._graph, schedule=Schedule.of(str(token)), level=self._level, bounds=self.job.bounds)
        status, error = run.result.status, run.result.error
        failed = "" if error is None or isinstance(error, RunTooLong) else f"the job {status.value}: {error}"
        return CheckedRun(status, error, run.outcomes, failed=failed)

    def check(self, token: ChoiceToken) -> list[str]:
        return with_claims(self, token).found

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        call = "assert_laws" if is_checked else "run_job"
        return f"{call}({self._name.partition(':')[2]}(), schedule=Schedule.of({str(token)!r}))  # flowsim.testing"

    @property
    def repeated_in(self) -> Path | None:
        return None

    def explain(self, token: ChoiceToken) -> str | None:
        return None

    def explained(self, token: ChoiceToken) -> None:
        return None


class PyFlinkSubject(ProgramSubject):
    """The first job of a program for PyFlink; ``name`` is the program, ``options`` and ``arguments`` those of its command."""

    def __init__(
        self,
        graph: StreamGraph,
        name: str,
        record: str,
        space: Space,
        claims: Claims,
        options: Sequence[str] = (),
        arguments: Sequence[str] = (),
    ) -> None:
        super().__init__(graph, name, record, space, claims)
        self._options = options
        self._arguments = arguments

    def repeat(self, token: ChoiceToken, *, is_checked: bool = False, is_bounded: bool = False) -> str:
        checks = ["--validate"] if is_checked else []
        return shlex.join(
            ["flowsim", "pyflink", "--token", str(token), *checks, *self._options, self._name, *self._arguments]
        )

    @property
    def repeated_in(self) -> Path:
        return directory_of_job(default_out(Path(self._name)), 1)


@dataclass(frozen=True, slots=True)
class JobArguments:
    """What the user entered to name a job: it creates the same job in every process."""

    scenario: str
    record: str
    until: str | None = None
    overrides: Sequence[str] = ()
    limits: Sequence[str] = ()
    allow_python: bool = False
    allow_path: bool = False
    claims: Sequence[str] = ()
    """Names of functions of the rows, as ``module:function``."""
    arguments: Sequence[str] = ()
    """Those of a program for PyFlink."""
    topics: Sequence[str] = ()
    """Files of its topics: NAME=FILE."""

    def subjects(self, spaces: Sequence[Space], out: str, *, warns: bool = False) -> dict[Space, Subject]:
        """Returns the job in each space; ``out``: a folder for what its sinks would write. Raises BadInput."""
        until_ns = duration_argument("--until", self.until)
        claims = Claims(self.loaded_claims())
        if is_program(self.scenario):
            graph = self._job_of_program(Path(out) / "files")
            options = [*self._set_options, *(word for topic in self.topics for word in ("--topic", topic))]
            return {
                space: PyFlinkSubject(graph, self.scenario, self.record, space, claims, options, self.arguments)
                for space in spaces
            }
        if self.arguments or self.topics:
            raise BadInput(f"{self.scenario}: arguments and --topic apply to a program for PyFlink (PROGRAM.py) only")
        env = environment_of(self.scenario, self.overrides, self.limits, allow_python=self.allow_python)
        if env is not None:
            if self.until is not None:
                raise BadInput(f"{self.scenario}: --until applies to scenarios only")
            return {space: ProgramSubject(env, self.scenario, self.record, space, claims) for space in spaces}
        compiled = compiled_scenario(
            Path(self.scenario), Path(out), list(self.overrides), self.allow_python, self.allow_path, list(self.limits), until_ns
        )  # fmt: skip
        if warns:
            write_warnings(compiled)
        return {space: self._subject(compiled, space, until_ns, claims) for space in spaces}

    def loaded_scenario(self) -> Scenario | None:
        """Returns the scenario; None for a job of a program. Raises BadInput."""
        if is_program(self.scenario) or is_function(self.scenario) or self.arguments or self.topics:
            return None
        return load_scenario(self.scenario, self.overrides, limits_of(self.limits))

    def surroundings(self) -> AbstractContextManager[None]:
        """Lets functions of a program import what the program can import, while its job is explored."""
        return surroundings(Path(self.scenario), self.arguments) if is_program(self.scenario) else nullcontext()

    def _job_of_program(self, files: Path) -> StreamGraph:
        for name, given in (("--limit", self.limits), ("--until", self.until)):
            if given:
                raise BadInput(f"{self.scenario}: {name} applies to scenarios only")
        if not self.allow_python:
            raise BadInput(f"{self.scenario}: runs a Python program: use --allow-python if you trust it")
        change = ProgramSettings(self.overrides).apply
        return job_of_program(Path(self.scenario), self.arguments, topics_of(self.topics), files, change)

    def subject_of(self, text: str, space: Space, out: str) -> ScenarioSubject:
        """Returns the job of a scenario that would be in the file, without overrides. Raises BadInput."""
        until_ns = duration_argument("--until", self.until)
        scenario = load_text(text, self.scenario, Path(self.scenario).resolve().parent, (), limits_of(self.limits))
        compiled = compile_scenario(
            scenario, out_dir=Path(out), allow_python=self.allow_python, allow_path=self.allow_path, until_ns=until_ns
        )
        return self._subject(compiled, space, until_ns, Claims(self.loaded_claims()))

    def _subject(
        self, compiled: CompiledScenario, space: Space, until_ns: int | None, claims: Claims
    ) -> ScenarioSubject:
        until = [] if self.until is None else ["--until", self.until]
        again = ["flowsim", "run", self.scenario, *until, *self._options]
        return ScenarioSubject(compiled, again, self.record, until_ns, space, claims)

    def with_set(self, overrides: Sequence[str]) -> JobArguments:
        """Returns the same job with further overrides."""
        return replace(self, overrides=(*self.overrides, *overrides))

    def loaded_claims(self) -> list[Claim]:
        """Returns the functions. Raises BadInput."""
        return [Claim(each, load_function(each, Path.cwd(), allow_python=self.allow_python)) for each in self.claims]

    @property
    def _set_options(self) -> list[str]:
        return [word for override in self.overrides for word in ("--set", override)]

    @property
    def _options(self) -> list[str]:
        """The options of a command that decide the job."""
        options = self._set_options
        options += [word for limit in self.limits for word in ("--limit", limit)]
        return options + ["--allow-python"] * self.allow_python + ["--allow-path"] * self.allow_path
