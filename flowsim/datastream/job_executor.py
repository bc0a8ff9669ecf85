"""What runs the jobs that a program builds. Flink: PipelineExecutor."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from flowsim.facts.kinds import Level
from flowsim.graph.job_settings import JobSettings
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


class ConfiguredJob(Protocol):
    """A job that is being built."""

    settings: JobSettings

    def configure(self, configuration: None = None, **settings: object) -> object: ...


ChangeSettings = Callable[[ConfiguredJob], None]
"""Changes the settings of a job that a program builds, as its user wants."""


def keep_settings(job: ConfiguredJob) -> None:
    """Changes nothing."""


_CONTEXT: Final[ContextVar[JobExecutor]] = ContextVar("job executor", default=LocalExecutor())  # noqa: B039
_CHANGE: Final[ContextVar[ChangeSettings]] = ContextVar("change of settings", default=keep_settings)


def executor_of_context() -> JobExecutor:
    """Returns what runs the jobs of environments that are created now."""
    return _CONTEXT.get()


def change_of_context() -> ChangeSettings:
    """Returns what changes the settings of environments that are created now."""
    return _CHANGE.get()


@contextmanager
def context_executor(executor: JobExecutor, change: ChangeSettings = keep_settings) -> Iterator[None]:
    """Lets ``executor`` run the jobs of environments that are created meanwhile. Flink: StreamContextEnvironment.

    ``change`` changes their settings each time before they are read.
    """
    token, token_of_change = _CONTEXT.set(executor), _CHANGE.set(change)
    try:
        yield
    finally:
        _CONTEXT.reset(token)
        _CHANGE.reset(token_of_change)
