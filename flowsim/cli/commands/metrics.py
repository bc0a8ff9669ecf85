"""``flowsim metrics``: the sampled gauges of a recording as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Console

from flowsim.cli.command import Answer, command
from flowsim.cli.commands.trace import From, RecordingPath, Tasks, To
from flowsim.cli.options import Json
from flowsim.cli.tables import Column, show_table
from flowsim.facts.schema import METRICS
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
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


@command
def metrics(
    recording: RecordingPath, task: Tasks = None, from_: From = None, to: To = None, json_output: Json = False
) -> Answer:
    """Show the sampled metrics of every task: times in ms per second, pools in percent.

    Samples are taken every metrics_interval of the scenario (5 s) and once more when a task ends.
    """
    opened = Recording.open(recording)
    names, start_ns = Names(opened), start_of(opened)
    from_ns, to_ns = moment_ns("--from", from_), moment_ns("--to", to)
    selection = Selection(
        tables=("metrics",),
        tasks=None if task is None else frozenset(found for each in task for found in names.find_tasks(each)),
        from_ns=None if from_ns is None else start_ns + from_ns,
        to_ns=None if to_ns is None else start_ns + to_ns,
    )
    samples = list(merged_facts(opened, selection))
    document = {"samples": [_sample_data(names, fact, start_ns) for fact in samples], "exit_code": 0}

    def show(console: Console) -> None:
        if not samples:
            console.print("the recording has no samples of these tasks in this time range")
            return
        rows = [(moment_text(fact.time_ns - start_ns), names.task(fact.task), *_cells(fact)) for fact in samples]
        show_table(console, ["time", "task"], tuple(_COLUMNS.values()), rows)

    return Answer(document, show)


def _values(fact: Fact) -> dict[str, int]:
    return dict(zip(METRICS.names, fact.row, strict=True))


def _sample_data(names: Names, fact: Fact, start_ns: int) -> dict[str, Any]:
    return {"at_ns": fact.time_ns - start_ns, "task_name": names.task(fact.task), **_values(fact)}


def _cells(fact: Fact) -> Iterator[str]:
    values = _values(fact)
    for column in _COLUMNS:
        value = values[column]
        if column.endswith("_usage"):
            yield f"{value / 1e4:.1f}%"
        elif column.endswith("_watermark"):
            yield {NO_TIMESTAMP: "-", MAX_WATERMARK: "end"}.get(value) or event_time(value)
        else:
            yield "-" if column == "busy_ms" and value < 0 else f"{value:,}"
