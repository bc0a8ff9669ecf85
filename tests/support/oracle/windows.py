"""Laws about windows: when they fire, with which contents, and which records are late."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final

from flowsim.laws.job_graph import JobGraph
from flowsim.laws.law import Outcome
from tests.support.oracle.facts import Facts, Findings, Row, multiset_difference, not_applicable
from tests.support.oracle.window_timeline import What, WindowTimeline, unjudged, window_timelines

_NO_WINDOW: Final = "the job has no window with a known assigner at the head of a chain with one input"
_COLUMNS: Final[Mapping[What, tuple[str, ...]]] = {
    What.FIRE: (
        "key", "window_start", "window_end", "watermark", "intakes_before", "rows", "fingerprint_sum", "fingerprint_xor",
        "result", "cause", "at",
    ),
    What.DROP: ("intakes_before", "key", "timestamp", "fingerprint", "side_output"),
    What.MERGE: ("key", "window_start", "window_end", "into_start", "into_end", "watermark", "intakes_before"),
    What.CALLS: (
        "key", "window_start", "window_end", "left_rows", "right_rows", "left_sum", "right_sum", "calls", "product_sum",
        "intakes_before",
    ),
}  # fmt: skip


_WINDOW: Final = ("key", "window_start", "window_end")
_ABOUT: Final = {
    What.FIRE: _WINDOW, What.MERGE: _WINDOW, What.CALLS: _WINDOW, What.DROP: ("intakes_before", "key"),
}  # fmt: skip


def window_fire(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law window-fire: expected and recorded firings and merges are the same, each right after its cause."""
    return _judge("window-fire", (What.FIRE, What.MERGE), (What.INTAKE, What.FIRE, What.MERGE), facts, graph, whole)


def late_rows(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law late-rows: expected and recorded drops are the same, each right after its intake."""
    return _judge("late-rows", (What.DROP,), (What.DROP,), facts, graph, whole)


def window_joins(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law window-joins: the function of two streams is called for every pair, or with both sides, and not again."""
    joined = [operator for operator in graph.operators if operator.params.get("join") in ("join", "co_group")]
    timelines = [each for each in window_timelines(facts, graph) if each.plan.join is not None]
    if not timelines:
        return not_applicable("window-joins", "the job has no window join or coGroup that this law checks")
    findings = Findings(sum(each.counts[What.INTAKE] + each.counts[What.CALLS] for each in timelines))
    for timeline in timelines:
        _compare(findings, timeline, What.CALLS, whole)
    judged = [timeline.operator for timeline in timelines]
    names = [operator.name for operator in joined if operator not in judged]
    return findings.outcome("window-joins", f"not checked: {', '.join(names)}" if names else "")


def _judge(
    law: str, compared: tuple[What, ...], by_itself: tuple[What, ...], facts: Facts, graph: JobGraph, whole: bool
) -> Outcome:
    timelines = window_timelines(facts, graph)
    if not timelines:
        return not_applicable(law, _NO_WINDOW)
    findings = Findings(sum(each.counts[what] for each in timelines for what in {What.INTAKE, *by_itself}))
    for timeline in timelines:
        for what in compared:
            _compare(findings, timeline, what, whole)
        for what in by_itself:
            for wrong in timeline.wrong[what]:
                findings.broken(wrong.what, **wrong.where)
    return findings.outcome(law, unjudged(graph) if law == "window-fire" else "")


def _compare(findings: Findings, timeline: WindowTimeline, what: What, whole: bool) -> None:
    due: list[Row] = []
    may_be_missing: list[Row] = []
    for each in timeline.expected(what):
        (due if whole or each.cause != timeline.last_cause else may_be_missing).append(each.row)
    actual = timeline.recorded(what)
    missing, _ = multiset_difference(due, actual)
    _, unexpected = multiset_difference(due + may_be_missing, actual)
    about = [_COLUMNS[what].index(name) for name in _ABOUT[what]]
    again = Counter(tuple(row[place] for place in about) for row in missing)
    for reported, rows in (("missing", missing), ("unexpected", unexpected)):
        for row in rows:
            if reported == "unexpected":
                # About the same as a missing one: only one of both is counted.
                subject = tuple(row[place] for place in about)
                again[subject] -= 1
                if again[subject] >= 0:
                    continue
            place = {"task": timeline.task, "operator": timeline.operator.operator}
            findings.broken(reported, **place, **dict(zip(_COLUMNS[what], row, strict=True)))
