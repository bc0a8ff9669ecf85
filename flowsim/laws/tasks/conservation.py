"""Law conservation: the counters of the operators of a task, compared with each other and with its facts."""

from __future__ import annotations

from collections import Counter
from typing import Final, NamedTuple

import numpy as np

from flowsim.facts.kinds import DRAIN, AsyncAction, ElementKind, Level, LifeEvent
from flowsim.laws.channels.end import COMMITTER, senders_of_committables
from flowsim.laws.elements import counted, sent_by_channel
from flowsim.laws.event_time.paths import held_back, strategy_of
from flowsim.laws.findings import FoundByLaw, compared
from flowsim.laws.job_graph import Edge, JobGraph, Operator, Task
from flowsim.laws.law import Law
from flowsim.laws.machine import Machine, on_row, reads
from flowsim.laws.slices import Ints, Rows, Slice

ID: Final = "conservation"
_AT_THE_END: Final = 2**63 - 1


class Counts(NamedTuple):
    """The counters that an operator wrote at its end."""

    records_in: int
    records_out: int
    records_side: int
    records_dropped: int


def _emitting_after_the_end(graph: JobGraph) -> frozenset[int]:
    """The channels on which records may follow END_OF_DATA with drain."""
    senders = graph.once(senders_of_committables)
    return graph.once(held_back) | {channel for channel, sender in senders.items() if sender == COMMITTER}


class Equations(Machine):
    """Counts the facts of one task, and compares them with its counters at the end.

    The equations of an unfinished task may be off by the record that each of its threads has in progress.
    """

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task = task
        self._chain = graph.operators_of(task.vertex)
        self._found = found[ID]
        self._edges = graph.once(_edges_by_operator)
        self._channels: dict[int, list[int]] = {}
        for channel in graph.sent_by(task.task):
            self._channels.setdefault(channel.edge, []).append(channel.channel)
        received_on = graph.received_by(task.task)
        self._open_channels: dict[int, set[int]] = {}
        """By input, the channels without END_OF_DATA; empty unless a sender can emit after it (rules 9.18, 12.31)."""
        if not graph.once(_emitting_after_the_end).isdisjoint(channel.channel for channel in received_on):
            for channel in received_on:
                self._open_channels.setdefault(channel.input, set()).add(channel.channel)
        self._inputs_of = {channel.channel: channel.input for channel in received_on}
        self._opening: dict[int, int] = {}
        """Sequence number of the first OPEN of each operator; elements put before it come from a snapshot (rule 11.22)."""
        self._counts: dict[int, Counts] = {}
        """The first counters of each operator."""
        self._written: Counter[int] = Counter()
        """How often each operator wrote its counters."""
        self._facts: Counter[tuple[str, int]] = Counter()
        """Number of records sent, by channel; received; and, by operator, taken in, dropped, put and emitted."""
        # The loop, or that, timers and the emitters of legacy operators (rule 11.30).
        emitters = sum(operator.params.get("design") == "legacy" for operator in self._chain)
        self._slack = 2 + emitters if emitters else 1

    @on_row("operator_counts")
    def _counters(
        self, seq: int, operator: int, records_in: int, records_out: int, records_side: int, records_dropped: int
    ) -> None:
        self._found.examined += 1
        self._written[operator] += 1
        self._counts.setdefault(operator, Counts(records_in, records_out, records_side, records_dropped))

    @on_row("lifecycle", event=LifeEvent.OPEN)
    def _open(self, seq: int, operator: int) -> None:
        self._opening.setdefault(operator, seq)

    @on_row("lifecycle", event=LifeEvent.END_INPUT)
    def _end_input(self, seq: int, operator: int) -> None:
        self._facts["ended", operator] += 1

    @on_row("lifecycle", event=LifeEvent.FINISHED)
    def _finished(self, seq: int, operator: int) -> None:
        if operator == -1:
            self._slack = 0

    @reads(sent_by_channel)
    def _count_sent(self, facts: Slice) -> None:
        for channel, records in facts.once(sent_by_channel):
            self._facts["sent", channel] += records

    @reads(received=("channel", "kind", "timestamp"))
    def _count_received(self, facts: Slice) -> None:
        received = facts.of("received")
        self._facts["received", 0] += int(np.count_nonzero(received.column("kind") == ElementKind.RECORD))
        if self._open_channels and len(received):
            self._count_lost(received)

    def _count_lost(self, received: Rows) -> None:
        """Subtracts the records of inputs that have ended: the head does not get them (rule 4.11)."""
        for channel, kind, timestamp in received.tuples(("channel", "kind", "timestamp")):
            still_open = self._open_channels.get(self._inputs_of.get(channel, -1))
            if kind == ElementKind.END_OF_DATA and timestamp == DRAIN and still_open is not None:
                still_open.discard(channel)
            elif kind == ElementKind.RECORD and still_open is not None and not still_open:
                self._facts["received", 0] -= 1

    @reads(window_intake=("operator",), late_drop=("operator", "side_output"))
    def _count_windows(self, facts: Slice) -> None:
        late = facts.of("late_drop")
        self._count("taken in", facts.of("window_intake").column("operator"))
        self._count("dropped", late.column("operator")[late.column("side_output") == 0])

    def _count(self, what: str, operators: Ints) -> None:
        for operator, rows in counted(operators) if len(operators) else ():
            self._facts[what, operator] += rows

    @on_row("async_elements", action=AsyncAction.PUT, kind=ElementKind.RECORD)
    def _put(self, seq: int, operator: int) -> None:
        self._facts["put", operator] += self._opening.get(operator, _AT_THE_END) < seq

    @on_row("async_elements", action=AsyncAction.EMIT, kind=ElementKind.RECORD)
    def _emit(self, seq: int, operator: int, rows: int) -> None:
        self._facts["emitted", operator] += rows

    def end(self, whole: bool) -> None:
        for operator in self._chain:
            rows = self._written[operator.operator]
            if rows > 1 or (whole and rows == 0):
                self._broken(operator, "the counters of an operator were not written exactly once", rows, 1)
            counts = self._counts.get(operator.operator)
            if counts is not None:
                self._kind(operator, counts)
                self._inputs(operator, counts)
                self._outputs(operator, counts)

    def _equal(self, operator: Operator, what: str, found: int, expected: int) -> None:
        if abs(found - expected) > self._slack:
            self._broken(operator, compared(found, expected, what), found, expected)

    def _broken(self, operator: Operator, what: str, found: int, expected: int) -> None:
        task = self._task.task
        self._found.broken(what, (task, _AT_THE_END, operator.operator), task=task, operator=operator.operator,
                           name=operator.name, counted=found, expected=expected)  # fmt: skip

    def _kind(self, operator: Operator, counts: Counts) -> None:
        records_in, records_out, _, dropped = counts
        match operator.kind:
            case "source" | "watermarks" if missing_timestamp_of(operator):
                what = "records went in than went out or had no timestamp"
                self._equal(operator, what, records_in, records_out + dropped)
            case "source" | "watermarks" | "map":
                self._equal(operator, "records went out than went in", records_out, records_in)
            case "filter":
                self._equal(
                    operator, "records went in than went out or were filtered out", records_in, records_out + dropped
                )
            case "sink" if not operator.params.get("commits"):
                self._equal(operator, "records went out of a sink than 0", records_out, 0)
            case "window":
                taken_in, late = (self._facts[what, operator.operator] for what in ("taken in", "dropped"))
                self._equal(operator, "records went in than were taken in by windows", records_in, taken_in)
                self._equal(operator, "records were counted as dropped than were dropped", dropped, late)
            case "async_wait":
                emitted = self._facts["emitted", operator.operator]
                put = self._facts["put", operator.operator]
                self._equal(operator, "records went in than were put into the queue", records_in, put)
                if records_out < emitted or (not self._slack and records_out != emitted):
                    what = compared(records_out, emitted, "records went out than were results of elements")
                    self._broken(operator, what, records_out, emitted)

    def _inputs(self, operator: Operator, counts: Counts) -> None:
        if operator.input_operator < 0:
            if operator.kind != "source":
                what = "records went in than the task received"
                received = self._facts["received", 0]
                is_sorted = operator.params.get("batch") is True and self._facts["ended", 0] < self._task.inputs
                if counts.records_in > received or not is_sorted:
                    self._equal(operator, what, counts.records_in, received)
        elif not operator.input_tag:
            before = self._counts.get(operator.input_operator)
            if before is not None:
                what = "records went in than went out of the operator before"
                self._equal(operator, what, counts.records_in, before.records_out)

    def _outputs(self, operator: Operator, counts: Counts) -> None:
        by_tag: dict[str, list[int | None]] = {}
        for after in self._chain:
            if after.input_operator == operator.operator and after.input_tag:
                read = self._counts.get(after.operator)
                by_tag.setdefault(after.input_tag, []).append(None if read is None else read.records_in)
        for edge in self._edges.get((operator.vertex, operator.operator), ()):
            if edge.side_output:
                by_tag.setdefault(edge.side_output, []).extend(self._sent(edge))
                continue
            for records in self._sent(edge):
                what = f"records were sent over edge {edge.edge} than went out"
                self._equal(operator, what, records, counts.records_out)
        if by_tag:
            self._side_outputs(operator, by_tag, counts.records_side)
            if missing_timestamp_of(operator) == "output":
                what = "records had no timestamp than went to side outputs"
                self._equal(operator, what, counts.records_dropped, counts.records_side)

    def _side_outputs(self, operator: Operator, by_tag: dict[str, list[int | None]], records_side: int) -> None:
        read_in_all, all_known = 0, True
        for tag, readers in by_tag.items():
            known = [records for records in readers if records is not None]
            if len(known) < len(readers):
                all_known = False
                continue
            what = f"records of side output {tag} were read by one reader than by another"
            self._equal(operator, what, min(known), max(known))
            read_in_all += max(known)
        if all_known:
            what = "records were read from side outputs than went to them"
            self._equal(operator, what, read_in_all, records_side)

    def _sent(self, edge: Edge) -> list[int]:
        sent = [self._facts["sent", channel] for channel in self._channels.get(edge.edge, ())]
        return sent if edge.partitioner == "BROADCAST" else [sum(sent)]


def missing_timestamp_of(operator: Operator) -> object:
    """``drop`` or ``output``, if the strategy of the operator allows records without a timestamp."""
    return (strategy_of(operator) or {}).get("missing_timestamp")


def _edges_by_operator(graph: JobGraph) -> dict[tuple[int, int], list[Edge]]:
    """The output edges of each operator, by job vertex and operator."""
    found: dict[tuple[int, int], list[Edge]] = {}
    for edge in graph.edges.values():
        found.setdefault((edge.source_vertex, edge.source_operator), []).append(edge)
    return found


_COUNTS: Final = """\
- Rows examined: rows of `operator_counts`. Operators write their counters at their end. If the run ended before, the
  reason says so.
- A task has *finished* when `lifecycle` has its row (operator -1, FINISHED). The equations of a finished task are
  exact. In any other task an element may be in progress, so the two sides may differ by one. If its vertex has n > 0
  operators whose `params.design` is `legacy`, they may differ by n + 2: its loop, its timers and n emitters may each
  have an element in progress (rule 11.30).
- An equation is only checked if every `operator_counts` row that it uses exists. Of several rows of a (task, operator),
  the first is used.
- Violations: 1 for each of these equations that is not true:
  1. *presence*, per subtask and operator of its vertex: the number of rows of `operator_counts` is 1; in a prefix, it
     is at most 1.
  2. *kind*, per row, by `operators.kind` (other kinds have no equation):
     - `source`, `watermarks` and `map`: records_out = records_in. If `params.watermarks` of a `source` or `watermarks`
       operator has `missing_timestamp`, instead records_in = records_out + records_dropped;
     - `filter`: records_in = records_out + records_dropped;
     - `sink` without committer: records_out = 0;
     - `window`: records_in = the number of its `window_intake` rows;
     - `window`, second equation: records_dropped = the number of its `late_drop` rows with side_output 0;
     - `async_wait`: records_in = the number of its PUT rows of kind RECORD in `async_elements` after its first OPEN row
       in `lifecycle` (earlier PUT rows come from a snapshot, rule 11.22);
     - `async_wait`, second equation: records_out = the sum of `rows` of its EMIT rows of kind RECORD. In a task that is
       not finished, records_out is at least this sum, because the element in progress may have several results.
  3. *head*, per row with `input_operator` -1 whose kind is not `source`: records_in = the number of RECORD rows in
     `received` of the task; with `params.batch` it may be lower until all inputs have their END_INPUT row in
     `lifecycle`, because the records are sorted first. If the head of a sender has `params.interruptible_timers`, or a
     `committer` sends to a `committer`, the records of an input after the END_OF_DATA rows with drain of all its channels
     do not count: they are lost (rule 4.11; FLINK-39481, and what the last checkpoint commits, rule 12.31).
  4. *chained*, per row with `input_operator` >= 0 and `input_tag` '': records_in = records_out of its input operator in
     the same task.
  5. *edge*, per edge with `side_output` '' and per task of its source vertex: the records sent over the edge =
     records_out of the source operator. The records sent are the RECORD rows in `sent` on the edge's channels of this
     task, summed over the channels. BROADCAST has one equation per channel.
  6. *side output*, per (task, operator) with readers of its side outputs. The readers of a tag are chained operators
     with this `input_tag` (count: records_in) and edges with this `side_output` (count: records sent; BROADCAST: each
     channel is a reader). Per tag, the smallest count of its readers = the largest count. Per operator, the sum over
     its tags of the largest count = records_side. (`records_side` counts a record once, and only if its tag has a
     reader.) If `params.watermarks.missing_timestamp` is `output` and a tag has a reader, also records_dropped =
     records_side.
"""

LAWS: Final = (
    Law(
        ID,
        "No operator gains or loses records: its input count equals the output count of the upstream "
        "operator, and its kind explains the difference between its own input and output.",
        ("7.20", "13.4"),
        Level.ELEMENTS,
        Equations,
        counts=_COUNTS,
        nothing_yet="the run did not reach its end: no operator had written its counters",
    ),
)  # fmt: skip
