"""``flowsim trace``: prints a run, fact by fact, from its recording."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from textwrap import wrap
from typing import Annotated, Literal, TextIO

import typer

from flowsim.cli.command import StreamedAnswer, command, error_data, known_width
from flowsim.cli.exit_code import ExitCode
from flowsim.cli.options import Json
from flowsim.errors import BadInput, FlowsimError
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.history.run_span import start_of
from flowsim.limits import Limits, limits_of
from flowsim.quantities import count_text
from flowsim.recording.merged_facts import Fact, Selection
from flowsim.recording.reader import Recording
from flowsim.trace.job_facts import NO_TASK, THE_JOB, facts_with_job, has_job_facts
from flowsim.trace.kinds import tables_of_checkpoint, wanted_tables
from flowsim.trace.links import report_link
from flowsim.trace.names import Names
from flowsim.trace.sentence import Sentence
from flowsim.trace.sentences import sentence
from flowsim.trace.time import moment_ns, moment_text

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

_NAME_WIDTH = 22
_TIME_WIDTH = 13
_LEAST_TEXT_WIDTH = 30


@dataclass(frozen=True, slots=True)
class TraceOutput:
    """The facts of a recording to print, and the values that the header of the output needs."""

    recording: Recording
    names: Names
    selection: Selection
    start_ns: int
    limit: int | None
    indented: bool
    """True if each fact is indented by its enclosing actions and waits; only some selections print those."""
    with_links: bool

    def facts(self) -> Iterator[Fact]:
        """Returns the facts in order, at most ``limit`` of them."""
        return islice(facts_with_job(self.recording, self.selection), self.limit)

    def sentence(self, fact: Fact) -> Sentence:
        """Returns a fact as text. Raises BadInput if one of its numbers is out of range."""
        return sentence(self.names, fact.table, fact.row, fact.depth)


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
    opened = Recording.open(recording, limits=limits)
    names, start_ns = Names(opened), start_of(opened)
    from_ns, to_ns = moment_ns("--from", from_), moment_ns("--to", to)
    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise BadInput(f"--from {from_} is not before --to {to}")
    tables, values = wanted_tables(kinds, detail) if checkpoint is None else tables_of_checkpoint(checkpoint)
    unknown = [number for number in channel or () if number not in names.channels]
    if unknown:
        raise BadInput(
            f"--channel {unknown[0]}: no such channel; the recording has channels 0 to {len(names.channels) - 1}"
        )
    selection = Selection(
        tables=tables,
        tasks=None
        if task is None
        else frozenset(task_number for each in task for task_number in names.find_tasks(each)),
        channels=None if channel is None else frozenset(channel),
        from_ns=None if from_ns is None else start_ns + from_ns,
        to_ns=None if to_ns is None else start_ns + to_ns,
        values=values,
    )
    output = TraceOutput(opened, names, selection, start_ns, max_facts, "actions" in tables and not values, links)
    return StreamedAnswer(
        lambda out: _write_json(output, recording, out), lambda out: _write_text(output, recording, out)
    )


def _limits(given: Sequence[str]) -> tuple[int | None, Limits]:
    """The most facts to print, and the limits of the recording."""
    counts = [text for text in given if "=" not in text]
    if len(counts) > 1 or not all(text.isascii() and text.isdecimal() and 0 < int(text) < 2**62 for text in counts):
        raise BadInput(f"--limit {counts[-1]!r:.40}: expected a number of facts, at least 1, or NAME=VALUE")
    return int(counts[0]) if counts else None, limits_of(text for text in given if "=" in text)


def _notes(output: TraceOutput) -> list[str]:
    """Returns notes about the recording for the reader."""
    recording, notes = output.recording, []
    missing = [name for name in output.selection.tables if TABLES[name].level > recording.level]
    if missing:
        level = recording.level.name.lower()
        notes.append(
            f"recorded at level {level}, without: {', '.join(missing)}; they need --record {Level.FULL.name.lower()}"
        )
    if recording.how_it_broke_off:
        epochs = len(recording.epochs)
        notes.append(f"{recording.how_it_broke_off}: the trace ends with its last complete epoch, {epochs:,} in all")
    elif not recording.is_complete:
        notes.append(f"the run did not finish: it {_STATUS_TEXT.get(recording.status.value, recording.status.value)}")
    if output.names.on_real_clock:
        notes.append("recorded on the real clock: times count from the first fact")
    return notes


_STATUS_TEXT = {"failed": "failed", "canceled": "was canceled", "stopped": "was stopped"}


def _write_text(output: TraceOutput, path: Path, out: TextIO) -> ExitCode:
    recording, start_ns = output.recording, output.start_ns
    out.write(f"{path}: {recording.status.value}, level {recording.level.name.lower()}\n")
    out.write("in brackets: the rules of docs/flink_rules.md that explain the line\n")
    for note in _notes(output):
        out.write(f"note: {note}\n")
    layout = _layout(output)
    count = 0
    for fact in output.facts():
        count += 1
        out.write(layout.line(fact, start_ns))
    if not count:
        out.write("no fact matches the options\n")
    elif count == output.limit:
        out.write(f"stopped after {count_text(count, 'fact')} (--limit)\n")
    return ExitCode.FINE


@dataclass(frozen=True, slots=True)
class _Layout:
    """Columns of a printed trace: the time, the task by its first operator, and the text.

    A pipe gets one line per fact; a terminal gets lines of its ``width``.
    """

    output: TraceOutput
    name_width: int
    width: int | None

    def line(self, fact: Fact, start_ns: int) -> str:
        text, rules = self.output.sentence(fact)
        cited = f"  [{', '.join(rules)}]" if rules else ""
        of_job = fact.task == NO_TASK
        if self.output.with_links and not of_job:
            cited += f"  {_link(fact)}"
        name = _shortened(THE_JOB if of_job else self.output.names.short_task(fact.task), self.name_width)
        time = moment_text(fact.time_ns - start_ns)
        indent = "  " * fact.depth if self.output.indented else ""
        head = f"{time:>{_TIME_WIDTH}}  {name:<{self.name_width}}  {indent}"
        if self.width is None or self.width - len(head) < _LEAST_TEXT_WIDTH:
            return f"{head}{text}{cited}\n"
        lines = wrap(text + cited, self.width - len(head), break_long_words=False, break_on_hyphens=False)
        return head + f"\n{' ' * (len(head) + 2)}".join(_rewrapped(lines, self.width - len(head) - 2)) + "\n"


def _link(fact: Fact) -> str:
    return report_link("steps", task=fact.task, seq=fact.row[0])


def _rewrapped(lines: list[str], width: int) -> list[str]:
    """Wraps the text after the first line again, because later lines are indented by 2 more and are narrower."""
    rest = " ".join(lines[1:])
    return [lines[0], *wrap(rest, width, break_long_words=False, break_on_hyphens=False)]


def _layout(output: TraceOutput) -> _Layout:
    names, chosen = output.names, output.selection.tasks
    shown = [names.short_task(task) for task in names.tasks if chosen is None or task in chosen]
    if has_job_facts(output.recording, output.selection):
        shown.append(THE_JOB)
    return _Layout(output, min(max(map(len, shown), default=0), _NAME_WIDTH), known_width())


def _write_json(output: TraceOutput, path: Path, out: TextIO) -> ExitCode:
    """Writes one JSON document. If a part is damaged, the error follows the facts before that part."""
    recording, names = output.recording, output.names
    head = {
        "recording": str(path),
        "status": recording.status.value,
        "level": recording.level.name.lower(),
        "epochs": len(recording.epochs),
        "notes": _notes(output),
    }
    out.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "facts": [')
    count, code, end = 0, ExitCode.FINE, ""
    try:
        for fact in output.facts():
            text, rules = output.sentence(fact)
            line = {
                "at_ns": fact.time_ns - output.start_ns,
                "task_name": THE_JOB if fact.task == NO_TASK else names.task(fact.task),
                "table": fact.table,
                "text": text,
                "rules": rules,
                "depth": fact.depth,
                "row": dict(zip(TABLES[fact.table].names, fact.row, strict=True)),
            }
            out.write(("," if count else "") + "\n" + json.dumps(line, ensure_ascii=False))
            count += 1
    except FlowsimError as error:
        code, end = ExitCode.BAD_INPUT, f', "error": {json.dumps(error_data(error), ensure_ascii=False)}'
    out.write(f'\n], "count": {count}{end}, "exit_code": {int(code)}}}\n')
    return code


def _shortened(name: str, width: int) -> str:
    """Shortens long names in the middle: chains begin alike and their subtasks differ at the end."""
    if len(name) <= width:
        return name
    tail = min(12, width // 3)
    return f"{name[: width - tail - 2]}..{name[-tail:]}"
