"""Shows the checkpoints, failures and restarts of a run."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rich.console import Console

from flowsim.cli.tables import show_text
from flowsim.cluster.job_execution import HandledFailure, JobExecutionResult
from flowsim.cluster.job_master.snapshot_requests import RequestedSnapshot
from flowsim.cluster.run_actions import StopWithSavepoint, TriggerSavepoint
from flowsim.errors import reason_text
from flowsim.quantities import count_text, duration_text
from flowsim.units import NS_PER_MS

_FAILURES_SHOWN = 20


def recovery_data(result: JobExecutionResult) -> dict[str, Any]:
    """Returns checkpoints, failures, restarts and attempts as JSON values; times in ns since the start of the job."""
    counts = result.checkpoints
    return {
        "checkpoints": None
        if counts is None
        else {"completed": counts.completed, "failed": counts.failed, "restored": counts.restored},
        "requested_snapshots": [
            {
                "what": _what(requested),
                "at_ns": requested.action.at_ns,
                "ended_ns": requested.ended_ns,
                "checkpoint": requested.checkpoint_id,
                "path": requested.path,
                "error": requested.error,
            }
            for requested in result.requested_snapshots
        ],
        "failures": [asdict(failure) for failure in result.failures],
        "restarts": result.restarts,
        "attempts": [asdict(attempt) for attempt in result.attempts],
    }


def show_recovery(console: Console, result: JobExecutionResult) -> None:
    """Shows the number of checkpoints, what actions requested, and each failure with what it restarted."""
    counts = result.checkpoints
    if counts is not None:
        show_text(
            console,
            f"checkpoints {counts.completed:,} completed, {counts.failed:,} failed, {counts.restored:,} restored",
        )
    for requested in result.requested_snapshots:
        _show_requested(console, requested)
    for failure in result.failures[:_FAILURES_SHOWN]:
        _show_failure(console, failure)
    if len(result.failures) > _FAILURES_SHOWN:
        console.print(
            f"          ... and {count_text(len(result.failures) - _FAILURES_SHOWN, 'more failure')} (--json has them)"
        )


def _show_requested(console: Console, one: RequestedSnapshot) -> None:
    heading = f"{_what(one)} requested at {duration_text(one.action.at_ns)}"
    if one.error is not None:
        show_text(console, f"{heading}: {one.error}", "yellow")
    elif one.checkpoint_id is not None:
        where = "" if one.path is None or one.path.startswith("memory:") else f" in {one.path}"
        show_text(console, f"{heading}: completed as number {one.checkpoint_id}{where}")
    else:
        show_text(console, f"{heading}: not completed before the end of the job", "yellow")


def _show_failure(console: Console, failure: HandledFailure) -> None:
    what = "the job" if failure.task is None else failure.task
    reason = reason_text(failure.operator, failure.record, failure.error)
    delay = duration_text(failure.restart_delay_ms * NS_PER_MS)
    if failure.restarted:
        after = f"restarted {count_text(len(failure.restarted), 'task')} after {delay}"
    elif failure.pending:
        after = f"the job ended before {count_text(len(failure.pending), 'task')} could restart, {delay} later"
    else:
        after = "no restart"
    show_text(console, f"failure   {duration_text(failure.time_ns)}: {what}: {reason}: {after}")


def _what(one: RequestedSnapshot) -> str:
    match one.action:
        case StopWithSavepoint():
            return "stop with savepoint"
        case TriggerSavepoint():
            return "savepoint"
        case _:
            return "checkpoint"
