"""Laws joins and window-joins: a join calls its function for every matching pair, and for no other."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heappop, heappush
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.event_time.origins import CombinedInputs
from flowsim.laws.event_time.paths import WATERMARK, EventTimePaths
from flowsim.laws.findings import Findings, FoundByLaw
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Attempts, Law
from flowsim.laws.machine import Machine, on_row
from flowsim.laws.windows.plan import JOINS, late_operators
from flowsim.laws.windows.unmatched import Unmatched
from flowsim.laws.windows.window_laws import WINDOW_JOINS, WindowMachine
from flowsim.units import NO_TIMESTAMP
from flowsim.values.java_long import wrapped

ID: Final = "joins"
KIND: Final = "interval_join"
Bounds = tuple[int, int]
"""A left record at t joins right records from t plus the first to t plus the second, in ms."""
Buffer = dict[int, dict[int, list[int]]]
"""The fingerprints of the waiting records, by key and timestamp."""


class JoinModel:
    """The buffers of both sides, and the removal time of each key's timestamps (rules 10.33 to 10.36)."""

    __slots__ = ("_buffers", "_reaches", "_removals", "intakes", "pairs", "watermark")

    def __init__(self, bounds: Bounds) -> None:
        lower, upper = bounds
        self.pairs = Unmatched()
        """Number of intakes so far, key, fingerprints of the left and the right record, and timestamp of the result."""
        self.intakes = 0
        self.watermark = NO_TIMESTAMP
        self._reaches = ((lower, upper), (-upper, -lower))
        """The range in which a record of each side meets records of the other side."""
        self._buffers: tuple[Buffer, Buffer] = ({}, {})
        self._removals: list[tuple[int, int, int, int]] = []
        """A heap: time, side, key and timestamp."""

    def advance(self, watermark: int) -> None:
        """Rule 10.36."""
        self.watermark = watermark
        removals = self._removals
        while removals and removals[0][0] <= watermark:
            _, side, key, timestamp = heappop(removals)
            waiting = self._buffers[side][key]
            del waiting[timestamp]
            if not waiting:
                del self._buffers[side][key]

    def take_in(self, seq: int, key: int, timestamp: int, fingerprint: int, side: int) -> None:
        """A record of side 0 or 1; it is late if it is below the watermark (rule 10.35)."""
        self.intakes += 1
        if timestamp < self.watermark:
            return
        first, last = self._reaches[side]
        waiting = self._buffers[side].setdefault(key, {})
        if timestamp not in waiting:
            waiting[timestamp] = []
            heappush(self._removals, (wrapped(timestamp + max(last, 0)), side, key, timestamp))
        waiting[timestamp].append(fingerprint)
        lowest, highest = wrapped(timestamp + first), wrapped(timestamp + last)
        for at, partners in self._buffers[1 - side].get(key, {}).items():
            for partner in partners if lowest <= at <= highest else ():
                left, right = (partner, fingerprint) if side else (fingerprint, partner)
                self.pairs.expect((self.intakes, key, left, right, max(at, timestamp)), seq)


class JoinMachine(Machine):
    """Examines one interval join of one subtask."""

    def __init__(self, task: Task, operator: int, bounds: Bounds, found: Findings) -> None:
        self._task = task.task
        self._operator = operator
        self._found = found
        self._inputs = CombinedInputs(task.inputs)
        self._model = JoinModel(bounds)
        self._last_cause = -1
        """Sequence number of the last intake or watermark."""

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw) -> JoinMachine | None:
        operator, bounds = graph.once(joins_of).get(task.vertex, (None, None))
        return None if operator is None or bounds is None else cls(task, operator.operator, bounds, found[ID])

    @on_row("task_watermark")
    def _mark(self, seq: int, input: int, kind: int, timestamp: int) -> None:
        self._last_cause = seq
        for combined, value in self._inputs.take(input, kind, timestamp):
            if combined == WATERMARK:
                self._model.advance(value)

    @on_row("window_intake")
    def _take_in(
        self, seq: int, operator: int, key: int, timestamp: int, fingerprint: int, watermark: int, side: int
    ) -> None:
        if operator != self._operator:
            return
        self._found.examined += 1
        self._last_cause = seq
        self._model.take_in(seq, key, timestamp, fingerprint, 1 if side else 0)
        if watermark != self._model.watermark:
            self._broken("the recorded watermark is not the watermark of the task", seq,
                         expected=self._model.watermark, found=watermark)  # fmt: skip

    @on_row("join_pairs")
    def _pair(
        self, seq: int, operator: int, key: int, left_fingerprint: int, right_fingerprint: int, timestamp: int
    ) -> None:
        if operator == self._operator:
            self._found.examined += 1
            pair = (self._model.intakes, key, left_fingerprint, right_fingerprint, timestamp)
            self._model.pairs.record(pair, seq)

    def _broken(self, what: str, seq: int, **where: object) -> None:
        place = {"task": self._task, "operator": self._operator, "seq": seq}
        self._found.broken(what, (self._task, seq), **place, **where)

    def end(self, whole: bool) -> None:
        columns = ("intakes_before", "key", "left_fingerprint", "right_fingerprint", "timestamp")
        # Each pair is its own subject.
        for expected, recorded, seq in self._model.pairs.settle(None if whole else self._last_cause, lambda row: row):
            what = "a pair was not joined" if recorded is None else "a pair was joined again, or should not be joined"
            self._broken(what, seq, **dict(zip(columns, recorded or expected or (), strict=True)))


def joins_of(graph: JobGraph) -> Mapping[int, tuple[Operator, Bounds | None]]:
    """The interval join of each job vertex, with its bounds; None if it is not judged."""
    found: dict[int, tuple[Operator, Bounds | None]] = {}
    for operator in graph.operators:
        if operator.kind == KIND:
            lower, upper = operator.params.get("lower_ms"), operator.params.get("upper_ms")
            judged = (
                operator.input_operator == -1
                and not graph.once(EventTimePaths).holds_back(operator.vertex)
                and operator.params.get("batch") is not True
            )
            bounds = (lower, upper) if isinstance(lower, int) and isinstance(upper, int) else None
            found[operator.vertex] = operator, bounds if judged else None
    return found


def _needs_joins(graph: JobGraph) -> str:
    judged = any(bounds is not None for _, bounds in graph.once(joins_of).values())
    return "" if judged else "the job has no interval join that this law checks"


def _unjudged(graph: JobGraph) -> str:
    return _named([operator.name for operator, bounds in graph.once(joins_of).values() if bounds is None])


def _window_joins(graph: JobGraph) -> tuple[list[str], list[str]]:
    """The names of the window joins and coGroups that the law checks, and of the others."""
    names: tuple[list[str], list[str]] = [], []
    for operator, plan in (each for found in graph.once(late_operators).values() for each in found):
        if operator.params.get("join") in JOINS:
            names[plan is None or not plan.join].append(operator.name)
    return names


def _needs_window_joins(graph: JobGraph) -> str:
    return "" if graph.once(_window_joins)[0] else "the job has no window join or coGroup that this law checks"


def _unjudged_windows(graph: JobGraph) -> str:
    return _named(graph.once(_window_joins)[1])


def _named(names: list[str]) -> str:
    return f"not checked: {', '.join(names)}" if names else ""


_COUNTS: Final = """\
- An operator of kind `interval_join` with `params.lower_ms` and `params.upper_ms` is *judged* if it is the head of its
  chain and has neither `params.batch` nor `params.interruptible_timers`. (With them, a record may be processed between
  the timers of one
  watermark, so the facts do not determine which records still wait.) Not applicable: no judged operator.
- Each judged operator of each subtask is judged separately. Its *watermark* at a row is the last WATERMARK that the
  inputs of its task make before the row (see [Causes](#laws-about-watermarks-and-idleness)), or `MIN`.
- A left record (`side` 0) with timestamp t *meets* right records from t + `lower_ms` to t + `upper_ms`. Its *reach* is
  `upper_ms`, but at least 0. A right record with timestamp t meets left records from t - `upper_ms` to t - `lower_ms`.
  Its reach is -`lower_ms`, but at least 0 (rule 10.33). The sums are Java longs.
- A record is *late* if its timestamp is below the watermark at its intake: it meets no record (rule 10.35). Every other
  record *waits* from its intake until the watermark rises, after the intake, to timestamp + reach or above (rule
  10.36).
- Expected pairs: each intake that is not late makes one pair with each earlier record of its key on the other side, if
  this record still waits and the two records meet. A pair consists of the number of intakes before it, the key, both
  fingerprints and the later timestamp.
- Rows examined: `window_intake` and `join_pairs` rows of judged operators.
- Violations: missing and unexpected pairs, and each `window_intake` row whose `watermark` column is not the watermark.
  In a prefix, the pairs of the last intake are not missing if no intake and no row of `task_watermark` is after it. The
  order of the pairs of one record is not judged.
"""

_COUNTS_OF_WINDOWS: Final = """\
- The law judges the judged window operators with `params.join` that have no evictor, or an evictor that window-fire
  predicts. Not applicable: there is none.
- Expected rows: one for each firing with the result FIRE or FIRE_AND_PURGE. These are the expected firings of
  window-fire. If window-fire does not predict the firings of the operator, they are the recorded firings of windows
  with contents. The key, start, end and intakes before are those of the firing. The other columns follow from the
  contents that the window function gets:
  - `left_rows` and `left_sum` are the number of intakes with `side` 0 and the sum of their fingerprints;
  - `right_rows` and `right_sum` are the same for all other intakes;
  - `calls` is left_rows * right_rows for a join, and 1 for a coGroup;
  - `product_sum` is left_sum * right_sum, which equals the sum of left * right over all pairs (rule 10.37). Sums and
    products are Java longs.
- Actual rows: the rows of `window_joins`, with their intakes before.
- Rows examined: `window_intake` and `window_joins` rows of these operators.
- Violations: missing and unexpected rows; a missing and an unexpected one of the same key and window are one. In a
  prefix, a row is not missing if it results from the last cause of the (task, operator), or from a firing after that
  cause.
"""

LAWS: Final = (
    Law(
        ID,
        "An interval join calls its function once for every pair of records of a key within its bounds, "
        "unless one of them is late or already removed, and for no other pair.",
        ("10.33", "10.34", "10.35", "10.36"),
        Level.ELEMENTS,
        JoinMachine,
        _needs_joins,
        _unjudged,
        attempts=Attempts.FRESH,
        counts=_COUNTS,
    ),
    Law(
        WINDOW_JOINS,
        "When a window fires, a window join calls its function once for every pair of a left and a right record in it, "
        "and a coGroup calls its function once with the records of both sides.",
        ("10.37",),
        Level.ELEMENTS,
        WindowMachine,
        _needs_window_joins,
        _unjudged_windows,
        attempts=Attempts.FRESH,
        counts=_COUNTS_OF_WINDOWS,
        of_keys=WindowMachine.make,
    ),
)
