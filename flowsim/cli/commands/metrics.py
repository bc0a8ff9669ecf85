"""``flowsim metrics``: the sampled gauges of a recording as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from flowsim.cli.command import Answer, command
from flowsim.cli.commands.trace import From, RecordingPath, Tasks, To
from flowsim.cli.options import Json

if TYPE_CHECKING:
    from rich.console import Console

    from flowsim.recording.merged_facts import Fact
    from flowsim.trace.names import Names

_COLUMNS = (
    ("busy", "busy_ms"), ("idle", "idle_ms"), ("soft", "soft_ms"), ("hard", "hard_ms"), ("records in", "records_in"),
    ("records out", "records_out"), ("in queue", "input_queue"), ("out queue", "output_queue"),
    ("in pool", "input_pool_usage"), ("out pool", "output_pool_usage"), ("watermark in", "input_watermark"),
    ("watermark out", "output_watermark"), ("mails", "mailbox_size"), ("buffer size", "buffer_size"),
)  # fmt: skip
"""What the table shows; ``--json`` has all columns."""


@command
def metrics(
    recording: RecordingPath, task: Tasks = None, from_: From = None, to: To = None, json_output: Json = False
) -> Answer:
    """Show the metrics of every task as they were sampled: times in ms per second, pools in percent.

    Samples are taken every metrics_interval of the scenario (5 s) and once more when a task ends.
    """
    from flowsim.recording.merged_facts import Selection, merged_facts
    from flowsim.recording.reader import Recording
    from flowsim.trace.names import Names
    from flowsim.trace.time import moment_ns, moment_text, start_of

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
        from rich.table import Table

        if not samples:
            console.print("no samples: the recording has none of what was asked for")
            return
        table = Table("time", "task")
        for heading, _ in _COLUMNS:
            table.add_column(heading, justify="right")
        for fact in samples:
            table.add_row(moment_text(fact.time_ns - start_ns), names.task(fact.task), *_cells(fact))
        console.print(table)

    return Answer(document, show)


def _values(fact: Fact) -> dict[str, int]:
    from flowsim.facts.schema import METRICS

    return dict(zip(METRICS.names, fact.row, strict=True))


def _sample_data(names: Names, fact: Fact, start_ns: int) -> dict[str, Any]:
    return {"at_ns": fact.time_ns - start_ns, "task_name": names.task(fact.task), **_values(fact)}


def _cells(fact: Fact) -> Iterator[str]:
    from flowsim.trace.names import event_time
    from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

    values = _values(fact)
    for _, column in _COLUMNS:
        value = values[column]
        if column.endswith("_usage"):
            yield f"{value / 1e4:.1f}%"
        elif column.endswith("_watermark"):
            yield {NO_TIMESTAMP: "-", MAX_WATERMARK: "end"}.get(value) or event_time(value)
        else:
            yield "-" if column == "busy_ms" and value < 0 else f"{value:,}"
