"""Law end: the end of a task's channels, compared with its event time and its life cycle."""

from __future__ import annotations

from typing import Final, NamedTuple

from flowsim.facts.kinds import DRAIN, ElementKind, Level, LifeEvent
from flowsim.laws.elements import sent_ends_and_idleness
from flowsim.laws.event_time.paths import EventTimePaths
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Slice
from flowsim.units import MAX_WATERMARK

ID: Final = "end"
_IDLE: Final = -1
_AT_THE_END: Final = 2**63 - 1


class _End(NamedTuple):
    """A sent END_OF_DATA or END_OF_PARTITION, and the event time of its channel then."""

    seq: int
    channel: int
    kind: int
    drain: bool
    maximum: bool
    """Whether MAX_WATERMARK came before."""
    idle: bool
    """Whether no watermark is required: the channel is idle, or after an operator that assigns timestamps."""


class EndOfTask(Machine):
    """Collects the ends of channels, a few each, until the whole life cycle of the task is known."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        edges = graph.once(_assigned_edges)
        self._task = task
        self._operators = len(graph.operators_of(task.vertex))
        self._assigned = {channel.channel: channel.edge in edges for channel in graph.sent_by(task.task)}
        """By channel, whether it is after an operator of kind ``watermarks``: law task-watermark judges its last one."""
        self._holds_back = graph.once(EventTimePaths).holds_back(task.vertex)
        """Whether the task's timers can be interrupted, so that MAX_WATERMARK may follow END_OF_DATA (rule 9.18)."""
        self._found = found[ID]
        self._maximum: set[int] = set()
        self._idle = {channel for channel, behind in self._assigned.items() if behind}
        self._ends: list[_End] = []
        self._life: dict[int, list[int]] = {}
        self._reached: set[int] = set()
        """Inputs with a MAX_WATERMARK; an input downstream of a source that ends while idle has none."""

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> EndOfTask | None:
        return cls(graph, task, found) if graph.sent_by(task.task) else None

    @reads(sent_ends_and_idleness)
    def _sent_ends(self, facts: Slice) -> None:
        for seq, channel, _, kind, timestamp in facts.once(sent_ends_and_idleness):
            if ElementKind.END_OF_DATA <= kind <= ElementKind.END_OF_PARTITION:
                self._found.examined += 1
                maximum, idle = channel in self._maximum, channel in self._idle
                self._ends.append(_End(seq, channel, kind, timestamp == DRAIN, maximum, idle))
            elif kind == ElementKind.WATERMARK:
                self._maximum.add(channel)
            elif kind == ElementKind.STATUS and timestamp == _IDLE:
                self._idle.add(channel)
            elif kind == ElementKind.STATUS and not self._assigned.get(channel):
                self._idle.discard(channel)

    @on_row("lifecycle")
    def _life_event(self, seq: int, event: int) -> None:
        if event == LifeEvent.RESTORED_AS_FINISHED:
            self._operators = 0
        elif event in (LifeEvent.FINISH, LifeEvent.CLOSE, LifeEvent.FINISHED):
            self._life.setdefault(event, []).append(seq)

    @reads(task_watermark=("input", "kind", "timestamp"))
    def _reach(self, facts: Slice) -> None:
        rows = facts.of("task_watermark")
        if len(rows) and len(self._reached) < self._task.inputs:
            last = (rows.column("kind") == ElementKind.WATERMARK) & (rows.column("timestamp") == MAX_WATERMARK)
            self._reached.update(rows.column("input")[last].tolist())

    def end(self, whole: bool) -> None:
        task = self._task.task
        for end in self._ends:
            wrong = (
                self._wrong_end_of_data(end, whole)
                if end.kind == ElementKind.END_OF_DATA
                else self._wrong_end_of_partition(end)
            )
            if wrong:
                self._found.broken(wrong, (task, end.seq), task=task, seq=end.seq, channel=end.channel)
        if not whole and LifeEvent.FINISHED in self._life:
            # Rule 4.18; in a whole run law channel-end requires every END_OF_PARTITION.
            ended = {end.channel for end in self._ends if end.kind == ElementKind.END_OF_PARTITION}
            for channel in sorted(self._assigned.keys() - ended):
                what = "its sender finished, but no END_OF_PARTITION"
                self._found.broken(what, (task, _AT_THE_END, channel), task=task, channel=channel)

    def _wrong_end_of_data(self, end: _End, whole: bool) -> str:
        finished = self._life.get(LifeEvent.FINISH, [])
        due = not end.idle and len(self._reached) >= self._task.inputs
        # FLINK-39481: the operators finish while timers are left, and these still send the watermark in the end.
        is_late = self._holds_back and (end.channel in self._maximum or not whole)
        if end.drain and due and not end.maximum and not is_late:
            return "EndOfData with drain, but no MAX_WATERMARK before it"
        if not end.drain and end.maximum and not self._task.inputs:
            return "MAX_WATERMARK, but EndOfData without drain"
        if any(at > end.seq for at in finished) or (end.drain and len(finished) < self._operators):
            return "EndOfData before the operators have finished"
        if self._before(LifeEvent.CLOSE, end.seq):
            return "EndOfData after an operator was closed"
        return ""

    def _wrong_end_of_partition(self, end: _End) -> str:
        if self._before(LifeEvent.CLOSE, end.seq) < self._operators:
            return "END_OF_PARTITION before the operators are closed"
        return "END_OF_PARTITION after the task's end" if self._before(LifeEvent.FINISHED, end.seq) else ""

    def _before(self, event: int, seq: int) -> int:
        return sum(at < seq for at in self._life.get(event, ()))


def _assigned_edges(graph: JobGraph) -> set[int]:
    """The edges after an operator that assigns timestamps, and so decides about the last watermark (rule 8.7)."""
    paths = graph.once(EventTimePaths)
    return {e.edge for e in graph.edges.values() if paths.is_assigned(e.source_vertex, e.source_operator)}


_COUNTS: Final = """\
- Not applicable: no row in `channels`. Rows examined: END_OF_DATA and END_OF_PARTITION rows of `sent`.
- Each row is compared with the rows of its channel in `sent` and of its task in `lifecycle`. It is a violation when
  - END_OF_DATA with drain: no WATERMARK of `MAX` is before it, and the last STATUS before it, if any, is not IDLE (an
    idle output drops watermarks, rule 5.8);
  - END_OF_DATA without drain, of a task without inputs: a WATERMARK of `MAX` is before it;
  - END_OF_DATA: a FINISH row is after it, or a CLOSE row is before it;
  - END_OF_DATA with drain: the task has fewer FINISH rows than operators;
  - END_OF_PARTITION: fewer CLOSE rows than operators are before it, or a FINISHED row is before it.
- A task with a RESTORED_AS_FINISHED row has no operators here: they do not run.
- Exceptions: the first condition does not apply in three cases:
  - An input of the task has no WATERMARK of `MAX` in `task_watermark`. Downstream of a source that ends while idle,
    event time never ends.
  - The edge of the channel is after a `watermarks` operator in the same chain. Law task-watermark judges whether that
    operator passes `MAX`.
  - The head of the task has `params.interruptible_timers`, and a WATERMARK of `MAX` is after it, or the run is a prefix.
    Flink 2.3.0 finishes the operators while timers that were interrupted are left (FLINK-39481, rule 9.18).
- In a prefix, 1 for each channel without END_OF_PARTITION whose source task has a FINISHED row. (In a whole run, law
  channel-end requires every END_OF_PARTITION. In every run, it requires that there is only one, and no row after it.)
"""

LAWS: Final = (
    Law(
        ID,
        "MAX_WATERMARK is sent before EndOfData with drain, and not before EndOfData without drain. EndOfData is "
        "sent after finish and before close, EndOfPartition after close.",
        ("4.9", "4.10", "4.17", "4.18"),
        Level.ELEMENTS,
        EndOfTask,
        needs_channels,
        counts=_COUNTS,
    ),
)  # fmt: skip
