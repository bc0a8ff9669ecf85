"""The job that a program builds, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import NoReturn

from flowsim.cluster.job_execution import RunOptions
from flowsim.connectors.kafka.topics import Topics
from flowsim.datastream.job_executor import ChangeSettings, RecordingSettings, keep_settings
from flowsim.errors import BadInput
from flowsim.graph.stream_graph import StreamGraph
from flowsim.pyflink.program import run_program


class _Built(BaseException):
    """Ends the program where it executes its first job; no ``except Exception`` of the program sees it."""

    def __init__(self, graph: StreamGraph) -> None:
        self.graph = graph


class _Building:
    def execute(self, graph: StreamGraph, options: RunOptions, recording: RecordingSettings | None) -> NoReturn:
        raise _Built(graph)


def job_of_program(
    program: Path, arguments: Sequence[str], topics: Topics, files: Path, change: ChangeSettings = keep_settings
) -> StreamGraph:
    """Runs a program up to its first ``execute`` and returns the job; what the program prints is dropped.

    Its Kafka sources read ``topics``, its file sinks write below ``files``, and ``change`` changes its settings.

    Raises BadInput and ProgramFailed as ``run_program``, and BadInput if the program executes no job.
    """
    try:
        with redirect_stdout(StringIO()):
            run_program(program, arguments, _Building(), topics, files, change)
    except _Built as built:
        return built.graph
    raise BadInput(f"{program}: the program executed no job")
