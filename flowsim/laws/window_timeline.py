"""What a tumbling event-time window operator took in, when, and what must follow from it (section 10).

Everything is derived from the task's own emitted watermarks and the operator's intake; the ``watermark`` columns that the
operator itself wrote are only compared.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from flowsim.facts.kinds import ElementKind
from flowsim.laws.facts import Facts, Row
from flowsim.laws.job_graph import JobGraph, Operator
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP


@dataclass(frozen=True, slots=True)
class WindowParams:
    """What a judge must know of the operator."""

    size_ms: int
    offset_ms: int
    lateness_ms: int
    late_output: bool

    def start_of(self, timestamp: int) -> int:
        """Rule 10.1; Python's remainder is never negative."""
        return timestamp - (timestamp - self.offset_ms) % self.size_ms

    def cleanup_of(self, last: int) -> int:
        """Rule 10.8."""
        return min(last + self.lateness_ms, MAX_WATERMARK)


@dataclass(frozen=True, slots=True)
class Intake:
    """One record that the operator took in."""

    row: Row
    seq: int
    key: int
    timestamp: int
    fingerprint: int
    watermark: int
    """Derived."""
    rank: int
    """How many records this operator had taken in before."""
    last: int
    """Last millisecond of its window."""
    late: bool


@dataclass(frozen=True, slots=True)
class Expected:
    """A row that must follow, and the sequence number of its cause."""

    row: Row
    cause: int


@dataclass(slots=True)
class WindowTimeline:
    """One window operator of one subtask."""

    task: int
    operator: int
    params: WindowParams
    fires: list[Row] = field(default_factory=list)
    drops: list[Row] = field(default_factory=list)
    intakes: list[Intake] = field(default_factory=list)
    intake_seqs: list[int] = field(default_factory=list)
    watermark_seqs: list[int] = field(default_factory=list)
    watermarks: list[int] = field(default_factory=list)

    @property
    def last_cause(self) -> int:
        """Sequence number of the last intake or watermark: in a prefix, its effects may be missing."""
        return max(self.intake_seqs[-1:] + self.watermark_seqs[-1:], default=-1)

    def watermark_at(self, seq: int) -> int:
        """The last watermark that the task's input had emitted before ``seq``."""
        before = bisect_left(self.watermark_seqs, seq)
        return self.watermarks[before - 1] if before else NO_TIMESTAMP

    def intakes_before(self, seq: int) -> int:
        """How many records the operator had taken in before ``seq``."""
        return bisect_left(self.intake_seqs, seq)

    def take_in(self, rows: list[Row]) -> None:
        """Derives watermark, window and lateness of all intake rows, in order."""
        self.intake_seqs = [row[0] for row in rows]
        for rank, row in enumerate(rows):
            seq, _, _, _, _, key, timestamp, fingerprint, *_ = row
            watermark = self.watermark_at(seq)
            last = self.params.start_of(timestamp) + self.params.size_ms - 1
            late = timestamp != NO_TIMESTAMP and self.params.cleanup_of(last) <= watermark
            self.intakes.append(Intake(row, seq, key, timestamp, fingerprint, watermark, rank, last, late))

    def expected_fires(self) -> Iterator[Expected]:
        """On-time fires and late-but-allowed ones (rules 10.12, 10.17)."""
        panes: dict[tuple[int, int], list[Intake]] = {}
        for intake in self.intakes:
            if not intake.late and intake.timestamp != NO_TIMESTAMP:
                panes.setdefault((intake.key, intake.last), []).append(intake)
        highest = list(accumulate(self.watermarks, max))
        for (key, last), members in panes.items():
            at = bisect_left(highest, last)
            on_time = [intake for intake in members if intake.watermark < last]
            if on_time and at < len(highest):
                seq = self.watermark_seqs[at]
                yield self._fire(key, last, self.watermarks[at], self.intakes_before(seq), on_time, seq)
            for i, intake in enumerate(members):
                if intake.watermark >= last:
                    yield self._fire(key, last, intake.watermark, intake.rank + 1, members[: i + 1], intake.seq)

    def _fire(
        self, key: int, last: int, watermark: int, intakes_before: int, rows: list[Intake], cause: int
    ) -> Expected:
        fingerprint_sum = fingerprint_xor = 0
        for intake in rows:
            fingerprint_sum += intake.fingerprint >> 31
            fingerprint_xor ^= intake.fingerprint
        start, end = last + 1 - self.params.size_ms, last + 1
        row = (key, start, end, watermark, intakes_before, len(rows), fingerprint_sum, fingerprint_xor)
        return Expected((self.task, self.operator, *row), cause)

    def actual_fires(self) -> list[Row]:
        """The recorded fires, in the form of the expected ones."""
        return [
            (task, operator, key, start, end, self.watermark_at(seq), self.intakes_before(seq), rows, total, xor)
            for seq, task, operator, _, _, key, start, end, _, rows, total, xor, *_ in self.fires
        ]

    def expected_drops(self) -> Iterator[Expected]:
        """One drop for every late record (rules 10.9, 10.10)."""
        side = int(self.params.late_output)
        for intake in self.intakes:
            if intake.late:
                row = (
                    self.task,
                    self.operator,
                    intake.rank + 1,
                    intake.key,
                    intake.timestamp,
                    intake.fingerprint,
                    side,
                )
                yield Expected(row, intake.seq)

    def actual_drops(self) -> list[Row]:
        """The recorded drops, in the form of the expected ones."""
        return [
            (task, operator, self.intakes_before(seq), key, timestamp, fingerprint, side)
            for seq, task, operator, _, _, key, timestamp, fingerprint, _, side in self.drops
        ]


def judged_params(operator: Operator) -> WindowParams | None:
    """The operator's parameters when its kind, place, assigner and trigger are those that the window laws judge."""
    params = operator.params
    if operator.kind != "window" or operator.input_operator != -1:
        return None
    if params.get("assigner") != "tumbling_event_time" or params.get("trigger") != {"kind": "event_time"}:
        return None
    size, offset, lateness = params.get("size_ms"), params.get("offset_ms", 0), params.get("lateness_ms", 0)
    if isinstance(size, int) and isinstance(offset, int) and isinstance(lateness, int):
        return WindowParams(size, offset, lateness, bool(params.get("late_output", False)))
    return None


def window_timelines(facts: Facts, graph: JobGraph) -> list[WindowTimeline]:
    """One timeline per judged window operator and subtask."""
    timelines: dict[tuple[int, int], WindowTimeline] = {}
    for operator in graph.operators:
        params = judged_params(operator)
        for task in graph.tasks_of(operator.vertex) if params is not None else ():
            if task.inputs == 1 and params is not None:
                place = (task.task, operator.operator)
                timelines[place] = WindowTimeline(*place, params)
    if not timelines:
        return []
    watermarks: dict[int, list[Row]] = {}
    for row in facts.rows("task_watermark"):
        if row[3] == 0 and row[4] == ElementKind.WATERMARK:
            watermarks.setdefault(row[1], []).append(row)
    intakes = _by_operator(facts.rows("window_intake"))
    fires = _by_operator(facts.rows("window_fire"))
    drops = _by_operator(facts.rows("late_drop"))
    for place, timeline in timelines.items():
        emitted = sorted(watermarks.get(timeline.task, ()))
        timeline.watermark_seqs = [row[0] for row in emitted]
        timeline.watermarks = [row[5] for row in emitted]
        timeline.fires = sorted(fires.get(place, ()))
        timeline.drops = sorted(drops.get(place, ()))
        timeline.take_in(sorted(intakes.get(place, ())))
    return list(timelines.values())


def _by_operator(rows: Sequence[Row]) -> dict[tuple[int, int], list[Row]]:
    found: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        found.setdefault((row[1], row[2]), []).append(row)
    return found
