"""``flowsim trace``: prints a run, fact by fact, from its recording."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TextIO

import typer

from flowsim.cli.command import StreamedAnswer, command, error_data, known_width
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import Json
from flowsim.errors import BadInput, FlowsimError
from flowsim.limits import Limits, limits_of
from flowsim.recording.reader import Recording
from flowsim.trace.run_trace import Trace, trace_of

RecordingPath = Annotated[
    Path, typer.Argument(metavar="RECORDING", help="The output directory of 'flowsim run --out'.", show_default=False)
]
Tasks = Annotated[
    list[str] | None,
    typer.Option(
        "--task",
        metavar="NAME|ID",
        help="Only this task, by number, name or a unique part of its name. May be repeated.",
    ),
]
From = Annotated[
    str | None,
    typer.Option("--from", metavar="TIME", help="Only from this time after the start of the run, e.g. 1.5s."),
]
To = Annotated[str | None, typer.Option("--to", metavar="TIME", help="Only before this time, e.g. '20 ms'.")]
Kinds = Annotated[
    str | None,
    typer.Option(
        "--kinds",
        metavar="KIND,...",
        help="Only these kinds of facts: elements, watermarks, windows, async, checkpoints, timers, buffers, "
        "credits, pools, mails, actions, life, metrics, or names of tables. Overrides --detail.",
    ),
]
Channels = Annotated[
    list[int] | None,
    typer.Option("--channel", metavar="ID", help="Only the facts of this channel. May be repeated."),
]
Detail = Annotated[
    Literal["overview", "normal", "everything"],
    typer.Option(
        "--detail",
        help="overview: life cycle, watermarks, windows and metrics; normal: also elements, timers, buffers, credits and "
        "waits; everything: also mails, actions and buffer pools.",
    ),
]
Checkpoint = Annotated[
    int | None,
    typer.Option(
        "--checkpoint",
        metavar="ID",
        min=1,
        help="Only one checkpoint: its barriers and steps. Overrides --kinds and --detail.",
    ),
]
Limit = Annotated[
    list[str] | None,
    typer.Option(
        "--limit", metavar="N|NAME=VALUE", help="Stop after N facts; or change a limit of recordings (docs/limits.md)."
    ),
]

Links = Annotated[
    bool, typer.Option("--links", help="With the link to each fact in the report of the recording, for its --at.")
]


@command
def trace(
    recording: RecordingPath,
    task: Tasks = None,
    from_: From = None,
    to: To = None,
    kinds: Kinds = None,
    channel: Channels = None,
    detail: Detail = "normal",
    checkpoint: Checkpoint = None,
    limit: Limit = None,
    links: Links = False,
    json_output: Json = False,
) -> StreamedAnswer:
    """Print a recorded run as text, with the rules of Flink that explain each event.

    Each line: the time since the start of the job, the task (by the first operator of its chain), what happened, and the
    numbers of rules in docs/flink_rules.md. Facts are in causal order: by time, the facts of one task by their occurrence, and
    a fact after its cause in another task.
    """
    max_facts, limits = _limits(limit or ())
    found = trace_of(
        Recording.open(recording, limits=limits),
        str(recording),
        task=task,
        from_=from_,
        to=to,
        kinds=kinds,
        channel=channel,
        detail=detail,
        checkpoint=checkpoint,
        limit=max_facts,
        links=links,
    )
    return StreamedAnswer(lambda out: _write_json(found, out), lambda out: _write_text(found, out))


def _limits(given: Sequence[str]) -> tuple[int | None, Limits]:
    """The most facts to print, and the limits of the recording."""
    counts = [text for text in given if "=" not in text]
    if len(counts) > 1 or not all(text.isascii() and text.isdecimal() and 0 < int(text) < 2**62 for text in counts):
        raise BadInput(f"--limit {counts[-1]!r:.40}: expected a number of facts, at least 1, or NAME=VALUE")
    return int(counts[0]) if counts else None, limits_of(text for text in given if "=" in text)


def _write_text(trace: Trace, out: TextIO) -> ExitCode:
    for line in trace.lines(known_width()):
        out.write(f"{line}\n")
    return ExitCode.FINE


def _write_json(trace: Trace, out: TextIO) -> ExitCode:
    """Writes one JSON document. If a part is damaged, the error follows the facts before that part."""
    recording = trace.recording
    head = {
        "recording": trace.name,
        "status": recording.status.value,
        "level": recording.level.name.lower(),
        "epochs": len(recording.epochs),
        "notes": trace.notes,
    }
    out.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "facts": [')
    count, code, end = 0, ExitCode.FINE, ""
    try:
        for fact in trace.facts():
            out.write(("," if count else "") + "\n" + json.dumps(trace.data(fact), ensure_ascii=False))
            count += 1
    except FlowsimError as error:
        code, end = ExitCode.BAD_INPUT, f', "error": {json.dumps(error_data(error), ensure_ascii=False)}'
    out.write(f'\n], "count": {count}{end}, "exit_code": {int(code)}}}\n')
    return code
