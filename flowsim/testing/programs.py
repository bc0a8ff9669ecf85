"""Runs a program for PyFlink inside a test."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.connectors.kafka.topics import TopicFiles, Topics
from flowsim.datastream.job_executor import RecordingSettings
from flowsim.errors import Deadlock, JobFailed
from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import StreamGraph
from flowsim.pyflink import program as programs
from flowsim.testing.runs import JobRun, run_job
from flowsim.testing.schedule import FIFO, Schedule


class _InTest:
    def __init__(self, schedule: Schedule, level: Level, until_ms: int | None) -> None:
        self._schedule = schedule
        self._level = level
        self._until_ms = until_ms
        self.runs: list[JobRun] = []

    def execute(
        self, graph: StreamGraph, options: RunOptions, recording: RecordingSettings | None
    ) -> JobExecutionResult:
        schedule = self._schedule if not self.runs else FIFO
        run = run_job(graph, schedule=schedule, level=self._level, until_ms=self._until_ms)
        self.runs.append(run)
        if run.result.error is not None:
            raise run.result.error
        return run.result


def run_program(
    program: str | Path,
    *arguments: str,
    schedule: Schedule = FIFO,
    level: Level = Level.FULL,
    until_ms: int | None = None,
    topics: TopicFiles | None = None,
) -> list[JobRun]:
    """Runs a program that was written for PyFlink, as ``python PROGRAM.py ARGUMENTS``; returns the run of each of its jobs.

    The first job runs under the schedule, later ones under the default one. A job that fails or deadlocks ends the program;
    its run has the error. Raises BadInput for what flowsim does not do, with the line of the program, and ProgramFailed for
    any other error of the program. ``topics`` has the files with the records of its topics of Kafka, by name. What its sinks
    write is deleted at the end.
    """
    executor = _InTest(schedule, level, until_ms)
    with TemporaryDirectory(prefix="flowsim-files-") as files, suppress(JobFailed, Deadlock):
        programs.run_program(Path(program), arguments, executor, Topics(topics), Path(files))
    return executor.runs
