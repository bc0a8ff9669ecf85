"""Laws window-fire, late-rows and lateness: one machine for all operators of a task that can detect late records."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Attempts, KeyPart, Law
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Slice
from flowsim.laws.windows.lateness import LateCounts, LateOperator, compare_late_counts
from flowsim.laws.windows.plan import LATE_KINDS, late_operators
from flowsim.laws.windows.timeline import WindowTimeline

WINDOW_FIRE: Final = "window-fire"
LATE_ROWS: Final = "late-rows"
LATENESS: Final = "lateness"
WINDOW_JOINS: Final = "window-joins"


class WindowMachine(Machine):
    """Examines the operators of one task that can detect late records; with ``part`` only some of their keys.

    Every part counts the intakes of all keys and gets all watermarks. The first part also gets the counters of
    operators and channels; results of parts are added (``LateCounts.add``) before the join compares them.
    """

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw, part: KeyPart | None = None) -> None:
        findings = [found[law] for law in (WINDOW_FIRE, LATE_ROWS, WINDOW_JOINS)]
        self._lateness = found.get(LATENESS)
        self._counts = LateCounts()
        self._first = part is None or part[0] == 0
        self._sends = task.vertex in graph.once(_senders_to_the_side)
        self._windows: list[WindowTimeline] = []
        self._others: list[LateOperator] = []
        for operator, plan in graph.once(late_operators)[task.vertex]:
            if plan is not None:
                self._windows.append(WindowTimeline(task.task, operator.operator, plan, findings, part))
            else:
                self._others.append(LateOperator(operator, part))

    @classmethod
    def make(cls, graph: JobGraph, task: Task, found: FoundByLaw, part: KeyPart | None = None) -> WindowMachine | None:
        return cls(graph, task, found, part) if task.vertex in graph.once(late_operators) else None

    @reads(WindowTimeline.feed)
    def _feed_windows(self, facts: Slice) -> None:
        for window in self._windows:
            window.feed(facts)

    @reads(LateOperator.feed)
    def _feed_others(self, facts: Slice) -> None:
        for other in self._others:
            other.feed(facts)

    @reads(LateCounts.add_counters, LateCounts.add_sent, law=LATENESS)
    def _count(self, facts: Slice) -> None:
        if self._lateness is not None and self._first:
            self._counts.add_counters(facts)
            if self._sends:
                self._counts.add_sent(facts)

    def end(self, whole: bool) -> LateCounts | None:
        for window in self._windows:
            window.end(whole)
        if self._lateness is None:
            return None
        counts = self._counts
        for window in self._windows:
            counts.known.add(window.operator)
            counts.late[window.operator] += window.model.late
        for other in self._others:
            if other.is_join:
                counts.known.add(other.operator)
                counts.late[other.operator] += other.late
        examined: list[WindowTimeline | LateOperator] = [*self._windows, *self._others]
        for each in examined:
            counts.dropped[each.operator] += each.dropped[0]
            counts.aside[each.operator] += each.dropped[1]
            self._lateness.examined += each.intakes + sum(each.dropped)
        return counts


def _senders_to_the_side(graph: JobGraph) -> set[int]:
    """The job vertices with an edge of a side output, perhaps of late records."""
    return {edge.source_vertex for edge in graph.edges.values() if edge.side_output}


def _needs_windows(graph: JobGraph) -> str:
    plans = (plan for operators in graph.once(late_operators).values() for _, plan in operators)
    if any(plan is not None for plan in plans):
        return ""
    return "the job has no window with a known assigner at the head of a chain with one input"


def _needs_late_operators(graph: JobGraph) -> str:
    if any(operator.kind in LATE_KINDS for operator in graph.operators):
        return ""
    return "no operator of the job can find a record late"


def _unjudged(graph: JobGraph) -> str:
    """The window operators with parts that are not judged; '' if there are none."""
    missing = []
    for operators in graph.once(late_operators).values():
        for operator, plan in operators:
            what = "all" if plan is None else plan.unjudged
            if operator.kind == "window" and what:
                missing.append(f"{operator.name} ({what})")
    return f"not checked: {', '.join(missing)}" if missing else ""


_COUNTS_WINDOW_FIRE: Final = """\
**Predicted firings.** The facts determine the firings of an operator with these settings:
- `params.trigger` is `event_time`, `processing_time`, `count`, `continuous_event_time`, `continuous_processing_time`,
  `never` or `end_of_stream`, or it consists of these inside any number of `purging`, `timeout` and `any_of` triggers
  (rules 10.17 to 10.23);
- the operator has no evictor, or a `time` or `count` evictor (rules 10.30, 10.31).

The facts do not determine the firings in these cases:
- a trigger or evictor `delta` or `custom`: the results of the user's function are not recorded;
- a `count` evictor if windows merge: Flink does not define which window's records come first;
- a `timeout` over sliding windows: the clock may advance between two windows of one record, while results wait for a
  buffer;
- a trigger that uses watermarks on processing-time windows (except the global window): the cleanup of such a window is
  not recorded, so the window may or may not still exist at a watermark;
- a `timeout` with `clear_on_timeout` inside an `any_of`, if the trigger has a `purging`, or the operator an evictor: a
  timeout of a window that another part has emptied is not recorded, and after it the next record begins a new one.

In these cases the law judges only the contents of each recorded firing, and the reason of the outcome says so.

- Not applicable: no judged window operator.
- An event-time intake skips each of its windows whose cleanup time is at most its derived watermark. It is added to its
  other windows, and each of them calls its trigger. An intake with timestamp `MIN` belongs to no tumbling or sliding
  event-time window, and is not late (rule 10.2: the job fails).
- If windows merge, these rules apply to the merged window. It has the rows of all its members, and the state of their
  triggers (rules 10.25 to 10.28). If the assigned window of an intake equals an existing merged window, the earlier
  contents of this window are dropped, as in Flink's merging set.
- Expected firings follow from the trigger and its timers. A window without rows does not fire. A firing has key, start,
  end, watermark, intakes before, contents, `result`, `cause` and `at`. The contents are (number of rows, sum of
  fingerprint >> 31, exclusive or of fingerprints), after an evictor that evicts before the window function. A firing
  results from
  - a record: `cause` is ELEMENT, `at` is the timestamp of the record, and the watermark is the derived watermark of the
    intake;
  - an event-time timer: `cause` is EVENT_TIME_TIMER, and `at` is the time of the timer. The first WATERMARK row with a
    timestamp at or above this time causes the firing, which has the timestamp of this row as its watermark. If the time
    is the cleanup time, the window is cleaned up afterwards;
  - a processing-time timer: `cause` is PROCESSING_TIME_TIMER, and `at` is the time of the timer.
- Only recorded firings show when processing-time timers run: at a recorded firing of such a timer, all processing-time
  timers of the operator with an earlier time (in ms) have run. If such a timer made a window with rows fire, the firing
  must be recorded. Exception: the timer may have run before the first of these rows. This is possible if the timer was
  set before the intake of that row, and the `time_ns` of the intake is at least the timer's time + 1 ms. Timers that
  remain at the end of the input do not fire.
- Expected merges, for each intake of a session: one for each window that is merged into a larger one. A merge has key,
  start, end, start and end of the larger window, watermark and intakes before. A processing-time window that ends in
  the millisecond in which the assigned window of the intake begins may have been cleaned up just before. If the rows of
  `window_merge` directly after the intake contain its merge, it was not cleaned up. If the assigned window ends with
  the current millisecond, as with a gap of 1 ms, the merge fails the job instead (rule 10.26), and has no row.
- Actual firings and merges: the rows of `window_fire` and `window_merge`, with their derived watermarks and intakes
  before.
- Rows examined: `window_intake`, `window_fire` and `window_merge` rows of judged operators.
- Violations:
  - missing and unexpected firings, if firings are predicted. A missing and an unexpected firing of the same key and
    window are one violation: the window fired with other contents, at another time, or with another result or cause;
  - missing and unexpected merges; of the same key and window, they are one violation;
  - each `window_intake`, `window_fire` and `window_merge` row whose `watermark` column differs from its derived
    watermark;
  - if firings are predicted, each firing of a processing-time timer whose `time_ns` is below (`at` + 1) ms (rule 9.10);
  - if firings are predicted, each firing *out of order*: the row directly before it (a cause, or a row of
    `window_merge`, `window_fire` or `late_drop`) is a firing with the same `cause`, and with a higher `at` (timers) or
    a lower `window_start` (records). The order of windows with the same time is not judged;
  - if firings are not predicted, each firing whose window had no rows since its last purge, or whose contents differ
    from those of the window. If the evictor is a reason, only a firing with more rows than the window is a violation,
    and afterwards the window has at most the rows of the firing.
- In a prefix, firings and merges that the last cause of the (task, operator) causes are not missing.
"""

_COUNTS_LATE_ROWS: Final = """\
- Not applicable: no judged window operator.
- An intake of an event-time window is *late* (rule 10.9) when its derived watermark is at least the cleanup time of
  each of its windows (after merging), and at least its timestamp + lateness (a Java long). For an intake in a gap
  between sliding windows, which has no window, only the second condition counts. Intakes of processing-time and global
  windows are never late.
- Expected drops: one for each late intake, with its intakes before, and side_output 1 if the operator has
  `late_output`, else 0.
- Rows examined: `window_intake` and `late_drop` rows of judged operators.
- Violations: missing and unexpected drops, compared as (task, operator, intakes before, key, timestamp, fingerprint,
  side_output); a missing and an unexpected one with the same intakes before and key are one. Also each `late_drop` row
  whose `watermark` column differs from its derived watermark. In a prefix, the drop of the last intake of the (task,
  operator) is not missing if no cause is after this intake.
"""

_COUNTS_LATENESS: Final = """\
- Not applicable: no operator of kind `window` or `interval_join`.
- Rows examined: `window_intake` and `late_drop` rows of these operators.
- Violations: 1 for each of these equations of a (task, operator) that is not true:
  - *late*: the number of `late_drop` rows = the number of late intakes. An intake of an interval join is late if its
    timestamp is below its `watermark` (rule 10.35); for judged window operators, see late-rows; other operators have no
    such equation. (So every intake is in a window, or late, or in a gap between sliding windows.) In a prefix, the two
    numbers may differ by one.
  - *counted*: `records_dropped` = the number of `late_drop` rows with side_output 0. This is checked if the operator
    has an `operator_counts` row; the first row counts.
  - *kept*: the readers of the late side outputs received at least as many records as there are `late_drop` rows with
    side_output 1. For each tag of `params.late_tags`, take the smallest count of its readers (counted as in law
    conservation); add these counts. If the operator has no `operator_counts` row, one row may be in progress. This is
    not checked if there is no tag, a tag has no reader, or a chained reader has no counters. (A function may emit to
    the same tag, so more records are not a violation; law channel-fifo compares the records themselves.)
"""

LAWS: Final = (
    Law(
        WINDOW_FIRE,
        "A window fires when the watermark of its task has passed its end, as often as its trigger decides, "
        "with exactly the records that belong to it.",
        ("10.1", "10.7", "10.12", "10.13", "10.17"),
        Level.ELEMENTS,
        WindowMachine,
        _needs_windows,
        _unjudged,
        attempts=Attempts.FRESH,
        counts=_COUNTS_WINDOW_FIRE,
        of_keys=WindowMachine.make,
    ),
    Law(
        LATE_ROWS,
        "A record is dropped as late exactly if all its windows have been cleaned up before it arrives.",
        ("10.8", "10.9", "10.10"),
        Level.ELEMENTS,
        WindowMachine,
        _needs_windows,
        attempts=Attempts.FRESH,
        counts=_COUNTS_LATE_ROWS,
        of_keys=WindowMachine.make,
    ),
    Law(
        LATENESS,
        "Every late record is either dropped and counted, or emitted to the late side output. This happens to no other record.",
        ("10.9", "10.10", "10.35"),
        Level.ELEMENTS,
        WindowMachine,
        _needs_late_operators,
        join=compare_late_counts,
        attempts=Attempts.FRESH,
        counts=_COUNTS_LATENESS,
        of_keys=WindowMachine.make,
    ),
)  # fmt: skip
