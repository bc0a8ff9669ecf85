"""Runs a program here: ``python -m flowsim.conform.programs.here SCHEDULE ANSWER FILES PROGRAM.py [ARGS]``.

Schedule 0: first in, first out; above 0: the random schedule of this seed. Each run has a process of its own, so none sees
the modules of another.
"""

from __future__ import annotations

import sys
from collections.abc import Hashable
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import execute
from flowsim.conform.programs.outcome import Outcome, error_text
from flowsim.conform.unsupported import Unsupported
from flowsim.connectors.kafka.topic_files import TopicRecord
from flowsim.connectors.kafka.topics import Topics
from flowsim.datastream import DataStream
from flowsim.datastream.job_executor import RecordingSettings
from flowsim.errors import BadInput, Deadlock, JobFailed, RunTooLong
from flowsim.graph.stream_graph import StreamGraph
from flowsim.pyflink.program import ProgramFailed, run_program
from flowsim.sim.policy import SeededRandomPolicy
from flowsim.sim.rng import RandomStreams


class _Scheduled:
    """Runs the jobs of a program with the schedule of a seed; nothing is recorded."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def execute(
        self, graph: StreamGraph, options: RunOptions, recording: RecordingSettings | None
    ) -> JobExecutionResult:
        if self._seed:
            # After every element the policy chooses again.
            options = replace(
                options, seed=self._seed, policy=SeededRandomPolicy(RandomStreams(self._seed)), budget_records=1
            )
        return execute(graph, options)


class _NoTopics(Topics):
    """Refuses every topic."""

    def topic(self, name: str) -> NoReturn:
        _refuse(name)

    def append(self, name: str, record: TopicRecord, sink: object, transaction: Hashable | None = None) -> NoReturn:
        _refuse(name)


def _refuse(topic: str) -> NoReturn:
    raise Unsupported(
        f"topic {topic!r}: the real PyFlink would need a broker of Kafka, whose topics are simulated here: "
        "compare the program with its records in a collection or in files"
    )


def main() -> None:
    """Runs the program and writes its outcome."""
    schedule, answer, files, program, *arguments = sys.argv[1:]
    outcome = Outcome()
    outcome.watch(DataStream)
    try:
        run_program(Path(program), arguments, _Scheduled(int(schedule)), _NoTopics(), Path(files))
    except ProgramFailed as failed:
        error = failed.__cause__
        if isinstance(error, SystemExit):
            outcome.exits(error.code)
        else:
            outcome.fails(error_text(error or failed))
    except JobFailed as failed:
        if isinstance(failed.cause, Unsupported):
            outcome.refused = str(failed.cause)
        else:
            outcome.fails(error_text(failed.cause))
    except (BadInput, Deadlock, RunTooLong) as error:
        outcome.refused = str(error)
    outcome.write(answer)


if __name__ == "__main__":
    main()
