"""Laws about tumbling event-time windows: when and with what they fire, and which records are late."""

from __future__ import annotations

from collections.abc import Iterable

from flowsim.laws.catalogue import Outcome
from flowsim.laws.facts import Facts, Findings, Row, multiset_difference, not_applicable
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.window_timeline import Expected, WindowTimeline, window_timelines

_NO_WINDOW = (
    "the job has no tumbling event-time window with the event-time trigger at the head of a chain with one input"
)
_FIRE = (
    "task", "operator", "key", "window_start", "window_end", "watermark", "intakes_before", "rows", "fingerprint_sum",
    "fingerprint_xor",
)  # fmt: skip
_DROP = ("task", "operator", "intakes_before", "key", "timestamp", "fingerprint", "side_output")


def window_fire(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law window-fire: expected and recorded fires are the same, each right after its cause."""
    timelines = window_timelines(facts, graph)
    if not timelines:
        return not_applicable("window-fire", _NO_WINDOW)
    findings = Findings(sum(len(each.intakes) + len(each.fires) for each in timelines))
    for timeline in timelines:
        _compare(findings, timeline, timeline.expected_fires(), timeline.actual_fires(), _FIRE, whole)
        _compare_watermarks(findings, timeline, "window_intake", (i.row for i in timeline.intakes))
        _compare_watermarks(findings, timeline, "window_fire", timeline.fires)
    return findings.outcome("window-fire")


def late_rows(facts: Facts, graph: JobGraph, whole: bool) -> Outcome:
    """Law late-rows: expected and recorded drops are the same, each right after its intake."""
    timelines = window_timelines(facts, graph)
    if not timelines:
        return not_applicable("late-rows", _NO_WINDOW)
    findings = Findings(sum(len(each.intakes) + len(each.drops) for each in timelines))
    for timeline in timelines:
        _compare(findings, timeline, timeline.expected_drops(), timeline.actual_drops(), _DROP, whole)
        _compare_watermarks(findings, timeline, "late_drop", timeline.drops)
    return findings.outcome("late-rows")


def _compare(
    findings: Findings,
    timeline: WindowTimeline,
    expected: Iterable[Expected],
    actual: list[Row],
    columns: tuple[str, ...],
    whole: bool,
) -> None:
    due: list[Row] = []
    may_be_missing: list[Row] = []
    for each in expected:
        (due if whole or each.cause != timeline.last_cause else may_be_missing).append(each.row)
    missing, _ = multiset_difference(due, actual)
    _, unexpected = multiset_difference(due + may_be_missing, actual)
    for row in missing:
        findings.broken("missing", **dict(zip(columns, row, strict=True)))
    for row in unexpected:
        findings.broken("unexpected", **dict(zip(columns, row, strict=True)))


_WATERMARK_COLUMN = 8


def _compare_watermarks(findings: Findings, timeline: WindowTimeline, table: str, rows: Iterable[Row]) -> None:
    for row in rows:
        derived = timeline.watermark_at(row[0])
        if row[_WATERMARK_COLUMN] != derived:
            findings.broken(
                "not the task's watermark", table=table, task=row[1], seq=row[0], watermark=row[_WATERMARK_COLUMN],
                derived=derived,
            )  # fmt: skip
