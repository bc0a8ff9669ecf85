"""What runs the jobs that a program builds. Flink: PipelineExecutor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from flowsim.facts.kinds import Level
from flowsim.graph.stream_graph import StreamGraph

if TYPE_CHECKING:
    from flowsim.cluster.job_execution import JobExecutionResult, RunOptions


class RecordingSettings(NamedTuple):
    """Where a run is recorded, and how much."""

    directory: str | Path
    level: Level
    values_bytes: int
    records_state: bool


class JobExecutor(Protocol):
    """Runs a job to its end; raises JobFailed, Deadlock or BadInput."""

    def execute(
        self, graph: StreamGraph, options: RunOptions, recording: RecordingSettings | None
    ) -> JobExecutionResult: ...


class LocalExecutor:
    """Runs every job as its environment says. Flink: LocalExecutor."""

    def execute(
        self, graph: StreamGraph, options: RunOptions, recording: RecordingSettings | None
    ) -> JobExecutionResult:
        from flowsim.cluster.mini_cluster import execute
        from flowsim.cluster.recorded_run import execute_recorded

        return execute(graph, options) if recording is None else execute_recorded(graph, options, *recording)


_CONTEXT: Final[ContextVar[JobExecutor]] = ContextVar("job executor", default=LocalExecutor())  # noqa: B039


def executor_of_context() -> JobExecutor:
    """Returns what runs the jobs of environments that are created now."""
    return _CONTEXT.get()


@contextmanager
def context_executor(executor: JobExecutor) -> Iterator[None]:
    """Lets ``executor`` run the jobs of environments that are created meanwhile. Flink: StreamContextEnvironment."""
    token = _CONTEXT.set(executor)
    try:
        yield
    finally:
        _CONTEXT.reset(token)
