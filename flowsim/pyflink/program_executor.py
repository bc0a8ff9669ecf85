"""Runs the jobs of a program with the options of its user, and keeps the result of each job."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import msgspec

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.recorded_run import run_recorded
from flowsim.datastream.job_executor import RecordingSettings
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES
from flowsim.graph.stream_graph import StreamGraph
from flowsim.pyflink.recorded_program import OPTION, RecordedProgram


@dataclass(frozen=True, slots=True)
class ProgramRun:
    """A job that a program executed; without a recording, there is no digest."""

    job_name: str
    result: JobExecutionResult
    recording: Path | None = None
    digest: str | None = None


def directory_of_job(out: Path, number: int) -> Path:
    """Returns the run directory of a job of a program, counted from 1."""
    return out / str(number)


@dataclass(slots=True)
class ProgramExecutor:
    """Runs every job of a program; None: what the program says, or the default.

    Job n is recorded in the run directory ``out/n``. Raises BadInput if a program sets a recording of its own as well.
    """

    seed: int | None = None
    policy: Literal["fifo", "random"] | None = None
    until_ns: int | None = None
    level: Level = Level.OFF
    out: Path | None = None
    program: Path | None = None
    """The program, which its recordings name."""
    arguments: Sequence[str] = ()
    topics: Sequence[str] = ()
    """What the user gave as topics, which the recordings name as well."""
    settings: Sequence[str] = ()
    """What the user set in place of the program, which the recordings name as well."""
    explored: Callable[[StreamGraph], RunOptions] | None = None
    """The options with which the first job repeats an explored run, in place of those of the program."""
    runs: list[ProgramRun] = field(default_factory=list)

    def execute(
        self, graph: StreamGraph, options: RunOptions, recording: RecordingSettings | None
    ) -> JobExecutionResult:
        """Runs a job to its end; raises JobFailed or Deadlock."""
        given = {"seed": self.seed, "policy": self.policy, "until_ns": self.until_ns}
        changed = replace(options, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]
        if self.explored is not None and not self.runs:
            changed = self.explored(graph)
        directory: Path | None = None
        if self.level is not Level.OFF and self.out is not None:
            if recording is not None or options.recorder is not None:
                raise BadInput("the program records its jobs itself: run it with --record off")
            directory = directory_of_job(self.out, len(self.runs) + 1)
            recording = RecordingSettings(directory / "recording", self.level, VALUES_BYTES, False)
        if recording is None:
            result, digest = MiniCluster(graph, changed).run(), None
        else:
            result, manifest = run_recorded(graph, changed, *recording, described=self._described(changed))
            digest = None if manifest is None else manifest.digest
        path = directory or (None if recording is None else Path(recording.directory))
        self.runs.append(ProgramRun(graph.name, result, path, digest))
        if result.error is not None:
            raise result.error
        return result

    def _described(self, options: RunOptions) -> dict[str, object]:
        """Returns what a recording needs besides the seed and the policy, so that ``replay`` can repeat the run."""
        described: dict[str, object] = {}
        if self.program is not None:
            job = len(self.runs) + 1
            recorded = RecordedProgram.of(self.program, self.arguments, self.topics, job, self.settings)
            described[OPTION] = msgspec.to_builtins(recorded)
        if not isinstance(options.policy, str):
            described["policy"] = options.policy.describe()
        if options.until_ns is not None:
            described["until_ns"] = options.until_ns
        return described
