"""``flowsim metrics``: the sampled gauges of a recording, as a table or for Prometheus."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.commands.trace import From, RecordingPath, Tasks, To
from flowsim.cli.options import Json, Limit
from flowsim.cli.tables import Column, show_table
from flowsim.export.job_samples import JobSample, read_job_samples
from flowsim.export.openmetrics import open_metrics
from flowsim.export.samples import Sample, read_samples
from flowsim.history.run_span import start_of
from flowsim.limits import limits_of
from flowsim.recording.merged_facts import Selection
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.time import event_time, moment_ns, moment_text
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP, NS_PER_MS

_COLUMNS = {
    "busy_ms": Column("busy"),
    "idle_ms": Column("idle"),
    "soft_ms": Column("soft"),
    "hard_ms": Column("hard"),
    "records_in": Column("records in"),
    "records_out": Column("records out"),
    "late_records_dropped": Column("late dropped", rank=1),
    "input_queue": Column("in queue", rank=1),
    "output_queue": Column("out queue", rank=1),
    "input_pool_usage": Column("in pool", rank=3),
    "output_pool_usage": Column("out pool", rank=3),
    "input_watermark": Column("watermark in", rank=2),
    "output_watermark": Column("watermark out", rank=4),
    "mailbox_size": Column("mails", rank=5),
    "buffer_size": Column("buffer size", rank=6),
}
"""The columns that the printed table shows; ``--json`` has all columns."""
_CHECKPOINT_COLUMNS = {
    "checkpoint_start_delay_ns": Column("start delay ms", rank=2),
    "checkpoint_alignment_ns": Column("alignment ms", rank=2),
}
"""Shown if the run has checkpoints."""
_JOB_COLUMNS = {
    "numberOfInProgressCheckpoints": Column("in progress"),
    "numberOfCompletedCheckpoints": Column("completed"),
    "numberOfFailedCheckpoints": Column("failed"),
    "lastCompletedCheckpointId": Column("last completed"),
    "lastCheckpointDuration": Column("duration ms", dull=frozenset()),
    "lastCheckpointSize": Column("bytes"),
    "lastCheckpointRestoreTimestamp": Column("last restore ms", rank=1),
    "numRestarts": Column("restarts", dull=frozenset()),
}

Format = Annotated[
    Literal["text", "openmetrics"],
    typer.Option("--format", help="A table, or OpenMetrics with the names of Flink's Prometheus reporter."),
]


@command
def metrics(
    recording: RecordingPath,
    task: Tasks = None,
    from_: From = None,
    to: To = None,
    form: Format = "text",
    limit: Limit = None,
    json_output: Json = False,
) -> Answer:
    """Show the sampled metrics of every task: times in ms per second, pools in percent.

    Samples are taken every metrics_interval of the scenario (5 s) and once more when a task ends.
    """
    opened = Recording.open(recording, limits=limits_of(limit or ()))
    names, start_ns = Names(opened), start_of(opened)
    from_ns, to_ns = moment_ns("--from", from_), moment_ns("--to", to)
    selection = Selection(
        tables=("metrics",),
        tasks=None if task is None else frozenset(number for each in task for number in names.find_tasks(each)),
        from_ns=None if from_ns is None else start_ns + from_ns,
        to_ns=None if to_ns is None else start_ns + to_ns,
    )
    samples = read_samples(opened, selection)
    # Metrics of the job belong to no task.
    of_job = [one for one in read_job_samples(opened) if _is_selected(one, selection)] if task is None else []
    document = {
        "samples": [_sample_data(names, sample, start_ns) for sample in samples],
        "job_samples": [{"at_ns": one.time_ns - start_ns, **one.values} for one in of_job],
        "exit_code": 0,
    }

    def show(console: Console) -> None:
        if form == "openmetrics":
            sys.stdout.writelines(open_metrics(opened, samples, of_job))
            return
        if samples:
            columns = _COLUMNS
            if any(one.checkpoint_alignment_ns is not None for one in samples):
                columns = _COLUMNS | _CHECKPOINT_COLUMNS
            rows = [
                (moment_text(one.time_ns - start_ns), names.task(one.task), *_cells(one, columns)) for one in samples
            ]
            show_table(console, ["time", "task"], tuple(columns.values()), rows)
        else:
            console.print("the recording has no samples of these tasks in this time range")
        if of_job:
            console.print()
            _show_job(console, of_job, start_ns)

    return Answer(document, show)


def _is_selected(sample: JobSample, selection: Selection) -> bool:
    from_ns, to_ns = selection.from_ns, selection.to_ns
    return (from_ns is None or from_ns <= sample.time_ns) and (to_ns is None or sample.time_ns < to_ns)


def _show_job(console: Console, samples: list[JobSample], start_ns: int) -> None:
    columns = {name: column for name, column in _JOB_COLUMNS.items() if name in samples[0].values}
    rows = [
        (moment_text(one.time_ns - start_ns), *(_job_cell(one.values[name]) for name in columns)) for one in samples
    ]
    show_table(console, ["time"], tuple(columns.values()), rows)


def _job_cell(value: int) -> str:
    return "-" if value < 0 else f"{value:,}"


def _sample_data(names: Names, sample: Sample, start_ns: int) -> dict[str, Any]:
    return {
        "at_ns": sample.time_ns - start_ns,
        "task_name": names.task(sample.task),
        **sample.values,
        "late_records_dropped": _late(sample),
        **{name: getattr(sample, name) for name in _CHECKPOINT_COLUMNS},
    }


def _late(sample: Sample) -> int | None:
    """Returns the sum over the window operators of the task; None without any."""
    return sum(sample.late_records_dropped.values()) if sample.late_records_dropped else None


def _cells(sample: Sample, columns: Iterable[str]) -> Iterator[str]:
    for column in columns:
        if column in _CHECKPOINT_COLUMNS:
            value = getattr(sample, column)
            yield "-" if value is None else f"{value / NS_PER_MS:,g}"
            continue
        value = _late(sample) if column == "late_records_dropped" else sample.values[column]
        if value is None or (column == "busy_ms" and value < 0):
            yield "-"
        elif column.endswith("_usage"):
            yield f"{value / 1e4:.1f}%"
        elif column.endswith("_watermark"):
            yield {NO_TIMESTAMP: "-", MAX_WATERMARK: "end"}.get(value) or event_time(value)
        else:
            yield f"{value:,}"
