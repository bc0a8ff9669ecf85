"""Shows the result of a run: its tasks, sinks, expectations, and output paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from flowsim.cli.command import error_data
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.recovery import recovery_data, show_recovery
from flowsim.cli.tables import Column, show_table, show_text
from flowsim.cluster.job_execution import JobStatus, TaskSummary
from flowsim.history.run_span import start_of
from flowsim.quantities import count_text, duration_text
from flowsim.recording.reader import Recording
from flowsim.scenario.runner import ScenarioRun, SinkOutcome
from flowsim.studies.task_waits import TaskWaits, task_waits
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

_COLLECTED_ROWS_SHOWN = 20
_COLLECTED_CHARS_SHOWN = 500
_WAITS_SHOWN = 20
_WAIT_SHOWN_FROM = 0.01
_MILLION = 1_000_000
_TIMES = (
    Column("state", rank=2, dull=frozenset({"finished"}), left=True),
    Column("in"),
    Column("out"),
    Column("busy"),
    Column("idle"),
    Column("soft"),
    Column("hard"),
    Column("pressure", rank=3, dull=frozenset({"OK"})),
    Column("watermark", rank=1),
)
_NETWORK = (
    Column("input queue"),
    Column("output queue"),
    Column("input pool"),
    Column("output pool"),
    Column("out of credit"),
)


def run_waits(run: ScenarioRun) -> TaskWaits | None:
    """Returns the waits of the run's tasks; None without a recording."""
    if run.recording is None or not run.result.tasks:
        return None
    recording = Recording.open(run.recording)
    return task_waits(recording, run.result.tasks, start_of(recording) + run.result.elapsed_ns)


def run_data(run: ScenarioRun, waits: TaskWaits | None) -> dict[str, Any]:
    """Returns a run as JSON values."""
    result, settings = run.result, run.settings
    return {
        "scenario": run.compiled.scenario.model.name,
        "status": result.status.value,
        "seed": settings.seed,
        "policy": settings.policy,
        "clock": settings.clock,
        "record": settings.record.name.lower(),
        "record_values": _values_data(run),
        "elapsed_ns": result.elapsed_ns,
        "records_read": result.records_read,
        "digest": run.digest,
        "recording": None if run.recording is None else str(run.recording),
        "tasks": [
            {**task_data(task), "waits": None if waits is None else [asdict(wait) for wait in waits.waits[number]]}
            for number, task in enumerate(result.tasks)
        ],
        "async_queues": None if waits is None else [asdict(queue) for queue in waits.queues],
        "latencies": [asdict(latency) for latency in result.latencies],
        "missing_timestamps": [asdict(one) for one in result.missing_timestamps],
        **recovery_data(result),
        "sinks": [_sink_data(run, sink) for sink in run.sinks],
        "expectations": [
            {"what": e.what, "expected": e.expected, "found": e.found, "met": e.met, "reason": e.reason}
            for e in run.expectations
        ],
        "warnings": list(run.compiled.warnings),
        "error": None if result.error is None else error_data(result.error),
        "waiting": result.report,
    }


def task_data(task: TaskSummary) -> dict[str, Any]:
    """Returns the counts, shares of time, watermark, queue peaks and last metrics of a task.

    The watermark is null before the first one; ``busy`` is null for a legacy source (rule 13.1).
    """
    busy, idle, soft, hard = shares(task)
    return {
        "name": task.name,
        "state": task.state,
        "records_in": task.records_in,
        "records_out": task.records_out,
        "busy": busy,
        "idle": idle,
        "soft_backpressured": soft,
        "hard_backpressured": hard,
        "backpressured": round(task.back_pressured_share, 4),
        "backpressure_level": task.back_pressure_level,
        "watermark": None if task.watermark == NO_TIMESTAMP else task.watermark,
        "input_queue_peak": task.input_queue_peak,
        "output_queue_peak": task.output_queue_peak,
        "input_pool_usage_peak": _share(task.input_pool_usage_peak),
        "output_pool_usage_peak": _share(task.output_pool_usage_peak),
        "times_out_of_credit": task.times_out_of_credit,
        "last_sample": None if task.last_sample is None else task.last_sample._asdict(),
    }


def shares(task: TaskSummary) -> tuple[float | None, float, float, float]:
    """Returns busy (None if not measured), idle, soft and hard back-pressured time as shares of the task's time."""
    times = (task.busy_ns, task.idle_ns, task.soft_backpressured_ns, task.hard_backpressured_ns)
    total = sum(times)
    busy, idle, soft, hard = (round(ns / total, 4) if total else 0.0 for ns in times)
    is_measured = task.last_sample is None or task.last_sample.busy_ms >= 0
    return busy if is_measured else None, idle, soft, hard


def exit_code(done: ScenarioRun, unexpected: list[str]) -> ExitCode:
    """Returns the exit code of a run. An unexpected failure of the job has priority over unmet expectations."""
    job = next(outcome for outcome in done.expectations if outcome.what == "job")
    if job.met is False and done.result.status in (JobStatus.FAILED, JobStatus.DEADLOCKED):
        return ExitCode.JOB_FAILED
    if unexpected or any(outcome.met is False for outcome in done.expectations):
        return ExitCode.BROKEN
    return ExitCode.FINE


def show_run(console: Console, run: ScenarioRun, waits: TaskWaits | None) -> None:
    """Shows the results of each task."""
    result, settings = run.result, run.settings
    schedule = "" if settings.clock == "real" else f", policy {settings.policy}"
    show_text(
        console,
        f"{run.compiled.scenario.model.name}: {result.status.value} after {duration_text(result.elapsed_ns)} "
        f"on the {settings.clock} clock, {count_text(result.records_read, 'record')} read (seed {settings.seed}{schedule})",
    )
    if result.error is not None:
        console.print(str(result.error), style="bold red", soft_wrap=True)
    elif result.report:
        console.print(result.report, soft_wrap=True)
    _show_times(console, result.tasks)
    if len(result.tasks) > 1:
        _show_network(console, result.tasks)
    console.print()
    if waits is not None:
        _show_waits(console, result.tasks, waits)
    elif result.tasks:
        console.print("waits     unknown: the run was not recorded (use --record elements)")
    for latency in result.latencies:
        show_text(
            console,
            f"latency   {latency.source} -> {latency.operator}: {count_text(latency.markers, 'marker')}, "
            f"min {latency.min_ms:,} ms, mean {latency.mean_ms:,} ms, max {latency.max_ms:,} ms",
        )
    for missing in result.missing_timestamps:
        where = "dropped" if missing.output is None else f"sent to its output {missing.output}"
        show_text(
            console,
            f"missing   {missing.operator}: {count_text(missing.records, 'record')} without a timestamp, {where}",
        )
    show_recovery(console, result)
    _show_sinks(console, run)
    met = sum(bool(outcome.met) for outcome in run.expectations) - _met_without_being_declared(run)
    if met:
        console.print(f"expected  {met} met")
    for outcome in run.expectations:
        if outcome.met is False:
            text = f"expected {outcome.what}: {outcome.expected}, found: {outcome.found}"
            console.print(text, style="bold red", soft_wrap=True)
        elif outcome.met is None:
            text = f"not checked: {outcome.what}: {outcome.expected}: {outcome.reason}"
            console.print(text, style="yellow", soft_wrap=True)
    if run.recording is not None:
        sampled = _sampled_values(run)
        console.print(f"recording {run.recording} ({settings.record.name.lower()}{sampled})", soft_wrap=True)
    if run.digest is not None:
        console.print(f"digest    {run.digest}", soft_wrap=True)


def _values_data(run: ScenarioRun) -> dict[str, object] | None:
    values = None if run.manifest is None else run.manifest.record_values
    return None if values is None else asdict(values)


def _sampled_values(run: ScenarioRun) -> str:
    """Describes the record values that were not recorded; '' if all were recorded."""
    values = None if run.manifest is None else run.manifest.record_values
    if values is None or run.settings.record_values_bytes == 0 or values.is_complete:
        return ""
    return f"; values of {values.stored:,} of about {count_text(values.distinct, 'distinct record')}"


def _met_without_being_declared(run: ScenarioRun) -> int:
    """Counts the met expectations that the scenario does not declare, such as the default status of a run."""
    if run.compiled.scenario.model.expect.declares_job:
        return 0
    return sum(outcome.what == "job" and bool(outcome.met) for outcome in run.expectations)


def _show_waits(console: Console, tasks: Sequence[TaskSummary], waits: TaskWaits) -> None:
    """Shows the usage of async queues, and the reasons for which each task waited."""
    for queue in waits.queues:
        show_text(
            console,
            f"async     {queue.operator} in {queue.task}: at most {queue.peak:,} of {count_text(queue.capacity, 'element')}, "
            f"{queue.mean:,.1f} on average, full {queue.full_share:.1%} of the time",
        )
    lines = []
    for task, parts in zip(tasks, waits.waits, strict=True):
        shown = [f"{wait.reason} {wait.share:.1%}" for wait in parts if wait.share >= _WAIT_SHOWN_FROM]
        if shown:
            lines.append(f"waits     {task.name}: {', '.join(shown)}")
    for line in lines[:_WAITS_SHOWN]:
        show_text(console, line)
    if len(lines) > _WAITS_SHOWN:
        console.print(f"          ... and {count_text(len(lines) - _WAITS_SHOWN, 'more task')} (--json has them)")


def _show_times(console: Console, tasks: Sequence[TaskSummary]) -> None:
    """Shows the work of each task, and its time by state."""
    rows = [
        (
            task.name,
            task.state.lower(),
            f"{task.records_in:,}",
            f"{task.records_out:,}",
            *("-" if share is None else f"{share:.1%}" for share in shares(task)),
            task.back_pressure_level,
            _watermark(task.watermark),
        )
        for task in tasks
    ]
    console.print()
    show_table(console, ["task"], _TIMES, rows)
    show_text(
        console,
        "in, out: records received and sent over the network; soft, hard: share of time back-pressured "
        "between elements and inside an element; pressure: approximately the level in Flink's web UI",
        "dim",
    )


def _show_network(console: Console, tasks: Sequence[TaskSummary]) -> None:
    """Shows the peaks of each task's queues and pools."""
    rows = [
        (
            task.name,
            str(task.input_queue_peak),
            str(task.output_queue_peak),
            _usage(task.input_pool_usage_peak),
            _usage(task.output_pool_usage_peak),
            f"{task.times_out_of_credit:,}",
        )
        for task in tasks
    ]
    console.print()
    show_table(console, ["task"], _NETWORK, rows)
    show_text(
        console,
        "queues: peak number of buffers; pools: highest sampled usage, - without samples; out of credit: how "
        "often data waited only for credit",
        "dim",
    )


def _usage(millionths: int | None) -> str:
    share = _share(millionths)
    return "-" if share is None else f"{share:.0%}"


def _share(millionths: int | None) -> float | None:
    return None if millionths is None else millionths / _MILLION


def _show_sinks(console: Console, run: ScenarioRun) -> None:
    for sink in run.sinks:
        where = ""
        if sink.directory is not None:
            where = f" in {sink.directory}" if sink.is_kept else ", deleted: the job did not finish"
        console.print(f"sink      {sink.name}: {count_text(sink.rows, 'row')}{where}", soft_wrap=True)
        records = sink.records or ()
        for value, _ in records[:_COLLECTED_ROWS_SHOWN]:
            text = repr(value)
            shown = text if len(text) <= _COLLECTED_CHARS_SHOWN else f"{text[:_COLLECTED_CHARS_SHOWN]}..."
            console.print(f"          {shown}", soft_wrap=True)
        if len(records) > _COLLECTED_ROWS_SHOWN:
            console.print(f"          ... and {len(records) - _COLLECTED_ROWS_SHOWN:,} more")


def _sink_data(run: ScenarioRun, sink: SinkOutcome) -> dict[str, Any]:
    data: dict[str, Any] = {"name": sink.name, "kind": sink.kind, "rows": sink.rows}
    if sink.directory is not None:
        data["directory"] = str(sink.directory)
    if sink.records is not None:
        names = next(sink_model.schema.names for sink_model in run.compiled.sinks if sink_model.name == sink.name)
        data["records"] = [_record(names, value) for value, _ in sink.records]
    return data


def _record(names: tuple[str, ...], value: object) -> object:
    if isinstance(value, tuple) and len(value) == len(names):
        return dict(zip(names, value, strict=True))
    return value


def _watermark(watermark: int) -> str:
    if watermark == NO_TIMESTAMP:
        return "-"
    return "end" if watermark == MAX_WATERMARK else str(watermark)
