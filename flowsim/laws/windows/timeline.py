"""The facts of one judged window operator of one subtask in order, compared with its model.

Everything follows from the watermarks of the task and the intakes of the operator; the ``watermark`` columns that the
operator recorded are only compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from operator import itemgetter
from typing import Final

import numpy as np

from flowsim.facts.kinds import ElementKind, FireCause, WindowResult
from flowsim.laws.findings import Findings, named
from flowsim.laws.law import KeyPart
from flowsim.laws.machine import reads
from flowsim.laws.slices import Ints, Mask, Part, Row, Slice
from flowsim.laws.windows.model import Intake, WindowModel
from flowsim.laws.windows.plan import WindowPlan, is_in, rows_of
from flowsim.laws.windows.summed_records import Sum, summed
from flowsim.units import NS_PER_MS

_MARK, _MERGE, _FIRE, _DROP, _CALLS = range(5)
_INTAKE: Final = ("key", "timestamp", "fingerprint", "time_ns", "watermark", "gap", "side")
_MERGED: Final = ("key", "window_start", "window_end", "into_start", "into_end")
_FIRED: Final = (
    "key", "window_start", "window_end", "rows", "fingerprint_sum", "fingerprint_xor", "result", "cause", "at",
)  # fmt: skip
_COLUMNS: Final = {
    "window_merge": ("watermark", *_MERGED),
    "window_fire": ("watermark", "time_ns", *_FIRED),
    "late_drop": ("watermark", "key", "timestamp", "fingerprint", "side_output"),
    "window_joins": (
        "key", "window_start", "window_end", "left_rows", "right_rows", "left_sum", "right_sum", "calls", "product_sum",
    ),
}  # fmt: skip
_SUBJECTS: Final = {
    "window_fire": ("key", "window_start", "window_end"),
    "window_merge": ("key", "window_start", "window_end"),
    "late_drop": ("intakes_before", "key"),
    "window_joins": ("key", "window_start", "window_end"),
}
"""What a row is about: a missing and an unexpected row about the same are one violation."""
_WORDS: Final = {
    "window_fire": ("a window did not fire", "a window fired that should not have fired"),
    "window_merge": ("a window was not merged", "a window was merged that should not have been merged"),
    "late_drop": ("a late record was not dropped", "a record was dropped that is not late"),
    "window_joins": ("a join did not call its function", "a join called its function for no firing"),
}
"""By table, of a row that is missing, and of one that is unexpected."""
_OTHERWISE: Final = (
    ("window_joins", (), "a join called its function for other pairs"),
    ("late_drop", (), "a late record was dropped with other values"),
    ("window_merge", ("into_start", "into_end"), "a window was merged into another one"),
    ("window_merge", (), "a window was merged at another time"),
    ("window_fire", ("rows", "fingerprint_sum", "fingerprint_xor"), "a window fired with other contents"),
    ("window_fire", ("watermark", "intakes_before"), "a window fired at another time"),
    ("window_fire", (), "a window fired with another result or cause"),
)
"""By table the columns of which one differs, of a row that is recorded with other values than expected."""
_BY_CLOCK: Final = int(FireCause.PROCESSING_TIME_TIMER)


def _watermarks(facts: Slice) -> Mask:
    """Which rows of ``task_watermark`` are the watermarks of the operator."""
    marks = facts.of("task_watermark")
    of: Mask = (marks.column("input") == 0) & (marks.column("kind") == ElementKind.WATERMARK)
    return of


class WindowTimeline:
    """One window operator of one subtask, or only its keys in ``part``."""

    def __init__(
        self, task: int, operator: int, plan: WindowPlan, findings: Sequence[Findings], part: KeyPart | None
    ) -> None:
        """``findings``: those of laws window-fire, late-rows and window-joins, in this order."""
        self.operator = operator
        self.model = WindowModel(plan)
        self.intakes = 0
        """Number of intakes of the part's keys; ``model.intakes`` counts those of all keys."""
        self.dropped = [0, 0]
        """Late records that were only counted, and those for the side output."""
        self._task = task
        self._plan = plan
        self._fires, self._drops, self._calls = findings
        self._part = part
        self._last_cause = -1
        """Sequence number of the last intake or watermark: in a prefix, its effects may be missing."""
        self._clock_ns = 0
        """The time of the last intake; the clock of a task does not decrease."""
        self._fire_before: Row | None = None
        """The previous row, if it is a firing."""
        self._waits = plan.merging and not plan.event_time
        """Whether an intake waits for the merges recorded after it: they show what happened before it."""
        self._waiting: Intake | None = None
        self._merges: list[tuple[int, Row]] = []

    @reads(
        {table: ("operator", *columns) for table, columns in _COLUMNS.items()},
        task_watermark=("input", "kind", "timestamp"),
        window_intake=("operator", *_INTAKE),
    )
    def feed(self, facts: Slice) -> None:
        """Processes all rows in order: the records between two other rows at once."""
        events = facts.merged(*self._parts(facts))
        seqs, own_seqs, records, sums = self._records(facts)
        at = [seq - (what == _MARK) for seq, what, _ in events]
        before, own_before = (np.searchsorted(each, at, "right").tolist() for each in (seqs, own_seqs))
        first, taken, own, model = self.model.intakes, 0, 0, self.model
        ahead = iter(sums)
        for (seq, what, row), upto, own_upto in zip(events, before, own_before, strict=True):
            if upto > taken:
                self._take_in(islice(records, own_upto - own), first + upto)
                taken, own, self._last_cause = upto, own_upto, int(seqs[upto - 1])
            if what == _MERGE and self._waiting is not None:
                self._merges.append((seq, row))
                continue
            self._release()
            if what == _FIRE:
                self._fire(seq, row)
                continue
            if what == _CALLS:
                self._take_calls(seq, row)
                continue
            self._fire_before = None
            if what == _MERGE:
                self._merge(seq, row)
            elif what == _DROP:
                self._drop(seq, row)
            else:
                self._last_cause = seq
                model.add(next(ahead))
                model.advance(seq, row[0])
        if len(seqs) > taken:
            self._take_in(records, first + len(seqs))
            self._last_cause = int(seqs[-1])
        model.add(next(ahead))

    def _parts(self, facts: Slice) -> list[Part]:
        """The columns of all rows but intakes, in the order of the constants."""
        parts: list[Part] = [("task_watermark", ("timestamp",), _watermarks(facts))]
        parts += ((table, names, rows_of(facts.of(table), self.operator)) for table, names in _COLUMNS.items())
        return parts if self._plan.join else parts[:_CALLS]

    def _records(self, facts: Slice) -> tuple[Ints, Ints, Iterator[Intake], list[list[Sum]]]:
        """Sequence numbers of the intakes of all keys; of the part's keys outside sums the sequence numbers and the
        intakes; and the sums up to each watermark."""
        rows = facts.of("window_intake")
        mask = rows_of(rows, self.operator)
        seq, key, timestamp, fingerprint, time_ns, watermark, gap, side = (
            rows.column(name)[mask] for name in ("seq", *_INTAKE)
        )
        clock = np.maximum.accumulate(np.maximum(time_ns, self._clock_ns))
        self._clock_ns = int(clock[-1]) if len(clock) else self._clock_ns
        number = np.arange(self.model.intakes + 1, self.model.intakes + 1 + len(seq))
        assigned = self._plan.assign(timestamp, clock, gap)
        columns: list[Ints] = [number, seq, key, timestamp, fingerprint, clock, watermark, *assigned, side != 0]
        if self._part is not None:
            own = rows_of(rows, self.operator, self._part)[mask]
            columns = [column[own] for column in columns]
        self.intakes += len(columns[0])
        marks, is_mark = facts.of("task_watermark"), _watermarks(facts)
        marked = marks.column("seq")[is_mark], marks.column("timestamp")[is_mark]
        plain, sums = summed(self._plan, self.model.watermark, marked, columns)
        columns = [column[~plain] for column in columns]
        return seq, columns[1], zip(*(column.tolist() for column in columns), strict=True), sums

    def _wrong_watermark(self, findings: Findings, table: str, seq: int, found: int, expected: int) -> None:
        where = {"operator": self.operator, "table": table, "seq": seq, "expected": expected, "found": found}
        findings.broken(
            "the recorded watermark is not the watermark of the task", (self._task, seq), task=self._task, **where
        )

    def _take_in(self, records: Iterator[Intake], intakes: int) -> None:
        """Consecutive intakes, with those of other parts between ``records``; ``intakes``: their number so far."""
        self._fire_before = None
        model = self.model
        if not self._waits:
            model.take_in(records)
        else:
            for record in records:
                self._release()
                self._waiting = record
            if self._waiting is not None and self._waiting[0] != intakes:
                self._release()
        model.intakes = intakes
        self._report_misread()

    def _report_misread(self) -> None:
        for misread in self.model.misread:
            self._wrong_watermark(self._fires, "window_intake", *misread)
        self.model.misread.clear()

    def _release(self) -> None:
        """The row after an intake is not a merge: all merges recorded with it are known."""
        record, merges = self._waiting, self._merges
        if record is None:
            return
        self._waiting, self._merges = None, []
        self.model.take_in_one(record, {row[2:4] for _, row in merges if row[1] == record[2]})
        for seq, row in merges:
            self._merge(seq, row)

    def _merge(self, seq: int, row: Row) -> None:
        model = self.model
        if not is_in(row[1], self._part):
            return
        self._fires.examined += 1
        model.merges.record((*row[1:], model.watermark, model.intakes), seq)
        if row[0] != model.watermark:
            self._wrong_watermark(self._fires, "window_merge", seq, row[0], model.watermark)

    def _drop(self, seq: int, row: Row) -> None:
        model = self.model
        if not is_in(row[1], self._part):
            return
        self._drops.examined += 1
        self.dropped[1 if row[4] else 0] += 1
        model.drops.record((model.intakes, *row[1:]), seq)
        if row[0] != model.watermark:
            self._wrong_watermark(self._drops, "late_drop", seq, row[0], model.watermark)

    def _take_calls(self, seq: int, row: Row) -> None:
        if is_in(row[0], self._part):
            self._calls.examined += 1
            self.model.calls.record((*row, self.model.intakes), seq)

    def _fire(self, seq: int, row: Row) -> None:
        model = self.model
        watermark, time_ns, key, start, end, _, _, _, _, cause, at = row
        before, self._fire_before = self._fire_before, row
        own, predictable = is_in(key, self._part), self._plan.predictable
        if own and not predictable:
            self._fire_unpredicted(seq, row)
        if cause == _BY_CLOCK:
            model.reach_clock(seq, at, self._last_cause)
            if own:
                model.fire_by_clock((key, start, end), at)
        if not own:
            return
        self._fires.examined += 1
        if predictable:
            model.fires.record((*row[2:], model.watermark, model.intakes), seq)
            if cause == _BY_CLOCK and time_ns < (at + 1) * NS_PER_MS:
                self._broken("a window fires before its time", seq, row, time_ns=time_ns)
            if before is not None and before[9] == cause and (before[10] > at if cause else before[3] < start):
                self._broken(
                    "windows fire in the wrong order", seq, row, after_at=before[10], after_window_start=before[3]
                )
        if watermark != model.watermark:
            self._wrong_watermark(self._fires, "window_fire", seq, watermark, model.watermark)

    def _fire_unpredicted(self, seq: int, row: Row) -> None:
        """Contents only: the rows of the window since its last purge."""
        _, _, key, start, end, rows, total, xor, result, _, _ = row
        held = self.model.fire_unpredicted((key, start, end), rows, result, self._last_cause)
        fits = held is not None and (rows <= held[0] if self._plan.unknown_evictor else held[:3] == (rows, total, xor))
        if not fits:
            expected = None if held is None else dict(zip(_FIRED[3:6], held, strict=False))
            self._broken("the window fires with other contents than it has", seq, row, expected=expected)

    def _broken(self, what: str, seq: int, row: Row, **where: object) -> None:
        fired = _shown(_FIRED, row[2:])
        self._fires.broken(what, (self._task, seq), task=self._task, operator=self.operator, seq=seq, **fired, **where)

    def end(self, whole: bool) -> None:
        """Reports what is missing or unexpected."""
        self._release()
        self._report_misread()
        model, last_cause = self.model, None if whole else self._last_cause
        context = ("watermark", "intakes_before")
        for findings, table, unmatched, columns in (
            (self._fires, "window_fire", model.fires, (*_FIRED, *context)),
            (self._fires, "window_merge", model.merges, (*_MERGED, *context)),
            (self._drops, "late_drop", model.drops, ("intakes_before", *_COLUMNS["late_drop"][1:])),
            (self._calls, "window_joins", model.calls, (*_COLUMNS["window_joins"], "intakes_before")),
        ):
            subject = itemgetter(*map(columns.index, _SUBJECTS[table]))
            for expected, recorded, seq in unmatched.settle(last_cause, subject):
                row = expected if recorded is None else recorded
                assert row is not None
                shown = _shown(columns, row)
                what = _WORDS[table][recorded is not None]
                if expected is not None and recorded is not None:
                    differing = {
                        name: value for name, value in _shown(columns, expected).items() if value != shown[name]
                    }
                    shown |= {f"expected_{name}": value for name, value in differing.items()}
                    what = next(
                        text
                        for of, names, text in _OTHERWISE
                        if of == table and not differing.keys().isdisjoint(names or shown)
                    )
                findings.broken(what, (self._task, seq), task=self._task, operator=self.operator, table=table, **shown)
        self._fires.examined += self.intakes
        self._drops.examined += self.intakes
        self._calls.examined += self.intakes if self._plan.join else 0


def _shown(columns: Sequence[str], row: Row) -> dict[str, object]:
    """A row as evidence; column ``at`` has another name there."""
    shown: dict[str, object] = dict(zip(columns, row, strict=True))
    if "cause" in shown:
        shown["cause_at"] = shown.pop("at")
        shown["cause"] = named(FireCause, row[columns.index("cause")])
        shown["result"] = named(WindowResult, row[columns.index("result")])
    return shown
