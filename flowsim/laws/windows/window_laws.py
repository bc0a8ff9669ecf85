"""Laws window-fire, late-rows and lateness: one machine for all operators of a task that can find a record late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.job_graph import JobGraph, Operator, Task
from flowsim.laws.law import Findings, FoundByLaw, Law
from flowsim.laws.slices import Slice
from flowsim.laws.windows.key_part import KeyPart
from flowsim.laws.windows.lateness import LATE_KINDS, LateCounts, LateOperator, compare_late_counts
from flowsim.laws.windows.plan import WindowPlan, window_plan
from flowsim.laws.windows.timeline import WindowTimeline

WINDOW_FIRE: Final = "window-fire"
LATE_ROWS: Final = "late-rows"
LATENESS: Final = "lateness"


class WindowMachine:
    """Examines the operators of one task that can find a record late; of ``part``: only some of their keys.

    Every part counts the intakes of all keys and takes all watermarks. The first part takes the counters of operators
    and channels, too; answers of parts add up (``LateCounts.add``) before the join compares them.
    """

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw, part: KeyPart | None) -> None:
        fires, drops = found.get(WINDOW_FIRE, Findings()), found.get(LATE_ROWS, Findings())
        self._lateness = found.get(LATENESS)
        self._counts = LateCounts()
        self._first = part is None or part[0] == 0
        self._sends = task.vertex in graph.once(_senders_to_the_side)
        self._windows: list[WindowTimeline] = []
        self._others: list[LateOperator] = []
        for operator, plan in graph.once(_late_operators)[task.vertex]:
            if plan is not None:
                self._windows.append(WindowTimeline(task.task, operator.operator, plan, fires, drops, part))
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
    return WindowMachine(graph, task, found, part) if task.vertex in graph.once(_late_operators) else None


def _late_operators(graph: JobGraph) -> Mapping[int, list[tuple[Operator, WindowPlan | None]]]:
    """The operators of each job vertex that can find a record late, with the plans of judged windows."""
    inputs = {task.vertex: task.inputs for task in graph.tasks.values()}
    found: dict[int, list[tuple[Operator, WindowPlan | None]]] = {}
    for operator in graph.operators:
        if operator.kind in LATE_KINDS and operator.vertex in inputs:
            plan = window_plan(operator) if inputs[operator.vertex] == 1 else None
            found.setdefault(operator.vertex, []).append((operator, plan))
    return found


def _senders_to_the_side(graph: JobGraph) -> set[int]:
    """The job vertices with an edge that carries a side output, perhaps of late records."""
    return {edge.source_vertex for edge in graph.edges.values() if edge.side_output}


def _needs_windows(graph: JobGraph) -> str:
    plans = (plan for operators in graph.once(_late_operators).values() for _, plan in operators)
    if any(plan is not None for plan in plans):
        return ""
    return "the job has no window with a known assigner at the head of a chain with one input"


def _needs_late_operators(graph: JobGraph) -> str:
    if any(operator.kind in LATE_KINDS for operator in graph.operators):
        return ""
    return "no operator of the job can find a record late"


def _unjudged(graph: JobGraph) -> str:
    """The window operators of which something is not judged, and what; '' where all is."""
    missing = []
    for operators in graph.once(_late_operators).values():
        for operator, plan in operators:
            what = "all" if plan is None else plan.unjudged
            if operator.kind == "window" and what:
                missing.append(f"{operator.name} ({what})")
    return f"not judged: {', '.join(missing)}" if missing else ""


_READS: Final[Mapping[str, tuple[str, ...]]] = {
    "task_watermark": ("input", "kind", "timestamp"),
    "window_intake": ("operator", "time_ns", "key", "timestamp", "fingerprint", "watermark", "gap"),
    "window_merge": (
        "operator", "key", "window_start", "window_end", "into_start", "into_end", "watermark",
    ),
    "window_fire": (
        "operator", "time_ns", "key", "window_start", "window_end", "watermark", "rows", "fingerprint_sum",
        "fingerprint_xor", "result", "cause", "at",
    ),
    "late_drop": ("operator", "key", "timestamp", "fingerprint", "watermark", "side_output"),
}  # fmt: skip

LAWS: Final = (
    Law(
        WINDOW_FIRE,
        "A window fires when the watermark of its task has passed it, as often as its trigger demands, with exactly "
        "the records that belong to it.",
        ("10.1", "10.7", "10.12", "10.13", "10.17"),
        Level.ELEMENTS,
        _READS,
        make,
        _needs_windows,
        _unjudged,
    ),
    Law(
        LATE_ROWS,
        "A record is dropped as late exactly when every window it belongs to has been cleaned up at its arrival.",
        ("10.8", "10.9", "10.10"),
        Level.ELEMENTS,
        _READS,
        make,
        _needs_windows,
    ),
    Law(
        LATENESS,
        "Every late record is either dropped and counted, or emitted to the late side output, and no other record is.",
        ("10.9", "10.10", "10.35"),
        Level.ELEMENTS,
        {
            **_READS,
            "operator_counts": ("operator", "records_in", "records_dropped"),
            "sent": ("channel", "kind"),
        },
        make,
        _needs_late_operators,
        join=compare_late_counts,
    ),
)  # fmt: skip
