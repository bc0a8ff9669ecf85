"""``flowsim trace``: prints a run, fact by fact, from its recording."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Literal, TextIO

import typer

from flowsim.cli.command import StreamedAnswer, command, error_data
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import Json
from flowsim.errors import BadInput, FlowsimError
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.recording.manifest import RunStatus
from flowsim.recording.merged_facts import Fact, Selection, merged_facts
from flowsim.recording.reader import Recording
from flowsim.trace.kinds import wanted_tables
from flowsim.trace.names import Names
from flowsim.trace.sentences import sentence
from flowsim.trace.time import moment_ns, moment_text, start_of

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
        help="Only elements, watermarks, windows, async, snapshots, timers, buffers, credits, pools, mails, actions, life or "
        "metrics; or tables.",
    ),
]
Channels = Annotated[
    list[int] | None,
    typer.Option("--channel", metavar="ID", help="Only what happens on this channel. May be repeated."),
]
Detail = Annotated[
    Literal["outline", "story", "all"],
    typer.Option(
        "--detail", help="outline: life, watermarks, windows, metrics; story: without segments and bookkeeping."
    ),
]
Limit = Annotated[int | None, typer.Option("--limit", min=1, metavar="N", help="Stop after N facts.")]

_NAME_WIDTH = 40
_TIME_WIDTH = 16


@dataclass(frozen=True, slots=True)
class Story:
    """The facts of a recording that are printed, and what their header needs."""

    recording: Recording
    names: Names
    selection: Selection
    start_ns: int
    limit: int | None

    def facts(self) -> Iterator[Fact]:
        """At most ``limit`` facts, in order."""
        return islice(merged_facts(self.recording, self.selection), self.limit)


@command
def trace(
    recording: RecordingPath,
    task: Tasks = None,
    from_: From = None,
    to: To = None,
    kinds: Kinds = None,
    channel: Channels = None,
    detail: Detail = "all",
    limit: Limit = None,
    json_output: Json = False,
) -> StreamedAnswer:
    """Print a recorded run as text, with the rules of Flink that explain each event.

    Each line: time since the start, task, what happened, indented by the actions and waits that it happened in, and the
    numbers of rules in docs/flink_rules.md. A task's facts come in their order, those of several tasks by time.
    """
    opened = Recording.open(recording)
    names, start_ns = Names(opened), start_of(opened)
    from_ns, to_ns = moment_ns("--from", from_), moment_ns("--to", to)
    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise BadInput(f"--from {from_} is not before --to {to}")
    tables, values = wanted_tables(kinds, detail)
    unknown = [number for number in channel or () if number not in names.channels]
    if unknown:
        raise BadInput(
            f"--channel {unknown[0]}: no such channel; the recording has channels 0 to {len(names.channels) - 1}"
        )
    selection = Selection(
        tables=tables,
        tasks=None if task is None else frozenset(found for each in task for found in names.find_tasks(each)),
        channels=None if channel is None else frozenset(channel),
        from_ns=None if from_ns is None else start_ns + from_ns,
        to_ns=None if to_ns is None else start_ns + to_ns,
        values=values,
    )
    story = Story(opened, names, selection, start_ns, limit)
    return StreamedAnswer(
        lambda out: _write_json(story, recording, out), lambda out: _write_text(story, recording, out)
    )


def _notes(story: Story) -> list[str]:
    """Notes about the recording for the reader."""
    recording, notes = story.recording, []
    missing = [name for name in story.selection.tables if TABLES[name].level > recording.level]
    if missing:
        level = recording.level.name.lower()
        notes.append(
            f"recorded at level {level}, without: {', '.join(missing)}; they need --record {Level.FULL.name.lower()}"
        )
    if recording.status is RunStatus.RUNNING:
        notes.append(f"the run was killed: the trace ends with its last complete epoch, {len(recording.epochs)} in all")
    elif not recording.is_complete:
        notes.append(f"the run did not finish: it {_STATUS_TEXT.get(recording.status.value, recording.status.value)}")
    if story.names.on_real_clock:
        notes.append("recorded on the real clock: times count from the first fact")
    return notes


_STATUS_TEXT = {"failed": "failed", "canceled": "was canceled", "stopped": "was stopped"}


def _write_text(story: Story, path: Path, out: TextIO) -> ExitCode:
    recording, names, start_ns = story.recording, story.names, story.start_ns
    out.write(f"{path}: {recording.status.value}, level {recording.level.name.lower()}\n")
    out.write("in brackets: the rules of docs/flink_rules.md that explain the line\n")
    for note in _notes(story):
        out.write(f"note: {note}\n")
    chosen = story.selection.tasks
    task_names = {task: name for task, name in names.tasks.items() if chosen is None or task in chosen}
    width = min(max((len(name) for name in task_names.values()), default=0), _NAME_WIDTH)
    told = 0
    for fact in story.facts():
        told += 1
        text, rules = sentence(names, fact.table, fact.row)
        cited = f"  [{', '.join(rules)}]" if rules else ""
        name = _shortened(names.task(fact.task), width)
        time = moment_text(fact.time_ns - start_ns)
        out.write(f"{time:>{_TIME_WIDTH}}  {name:<{width}}  {'  ' * fact.depth}{text}{cited}\n")
    if not told:
        out.write("no fact matches the options\n")
    elif told == story.limit:
        out.write(f"stopped after {told:,} facts (--limit)\n")
    return ExitCode.FINE


def _write_json(story: Story, path: Path, out: TextIO) -> ExitCode:
    """One document; if a part is damaged, its error comes after the facts before it."""
    recording, names = story.recording, story.names
    head = {
        "recording": str(path),
        "status": recording.status.value,
        "level": recording.level.name.lower(),
        "epochs": len(recording.epochs),
        "notes": _notes(story),
    }
    out.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "facts": [')
    told, code, end = 0, ExitCode.FINE, ""
    try:
        for fact in story.facts():
            text, rules = sentence(names, fact.table, fact.row)
            line = {
                "at_ns": fact.time_ns - story.start_ns,
                "task_name": names.task(fact.task),
                "table": fact.table,
                "text": text,
                "rules": rules,
                "depth": fact.depth,
                "row": dict(zip(TABLES[fact.table].names, fact.row, strict=True)),
            }
            out.write(("," if told else "") + "\n" + json.dumps(line, ensure_ascii=False))
            told += 1
    except FlowsimError as error:
        code, end = ExitCode.BAD_INPUT, f', "error": {json.dumps(error_data(error), ensure_ascii=False)}'
    out.write(f'\n], "told": {told}{end}, "exit_code": {int(code)}}}\n')
    return code


def _shortened(name: str, width: int) -> str:
    """Shortens long names in the middle: chains begin alike and their subtasks differ at the end."""
    if len(name) <= width:
        return name
    tail = min(12, width // 3)
    return f"{name[: width - tail - 2]}..{name[-tail:]}"
