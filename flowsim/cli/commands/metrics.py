"""``flowsim metrics``: the sampled gauges of a recording, as a table or for Prometheus."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.commands.trace import From, RecordingPath, Tasks, To
from flowsim.cli.options import Json, Limit
from flowsim.cli.tables import Column, show_table
from flowsim.export.openmetrics import open_metrics
from flowsim.export.samples import Sample, read_samples
from flowsim.limits import limits_of
from flowsim.recording.merged_facts import Selection
from flowsim.recording.reader import Recording
from flowsim.trace.names import Names
from flowsim.trace.time import event_time, moment_ns, moment_text, start_of
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

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
        tasks=None if task is None else frozenset(found for each in task for found in names.find_tasks(each)),
        from_ns=None if from_ns is None else start_ns + from_ns,
        to_ns=None if to_ns is None else start_ns + to_ns,
    )
    samples = read_samples(opened, selection)
    document = {"samples": [_sample_data(names, sample, start_ns) for sample in samples], "exit_code": 0}

    def show(console: Console) -> None:
        if form == "openmetrics":
            sys.stdout.writelines(open_metrics(opened, samples))
            return
        if not samples:
            console.print("the recording has no samples of these tasks in this time range")
            return
        rows = [(moment_text(one.time_ns - start_ns), names.task(one.task), *_cells(one)) for one in samples]
        show_table(console, ["time", "task"], tuple(_COLUMNS.values()), rows)

    return Answer(document, show)


def _sample_data(names: Names, sample: Sample, start_ns: int) -> dict[str, Any]:
    return {
        "at_ns": sample.time_ns - start_ns,
        "task_name": names.task(sample.task),
        **sample.values,
        "late_records_dropped": _late(sample),
    }


def _late(sample: Sample) -> int | None:
    """Returns the sum over the window operators of the task; None without any."""
    return sum(sample.late_records_dropped.values()) if sample.late_records_dropped else None


def _cells(sample: Sample) -> Iterator[str]:
    for column in _COLUMNS:
        value = _late(sample) if column == "late_records_dropped" else sample.values[column]
        if value is None or (column == "busy_ms" and value < 0):
            yield "-"
        elif column.endswith("_usage"):
            yield f"{value / 1e4:.1f}%"
        elif column.endswith("_watermark"):
            yield {NO_TIMESTAMP: "-", MAX_WATERMARK: "end"}.get(value) or event_time(value)
        else:
            yield f"{value:,}"
