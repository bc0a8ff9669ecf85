"""Runs jobs with recordings; a recording is readable however the run ends."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Final

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunInterrupted, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.errors import BadInput, InvariantViolation, JobFailed, ValueNotAllowed
from flowsim.facts.kinds import Level
from flowsim.facts.recorder import VALUES_BYTES
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.job_settings import JobSettings
from flowsim.graph.plan_size import check_plan_size
from flowsim.graph.stream_graph import StreamGraph
from flowsim.recording.manifest import FailureReport, Manifest, RecordedReason, RunDescription, RunStatus, SinkRows
from flowsim.recording.writer import RecordingWriter
from flowsim.sim.exploring_loop import ExploringPolicy
from flowsim.sim.signal_handler import interrupts_of_run
from flowsim.values.record_text import value_text

RUN_STATUS = {
    JobStatus.FINISHED: RunStatus.COMPLETE,
    JobStatus.FAILED: RunStatus.FAILED,
    JobStatus.STOPPED: RunStatus.STOPPED,
    JobStatus.CANCELED: RunStatus.CANCELED,
    JobStatus.DEADLOCKED: RunStatus.FAILED,
}
"""How the recording of a run ends."""

_ADDRESS: Final = re.compile(r" at 0x[0-9a-fA-F]+")
_RECORDED_REASONS: Final = 10_000
_MOST_CHARACTERS: Final = 500
RECORDED_ROWS: Final = 5
"""Of each sink that keeps its rows in memory."""
_INTERRUPTED = FailureReport(task="", operator=None, record=None, cause="interrupted")
"""Marks a run that Ctrl-C ended, in contrast to a job that was cancelled at a known time."""


def run_and_close(
    graph: StreamGraph,
    options: RunOptions,
    writer: RecordingWriter | None,
    wall: dict[str, object] | None = None,
    collected: Mapping[str, CollectSink] | None = None,
) -> tuple[MiniCluster, JobExecutionResult, Manifest | None]:
    """Runs a job and closes its recording; the result reports a failed job.

    ``writer`` None: nothing is recorded. ``wall`` is stored beside the recording; the manifest gets the first rows of the
    sinks ``collected``, by name; no digest covers either. Raises BadInput, InvariantViolation or MemoryError after the
    recording was closed, and so KeyboardInterrupt if a further interrupt broke off the end of the run; after the first one,
    the result is that of an interrupted job.
    """
    with interrupts_of_run() as interrupts:
        try:
            cluster = MiniCluster(graph, options)
            result = cluster.run()
            if isinstance(options.policy, ExploringPolicy):
                options.policy.source.check_end()
            interrupts.end()
        except RunInterrupted as interrupted:
            result = interrupted.result
        except KeyboardInterrupt:
            if writer is not None:
                writer.finish(RunStatus.CANCELED, _INTERRUPTED, wall)
            raise
        except (BadInput, InvariantViolation, MemoryError) as error:
            interrupts.end()
            if writer is not None:
                cause = _without_addresses(f"{type(error).__name__}: {error}")
                writer.finish(RunStatus.FAILED, FailureReport(task="", operator=None, record=None, cause=cause), wall)
            raise
        failure = _INTERRUPTED if result.is_interrupted else failure_report(result)
        manifest = (
            None
            if writer is None
            else writer.finish(
                RUN_STATUS[result.status], failure, wall, recorded_reasons(result), rows_of(collected or {})
            )
        )
    return cluster, result, manifest


def execute_recorded(
    graph: StreamGraph,
    options: RunOptions,
    directory: str | Path,
    level: Level,
    record_values_bytes: int = VALUES_BYTES,
    record_state: bool = False,
) -> JobExecutionResult:
    """Runs a job to its end and writes its recording to ``directory``; raises JobFailed or Deadlock.

    Replaces an old recording in ``directory``. If the job cannot be deployed, raises an error and keeps the old
    recording.
    """
    result, _ = run_recorded(graph, options, directory, level, record_values_bytes, record_state)
    if result.error is not None:
        raise result.error
    return result


def run_recorded(
    graph: StreamGraph,
    options: RunOptions,
    directory: str | Path,
    level: Level,
    record_values_bytes: int = VALUES_BYTES,
    record_state: bool = False,
    described: Mapping[str, object] | None = None,
) -> tuple[JobExecutionResult, Manifest | None]:
    """Does the same as ``execute_recorded``; the result reports a failed job. Also returns the manifest.

    ``described``: further options in the description of the run.
    """
    graph.check_run(options.clock)
    check_plan_size(create_job_graph(graph), options.limits)
    run = replace(run_description(graph.settings, options), options=dict(described or {}))
    with interrupts_of_run():
        writer = RecordingWriter(directory, level, run, values_bytes=record_values_bytes, records_state=record_state)
        _, result, manifest = run_and_close(graph, replace(options, recorder=writer), writer)
    if result.is_interrupted:
        raise RunInterrupted(result)
    return result, manifest


def run_description(settings: JobSettings, options: RunOptions) -> RunDescription:
    """Describes a run of a job that was built in Python; a seed, a policy and a clock determine the schedule."""
    policy = options.policy if isinstance(options.policy, str) else options.policy.name
    recorded = json.loads(json.dumps(asdict(settings)))
    return RunDescription(settings=recorded, seed=options.seed, policy=policy, clock=options.clock)


def rows_of(collected: Mapping[str, CollectSink]) -> dict[str, SinkRows]:
    """Returns the manifest's entries for sinks that keep their rows in memory."""
    return {
        name: SinkRows(sink.count(), tuple(map(_row_text, sink.first(RECORDED_ROWS))))
        for name, sink in collected.items()
    }


def _row_text(value: object) -> str:
    """With object reuse nothing has checked that it is the value of a record."""
    try:
        text = value_text(value)
    except ValueNotAllowed:
        return f"a {type(value).__name__}, which is no value of a record"
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]} ..."


def failure_report(result: JobExecutionResult) -> FailureReport | None:
    """Returns the manifest's entry for a job that failed or deadlocked; otherwise None."""
    error = result.error
    if error is None:
        return None
    if isinstance(error, JobFailed):
        cause = _without_addresses(f"{type(error.cause).__name__}: {error.cause}")
        record = None if error.record is None else _without_addresses(error.record)
        return FailureReport(task=error.task, operator=error.operator, record=record, cause=cause)
    cause = _without_addresses(f"{type(error).__name__}: {error}")
    return FailureReport(task="", operator=None, record=None, cause=cause)


def recorded_reasons(result: JobExecutionResult) -> list[RecordedReason]:
    """Returns the manifest's entries for the failures of a run, without the oldest of too many."""
    return [
        RecordedReason(
            failure=number,
            task=each.task or "",
            operator=each.operator,
            record=None if each.record is None else _without_addresses(each.record),
            cause=_without_addresses(each.error)[:_MOST_CHARACTERS],
        )
        for number, each in list(enumerate(result.failures))[-_RECORDED_REASONS:]
    ]


def _without_addresses(text: str) -> str:
    """Removes object addresses from a text of the digest: addresses differ between processes."""
    return _ADDRESS.sub("", text)
