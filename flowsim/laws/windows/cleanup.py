"""Law cleanup: the state of a key in a window or interval join has a timer that removes it (rules 10.8, 10.26, 10.36)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Final

import numpy as np

from flowsim.facts.kinds import Level, TimeDomain, TimerAction
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Ints, Row, Slice
from flowsim.laws.windows.joins import Bounds, joins_of
from flowsim.laws.windows.merging import MergingWindows
from flowsim.laws.windows.panes import PaneId
from flowsim.laws.windows.plan import WindowPlan, last_of, late_operators, rows_of
from flowsim.laws.windows.summed_records import distinct
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.java_long import wrapped

ID: Final = "cleanup"
_REGISTER, _FIRE = int(TimerAction.REGISTER), int(TimerAction.FIRE)
_EVENT_TIME: Final = int(TimeDomain.EVENT_TIME)
_TIMERS: Final = ("action", "domain", "timestamp", "key", "window_start", "window_end")
_TAKEN: Final = ("seq", "key", "watermark", "side", "timestamp", "time_ns", "gap")

Piece = PaneId
"""The state that one timer removes: a window of a key, or the records of a key, a side (from 1) and a time of an
interval join.
"""


class CleanupMachine(Machine):
    """Examines one operator of one subtask: whether its state and the timers that remove it match."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        operator, plan = graph.once(_judged)[task.vertex]
        self._place = {"task": task.task, "operator": operator}
        self._plan = plan
        self._found = found[ID]
        self._merging = isinstance(plan, WindowPlan) and plan.merging
        self._windows = MergingWindows()
        self._kept: set[Piece] = set()
        self._waiting: set[Piece] = set()
        """The pieces with a waiting timer."""
        self._reported: set[Piece] = set()
        """The reported pieces without timer, until one is registered."""
        self._touched: dict[Piece, None] = {}
        """Pieces that must have a timer after the current record or timer."""
        self._absorbed: list[Piece] = []
        self._settled: set[Row] = set()
        """Handled records: another one with the same key and windows has no effect until the next timer row."""
        self._cause = -1
        self._fires = False
        """A timer is being handled, not a record."""

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> CleanupMachine | None:
        return cls(graph, task, found) if task.vertex in graph.once(_judged) else None

    @reads(window_intake=("operator", *_TAKEN), timers=("operator", *_TIMERS))
    def _replay(self, facts: Slice) -> None:
        timers = facts.merged(("timers", _TIMERS, rows_of(facts.of("timers"), self._place["operator"])))
        rows = facts.of("window_intake")
        mask = rows_of(rows, self._place["operator"])
        seq, key, watermark, side, *about = (rows.column(name)[mask] for name in _TAKEN)
        self._found.examined += len(seq) + len(timers)
        columns = [key, *(self._plan.assign(*about) if isinstance(self._plan, WindowPlan) else (about[0], side))]
        if not self._merging:
            unsettled = [at for at, _, row in timers if row[0] != _REGISTER]
            first = _first_ones(np.searchsorted(unsettled, seq), *columns)
            seq, watermark, columns = seq[first], watermark[first], [column[first] for column in columns]
        taken = zip(*(column.tolist() for column in columns), strict=True)
        records = zip(seq.tolist(), watermark.tolist(), taken, strict=True)
        before = np.searchsorted(seq, [at for at, _, _ in timers]).tolist()
        for (at, _, row), first, upto in zip(timers, [0, *before], before, strict=False):
            self._take_in(islice(records, upto - first))
            self._take_timer(at, row)
        self._take_in(records)

    def _take_in(self, records: Iterable[tuple[int, int, Row]]) -> None:
        """Records without a timer in between: sequence number, watermark, and the arguments of ``_pieces``."""
        settled = self._settled
        for seq, watermark, row in records:
            if row in settled and not self._touched:
                continue
            self._settle(seq)
            pieces = self._pieces(row[0], row[1], row[2], watermark)
            self._kept.update(pieces)
            without_timer = [p for p in pieces if p not in self._waiting and p not in self._reported]
            self._touched.update(dict.fromkeys(without_timer))
            if not without_timer and not self._merging:
                settled.add(row)

    def _pieces(self, key: int, first: int, second: int, watermark: int) -> list[Piece]:
        """The pieces of a record; ``first`` and ``second``: as ``WindowPlan.assign``, or its timestamp and side."""
        plan = self._plan
        if not isinstance(plan, WindowPlan):
            reach = max(-plan[0] if second else plan[1], 0)
            return [(key, 2 if second else 1, wrapped(first + reach))] if first >= watermark else []
        if plan.merging:
            whole, absorbed, _ = self._windows.unite((key, first, second))
            self._kept.difference_update(absorbed)
            self._absorbed += absorbed
            windows = [whole]
        else:
            starts = range(first, first - second * plan.slide_ms, -plan.slide_ms)
            windows = [(key, start, wrapped(start + plan.size_ms)) for start in starts]
        late = watermark if plan.event_time else NO_TIMESTAMP
        pieces = [window for window in windows if plan.cleanup_of(last_of(*window[1:])) > late]
        if plan.merging and not pieces:
            self._windows.forget(windows[0])
        return [piece for piece in pieces if plan.cleanup_of(last_of(*piece[1:])) != MAX_WATERMARK]

    def _take_timer(self, seq: int, row: Row) -> None:
        action, domain, at, key, start, end = row
        if action == _FIRE:
            self._settled.clear()
            self._settle(seq, True)
        plan, piece = self._plan, (key, start, end)
        if not isinstance(plan, WindowPlan):
            piece = (key, start, at)
        elif (domain == _EVENT_TIME) != plan.event_time or at != plan.cleanup_of(last_of(start, end)):
            return
        if action == _REGISTER:
            self._waiting.add(piece)
            self._reported.discard(piece)
            return
        self._settled.clear()
        self._waiting.discard(piece)
        if action == _FIRE:
            self._kept.discard(piece)
            self._windows.forget(piece)
        elif not (self._fires and isinstance(plan, WindowPlan) and plan.may_delete_cleanup):
            self._touched[piece] = None

    def _settle(self, seq: int = -1, fires: bool = False) -> None:
        """The record or timer before ``seq`` has been handled."""
        for piece in self._touched:
            if piece in self._kept and piece not in self._waiting:
                self._reported.add(piece)
                self._broken("state has no timer that removes it", piece)
        for piece in self._absorbed:
            if piece in self._waiting:
                self._waiting.discard(piece)
                self._broken("a window was merged into another one, but its cleanup timer is still registered", piece)
        self._touched.clear()
        self._absorbed.clear()
        self._cause, self._fires = seq, fires

    def _broken(self, what: str, piece: Piece) -> None:
        names = (
            ("key", "window_start", "window_end") if isinstance(self._plan, WindowPlan) else ("key", "side", "until")
        )
        where = {**self._place, "seq": self._cause, **dict(zip(names, piece, strict=True))}
        self._found.broken(what, (self._place["task"], self._cause), **where)

    def end(self, whole: bool) -> None:
        """In a prefix the last record or timer may be handled incompletely."""
        if whole:
            self._settle()


def _first_ones(*columns: Ints) -> Ints:
    """Indexes of the rows that differ from all earlier ones, and of the rows after them."""
    first, _ = distinct(*columns)
    both: Ints = np.union1d(first, first + 1)
    return both[both < len(columns[0])]


def _judged(graph: JobGraph) -> Mapping[int, tuple[int, WindowPlan | Bounds]]:
    """The judged head operator of each job vertex."""
    found: dict[int, tuple[int, WindowPlan | Bounds]] = {}
    for vertex, operators in graph.once(late_operators).items():
        for operator, plan in operators:
            if plan is not None:
                found[vertex] = operator.operator, plan
    for vertex, (operator, bounds) in graph.once(joins_of).items():
        if bounds is not None:
            found[vertex] = operator.operator, bounds
    return found


def _needs_judged(graph: JobGraph) -> str:
    return "" if graph.once(_judged) else "the job has no window or interval join that this law checks"


_COUNTS: Final = """\
- The law judges the judged window operators, and the interval joins that the law `joins` judges. Not applicable: there
  is none.
- A *piece* is the state that one timer removes:
  - Window operator: a window of a key. Its timer has the bounds, the clock (`domain`) and the cleanup time of the
    window. A window whose cleanup time is `MAX` is not a piece.
  - Interval join: the records of a key, a side and a timestamp t. Its timer is an event-time timer at t + reach (see
    joins). Both bounds of the window of this timer are the side (left: 1, right: 2).
- A piece is *kept* from an intake that adds a record to it, until its timer fires or, if windows merge, until an intake
  makes it part of a larger window. An intake adds no record to an event-time window whose cleanup time is at most the
  `watermark` column of the intake. It adds no record to a join if its timestamp is below this column.
- A timer *waits* from its REGISTER row in `timers` to its next DELETE or FIRE row. An intake or a FIRE row is *handled*
  from its row to the next intake or FIRE row of its operator.
- Rows examined: `window_intake` and `timers` rows of these operators.
- Violations, after each handling (in a prefix, not after the last one):
  - 1 for each kept piece without a waiting timer, if a record was added to the piece in the handling, or the timer of
    the piece has a DELETE row in the handling. The piece does not count again until a timer is registered for it;
  - 1 for each piece that a larger window absorbed in the handling and whose timer still waits.
- Exception: a DELETE row in the handling of a FIRE row does not count if the trigger is not one of Flink's, or if it is
  or contains a `timeout` with `clear_on_timeout`. Such a `timeout` deletes the timer of its nested trigger, which may
  be the timer of the piece (rules 10.15, 10.23).
- Law timers requires that every due timer fires. So no piece is kept after event time has reached `MAX`.
"""

LAWS: Final = (
    Law(
        ID,
        "All state of a key in a window or an interval join has a timer that removes it. No timer remains "
        "for a window that was merged into another window.",
        ("10.8", "10.15", "10.23", "10.26", "10.36"),
        Level.FULL,
        CleanupMachine,
        _needs_judged,
        attempts=Attempts.FRESH,
        counts=_COUNTS,
    ),
)
