"""Laws window-fire, late-rows and lateness: one machine for all operators of a task that can detect late records."""

from __future__ import annotations

from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Findings, FoundByLaw, KeyPart, Law
from flowsim.laws.slices import Slice
from flowsim.laws.windows.lateness import LateCounts, LateOperator, compare_late_counts
from flowsim.laws.windows.plan import LATE_KINDS, late_operators
from flowsim.laws.windows.timeline import READS, WindowTimeline

WINDOW_FIRE: Final = "window-fire"
LATE_ROWS: Final = "late-rows"
LATENESS: Final = "lateness"
WINDOW_JOINS: Final = "window-joins"


class WindowMachine:
    """Examines the operators of one task that can detect late records; with ``part`` only some of their keys.

    Every part counts the intakes of all keys and gets all watermarks. The first part also gets the counters of
    operators and channels; results of parts are added (``LateCounts.add``) before the join compares them.
    """

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw, part: KeyPart | None) -> None:
        findings = [found.get(law, Findings()) for law in (WINDOW_FIRE, LATE_ROWS, WINDOW_JOINS)]
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

    def feed(self, facts: Slice) -> None:
        for window in self._windows:
            window.feed(facts)
        for other in self._others:
            other.feed(facts)
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


def make(graph: JobGraph, task: Task, found: FoundByLaw, part: KeyPart | None = None) -> WindowMachine | None:
    """The machine for a task, or for some of its keys."""
    return WindowMachine(graph, task, found, part) if task.vertex in graph.once(late_operators) else None


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
**Judged operators** (also of late-rows): rows of `operators` with kind `window` (including window joins, coGroups and
windows without a key), `input_operator` -1 (head of its chain), in a vertex whose tasks have one input (`tasks.inputs`
= 1), whose assigner is known:

- `tumbling_event_time`, `tumbling_processing_time` (`size_ms`, `offset_ms`; `stagger` absent or `aligned`): one window
  per record (rules 10.1, 10.2);
- `sliding_event_time`, `sliding_processing_time` (`size_ms`, `slide_ms`, `offset_ms`): none or several, the newest
  first (rule 10.4);
- `session_event_time`, `session_processing_time` (`gap_ms`): [t, t + gap), merged with all windows of its key that it
  overlaps or touches (rules 10.5, 10.25);
- `dynamic_session_event_time`, `dynamic_session_processing_time`: the same with column `gap` of the intake (rule 10.5);
- `global`: the global window (-2^63, 2^63-1), whose last millisecond is `MAX` (rule 10.6).

In event time t is the record's timestamp; in processing time the `time_ns` of the intake in whole milliseconds, never
below that of an earlier intake. Staggered windows and user-defined assigners are not judged at all: the outcome's
reason names such operators. Each subtask is judged separately.

**What is predicted.** The firings of a window are determined for these values of `params.trigger`: `event_time`,
`processing_time`, `count`, `continuous_event_time`, `continuous_processing_time`, `never`, `end_of_stream`, and
`purging` and `timeout` of any of these or of each other (rules 10.17 to 10.23); without an evictor, or with a `time` or
`count` evictor (rules 10.30, 10.31). They are not determined by these facts
- for triggers and evictors `delta` and `custom`: the results of the user's function are not recorded;
- for a `count` evictor if windows merge: Flink does not define which window's records come first;
- for a `timeout` over sliding windows: the clock may advance between two windows of one record, while results wait for
  a buffer;
- for a trigger that uses watermarks on processing-time windows (except the global window): the cleanup of such a window
  is not recorded, so it may or may not still exist at a watermark.

In these cases only the contents of each recorded firing are judged, and the outcome's reason says so.

- Not applicable: there is no judged operator.
- For one (task, operator), *causes* are its `window_intake` rows and the task's WATERMARK rows of `task_watermark`
  (input 0). Causes, `window_merge`, `window_fire` and `late_drop` rows are taken by seq. For any row, its **derived
  watermark** is the timestamp of the last WATERMARK row before it (else `MIN`); its **intakes before** is the number of
  `window_intake` rows of this (task, operator) before it.
- cleanup of a window = its last millisecond + lateness in event time, its last millisecond in processing time. In event
  time an intake row skips a window whose cleanup <= its derived watermark. A row of timestamp `MIN` belongs to no
  tumbling or sliding event-time window and is not late (rule 10.2: the job fails). It is added to its other windows,
  and each calls its trigger. If windows merge, the merged window counts: it is late or not, holds the rows of all its
  members, and gets their triggers' state (rules 10.25 to 10.28). A record whose assigned window equals an existing
  merged window starts new contents, as in Flink's merging set.
- Expected firings follow from trigger and timers. Each has (key, start, end), its watermark, intakes before, the
  contents (rows, sum of fingerprint >> 31, exclusive or of fingerprints; after `evict_before`), `result`, `cause` and
  `at`:
  - of a record (ELEMENT, its timestamp): watermark w, intakes before = those of the row + 1;
  - of an event-time timer (its time): caused by the first WATERMARK row with timestamp >= the time of the timer; the
    firing has that row's timestamp and intakes before. Afterwards the window is cleaned up if this is its cleanup time;
  - of a processing-time timer (its time). Only recorded firings show when timers run: at a recorded firing all timers
    of the operator that were due earlier (in ms) have run. A firing of such a timer whose window had rows must be
    recorded, unless the timer can have run before the first of these rows arrived (the timer was set before that
    record, which came at or after the timer's time + 1 ms). Timers that remain at the end of the input do not fire.

  A window without rows does not fire.
- Expected merges, per intake row of a session: one for each window that was merged into a larger one, with (key, start,
  end, start and end of the larger one, watermark, intakes before = those of the row + 1). In processing time a window
  that ends in the same millisecond in which the next record's window begins may have been cleaned up just before. It
  was not if the rows of `window_merge` directly after the intake show its merge.
- Actual firings and merges: the rows of `window_fire` and `window_merge`, with their derived watermarks and intakes
  before.
- Rows examined: `window_intake`, `window_fire` and `window_merge` rows of judged operators.
- Violations: missing + unexpected firings; missing + unexpected merges; the `window_intake`, `window_fire` and
  `window_merge` rows whose `watermark` column differs from their derived watermark; and, where firings are predicted,
  - each firing of a processing-time timer whose `time_ns` is below (`at` + 1) ms (rule 9.10);
  - each firing *out of order*: the row directly before it (of those above) is a firing with the same `cause`, and it
    has a higher `at` (timers), or a lower `window_start` (records). The order of windows with the same time is not
    judged.

  If firings are not predicted: each firing whose window held no rows since its last purge, or other rows than those of
  the firing (with an evictor `delta` or `custom`, or a `count` evictor if windows merge: fewer rows). In a prefix,
  firings and merges caused by the last cause of the (task, operator) are not counted as missing.
"""

_COUNTS_LATE_ROWS: Final = """\
- Not applicable: there is no judged operator (see window-fire).
- An intake row of an event-time window is *late* when every window of it is past its cleanup (if windows merge: after
  merging; a row in a gap between sliding windows has no window, so this holds) and its timestamp + lateness <= its
  derived watermark (rule 10.9). Rows of processing-time and global windows never are.
- Expected drops: one for every late intake row, with intakes before = those of the row + 1, and side_output = 1 if
  `late_output`, else 0.
- Rows examined: `window_intake` rows plus `late_drop` rows of judged operators.
- Violations: missing drops + unexpected drops, compared as (task, operator, intakes before, key, timestamp,
  fingerprint, side_output); plus the `late_drop` rows whose `watermark` column differs from their derived watermark. In
  a prefix, the drop of the last intake row of the (task, operator) is not counted as missing when no later cause
  exists.
"""

_COUNTS_LATENESS: Final = """\
- Not applicable: no operator of kind `window` or `interval_join`.
- Rows examined: `window_intake` rows plus `late_drop` rows of these operators.
- Violations, each of these equations of one (task, operator), counted once:
  - *late*, for interval joins: the number of its `late_drop` rows = the number of its intake rows whose timestamp is
    below their `watermark` (rule 10.35). For judged windows (see window-fire): the number of its `late_drop` rows = the
    number of its late intake rows (see late-rows). So all intakes are in a window, late, or, in the gaps of sliding
    windows, neither. In a prefix they may differ by one;
  - *counted*: `records_dropped` (of its first `operator_counts` row, if there is one) = the number of its `late_drop`
    rows with side_output 0;
  - *kept*: the number of its `late_drop` rows with side_output 1 is not above the number of records that readers of its
    late side outputs (`params.late_tags`) received: per tag the smallest count of its readers, counted as in law
    conservation; summed over the tags. This equation is not evaluated when a tag has no reader, or a chained reader has
    no counters. Without an `operator_counts` row of the operator, one row may be in progress. (A function may emit to
    the same tag, so more records are not a violation; law channel-fifo compares the records themselves.)
"""

LAWS: Final = (
    Law(
        WINDOW_FIRE,
        "A window fires when the watermark of its task has passed its end, as often as its trigger decides, "
        "with exactly the records that belong to it.",
        ("10.1", "10.7", "10.12", "10.13", "10.17"),
        Level.ELEMENTS,
        READS,
        make,
        _needs_windows,
        _unjudged,
        counts=_COUNTS_WINDOW_FIRE,
        of_keys=make,
    ),
    Law(
        LATE_ROWS,
        "A record is dropped as late exactly if all its windows have been cleaned up before it arrives.",
        ("10.8", "10.9", "10.10"),
        Level.ELEMENTS,
        READS,
        make,
        _needs_windows,
        counts=_COUNTS_LATE_ROWS,
        of_keys=make,
    ),
    Law(
        LATENESS,
        "Every late record is either dropped and counted, or emitted to the late side output. This happens to no other record.",
        ("10.9", "10.10", "10.35"),
        Level.ELEMENTS,
        {
            **READS,
            "operator_counts": ("operator", "records_in", "records_dropped"),
            "sent": ("channel", "kind"),
        },
        make,
        _needs_late_operators,
        join=compare_late_counts,
        counts=_COUNTS_LATENESS,
        of_keys=make,
    ),
)  # fmt: skip
