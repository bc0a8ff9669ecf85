"""A recorded run as text, fact by fact: which facts of a recording are printed, and how."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from textwrap import wrap
from typing import Final, Literal, TypedDict, Unpack

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.history.run_span import start_of
from flowsim.notebook_html import html_lines
from flowsim.quantities import count_text
from flowsim.recording.merged_facts import Fact, Selection
from flowsim.recording.reader import Recording
from flowsim.trace.job_facts import NO_TASK, THE_JOB, facts_with_job, has_job_facts
from flowsim.trace.kinds import tables_of_checkpoint, wanted_tables
from flowsim.trace.links import report_link
from flowsim.trace.names import Names
from flowsim.trace.sentence import Sentence
from flowsim.trace.sentences import sentence
from flowsim.trace.time import aligned_moment_text, moment_ns

_NAME_WIDTH: Final = 22
_TIME_WIDTH: Final = 13
_LEAST_TEXT_WIDTH: Final = 30
_SHOWN_FACTS: Final = 200
"""How many facts an interactive shell or a notebook shows of a trace."""
_STATUS_TEXT: Final = {"failed": "failed", "canceled": "was canceled", "stopped": "was stopped"}


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """Facts of a run in causal order, as ``flowsim trace`` prints them; ``print`` writes one line for each."""

    recording: Recording
    name: str
    """The recording as the user calls it."""
    names: Names
    selection: Selection
    start_ns: int
    limit: int | None
    """The most facts; None: all."""
    indented: bool
    """True if each fact is indented by its enclosing actions and waits; only some selections print those."""
    with_links: bool

    def facts(self) -> Iterator[Fact]:
        """Returns the facts in order, at most ``limit`` of them."""
        return islice(facts_with_job(self.recording, self.selection), self.limit)

    def sentence(self, fact: Fact) -> Sentence:
        """Returns a fact as text. Raises BadInput if one of its numbers is out of range."""
        return sentence(self.names, fact.table, fact.row, fact.depth)

    @property
    def notes(self) -> list[str]:
        """Notes about the recording for the reader."""
        recording, notes = self.recording, []
        missing = [name for name in self.selection.tables if TABLES[name].level > recording.level]
        if missing:
            level = recording.level.name.lower()
            notes.append(
                f"recorded at level {level}, without: {', '.join(missing)}; they need --record {Level.FULL.name.lower()}"
            )
        if recording.how_it_broke_off:
            epochs = len(recording.epochs)
            notes.append(
                f"{recording.how_it_broke_off}: the trace ends with its last complete epoch, {epochs:,} in all"
            )
        elif not recording.is_complete:
            notes.append(
                f"the run did not finish: it {_STATUS_TEXT.get(recording.status.value, recording.status.value)}"
            )
        if self.names.on_real_clock:
            notes.append("recorded on the real clock: times count from the first fact")
        return notes

    def lines(self, width: int | None = None) -> Iterator[str]:
        """Returns the lines: about the recording, then of each fact. ``width`` None: one line per fact."""
        recording = self.recording
        yield f"{self.name}: {recording.status.value}, level {recording.level.name.lower()}"
        yield "in brackets: the rules of docs/flink_rules.md that explain the line"
        yield from (f"note: {note}" for note in self.notes)
        layout = _Layout(self, min(max(map(len, self._task_names()), default=0), _NAME_WIDTH), width)
        count = 0
        for fact in self.facts():
            count += 1
            yield from layout.lines(fact)
        if not count:
            yield "no fact matches the options"
        elif count == self.limit:
            yield f"stopped after {count_text(count, 'fact')} (--limit)"

    def data(self, fact: Fact) -> dict[str, object]:
        """Returns a fact as JSON values."""
        text, rules = self.sentence(fact)
        return {
            "at_ns": fact.time_ns - self.start_ns,
            "task_name": THE_JOB if fact.task == NO_TASK else self.names.task(fact.task),
            "table": fact.table,
            "text": text,
            "rules": rules,
            "depth": fact.depth,
            "row": dict(zip(TABLES[fact.table].names, fact.row, strict=True)),
        }

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def __repr__(self) -> str:
        return "\n".join(self._first_lines())

    def _repr_html_(self) -> str:
        """Shows, in notebooks, the first facts."""
        return html_lines(self._first_lines())

    def _first_lines(self) -> list[str]:
        limit = _SHOWN_FACTS if self.limit is None else min(self.limit, _SHOWN_FACTS)
        return list(replace(self, limit=limit).lines())

    def _task_names(self) -> list[str]:
        names, chosen = self.names, self.selection.tasks
        shown = [names.short_task(task) for task in names.tasks if chosen is None or task in chosen]
        return [*shown, THE_JOB] if has_job_facts(self.recording, self.selection) else shown


class TraceOptions(TypedDict, total=False):
    """The options of ``flowsim trace``."""

    task: str | Sequence[str] | None
    """Only these tasks, by number, name or a unique part of the name; or all subtasks of an operator."""
    from_: str | None
    """Only from this time after the start of the run, such as ``"1.5s"``."""
    to: str | None
    """Only before this time."""
    kinds: str | None
    """Only these kinds of facts or tables, with commas between them, such as ``"windows,timers"``."""
    channel: int | Sequence[int] | None
    """Only the facts of these channels."""
    detail: Literal["overview", "normal", "everything"]
    checkpoint: int | None
    """Only one checkpoint: its barriers and steps."""
    limit: int | None
    """The most facts."""
    links: bool
    """With the link to each fact in the report of the recording."""


def trace_of(recording: Recording, name: str, **options: Unpack[TraceOptions]) -> Trace:
    """Selects facts with the options of ``flowsim trace``; raises BadInput. ``name``: of the recording, for the user."""
    names, start_ns = Names(recording), start_of(recording)
    from_, to, task, channel = options.get("from_"), options.get("to"), options.get("task"), options.get("channel")
    checkpoint, limit = options.get("checkpoint"), options.get("limit")
    from_ns, to_ns = moment_ns("--from", from_), moment_ns("--to", to)
    if from_ns is not None and to_ns is not None and from_ns >= to_ns:
        raise BadInput(f"--from {from_} is not before --to {to}")
    if limit is not None and limit < 1:
        raise BadInput(f"--limit {limit}: expected a number of facts, at least 1")
    if checkpoint is None:
        tables, values = wanted_tables(options.get("kinds"), options.get("detail", "normal"))
    else:
        tables, values = tables_of_checkpoint(checkpoint)
    channels = None if channel is None else frozenset([channel] if isinstance(channel, int) else channel)
    unknown = sorted(channels.difference(names.channels)) if channels else []
    if unknown:
        raise BadInput(
            f"--channel {unknown[0]}: no such channel; the recording has channels 0 to {len(names.channels) - 1}"
        )
    tasks = [task] if isinstance(task, str) else task
    selection = Selection(
        tables=tables,
        tasks=None if tasks is None else frozenset(number for each in tasks for number in names.find_tasks(each)),
        channels=channels,
        from_ns=None if from_ns is None else start_ns + from_ns,
        to_ns=None if to_ns is None else start_ns + to_ns,
        values=values,
    )
    is_indented = "actions" in tables and not values
    return Trace(recording, name, names, selection, start_ns, limit, is_indented, options.get("links", False))


@dataclass(frozen=True, slots=True)
class _Layout:
    """Columns of a printed trace: the time, the task by its first operator, and the text.

    A pipe gets one line per fact; a terminal gets lines of its ``width``.
    """

    trace: Trace
    name_width: int
    width: int | None

    def lines(self, fact: Fact) -> list[str]:
        trace = self.trace
        text, rules = trace.sentence(fact)
        cited = f"  [{', '.join(rules)}]" if rules else ""
        of_job = fact.task == NO_TASK
        if trace.with_links and not of_job:
            cited += f"  {report_link('steps', task=fact.task, seq=fact.row[0])}"
        name = _shortened(THE_JOB if of_job else trace.names.short_task(fact.task), self.name_width)
        time = aligned_moment_text(fact.time_ns - trace.start_ns)
        indent = "  " * fact.depth if trace.indented else ""
        head = f"{time:>{_TIME_WIDTH}}  {name:<{self.name_width}}  {indent}"
        if self.width is None or self.width - len(head) < _LEAST_TEXT_WIDTH:
            return [f"{head}{text}{cited}"]
        first, *rest = wrap(text + cited, self.width - len(head), break_long_words=False, break_on_hyphens=False)
        # Later lines are indented by 2 more and are narrower.
        later = wrap(" ".join(rest), self.width - len(head) - 2, break_long_words=False, break_on_hyphens=False)
        return [head + first, *(f"{' ' * (len(head) + 2)}{line}" for line in later)]


def _shortened(name: str, width: int) -> str:
    """Shortens long names in the middle: chains begin alike and their subtasks differ at the end."""
    if len(name) <= width:
        return name
    tail = min(12, width // 3)
    return f"{name[: width - tail - 2]}..{name[-tail:]}"
