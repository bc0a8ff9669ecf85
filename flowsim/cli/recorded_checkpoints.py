"""Shows the checkpoints of a recording: their history, and the subtasks of one of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from rich.console import Console

from flowsim.cli.command import Answer
from flowsim.cli.tables import Column, show_table, show_text
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level, SnapshotKind
from flowsim.history.checkpoints import (
    CheckpointHistory,
    RecordedCheckpoint,
    RecordedFailure,
    SubtaskMeasurements,
    checkpoint_history,
    subtasks_of,
)
from flowsim.history.run_span import start_of
from flowsim.quantities import count_text
from flowsim.recording.reader import Recording
from flowsim.trace.alignment import Barriers, alignment_lines, barriers_of, forced_exchanges, reason_of
from flowsim.trace.names import Names
from flowsim.trace.phrases import SNAPSHOTS
from flowsim.trace.time import moment_text
from flowsim.units import NS_PER_MS

_SHORT_KINDS: Final = {
    **SNAPSHOTS,
    SnapshotKind.SUSPEND: "savepoint, stop",
    SnapshotKind.TERMINATE: "savepoint, drain",
}
_PERSISTED: Final = Column("persisted bytes", rank=2)
_BARRIERS: Final = Column("barriers", rank=4, left=True)
_CHECKPOINTS: Final = (
    Column("status", left=True),
    _BARRIERS,
    Column("triggered"),
    Column("duration ms", dull=frozenset()),
    Column("tasks"),
    Column("state bytes"),
    Column("processed bytes", rank=3),
    _PERSISTED,
    Column("restored", rank=1),
    Column("reason", left=True),
)
_FAILURES: Final = (
    Column("time"),
    Column("attempt"),
    Column("delay ms"),
    Column("restarted tasks"),
    Column("from checkpoint"),
)
_REASONS_SHOWN: Final = 20
_MEASUREMENTS: Final = (
    ("end_to_end_ms", Column("end to end ms")),
    ("start_delay_ns", Column("start delay ms")),
    ("alignment_ns", Column("alignment ms")),
    ("alignment_bytes", Column("processed bytes")),
    ("persisted_bytes", Column("persisted bytes", rank=1)),
    ("sync_ms", Column("sync ms", dull=frozenset())),
    ("async_ms", Column("async ms", dull=frozenset())),
    ("state_bytes", Column("state bytes")),
)


def history_answer(recording: Recording) -> Answer:
    """Returns all checkpoints, restores and restarts."""
    history, names, start_ns = checkpoint_history(recording), Names(recording), start_of(recording)
    shown = list(history.checkpoints.values())
    document = {
        "counts": _counts(history),
        "rejected": dict(sorted(history.rejected.items())),
        "checkpoints": [_checkpoint_data(one, names, start_ns) for one in shown],
        "aligned_exchanges": [forced.data() for forced in forced_exchanges(names)],
        "restores": [
            {
                "at_ns": one.time_ns - start_ns,
                "checkpoint": one.checkpoint,
                "kind": one.kind.name,
                "state_bytes": one.state_bytes,
            }
            for one in history.restores
        ],
        "failures": [_failure_data(one, names, start_ns) for one in history.failures.values()],
        "exit_code": 0,
    }

    def show(console: Console) -> None:
        if recording.level < Level.ELEMENTS:
            show_text(console, "recorded at level off, without checkpoints; they need --record elements")
            return
        show_text(console, _summary_text(history))
        for reason, times in sorted(history.rejected.items()):
            show_text(console, f"rejected before there was a checkpoint: {reason}, {count_text(times, 'time')}")
        if history.counts["triggered"] > len(shown):
            show_text(console, f"only the last {len(shown):,} are shown")
        for restore in history.restores:
            if restore.checkpoint not in history.checkpoints:
                show_text(
                    console,
                    f"{moment_text(restore.time_ns - start_ns)}: restored from "
                    f"{SNAPSHOTS[restore.kind]} {restore.checkpoint} with "
                    f"{count_text(restore.state_bytes, 'byte')} of state",
                )
        if shown:
            console.print()
            _show_checkpoints(console, shown, names, start_ns)
        if history.failures:
            console.print()
            failures = [_failure_row(one, names, start_ns) for one in history.failures.values()]
            show_table(console, ["failure", "task"], _FAILURES, failures)
            _show_reasons(console, names, list(history.failures))

    return Answer(document, show)


def _show_checkpoints(console: Console, shown: Sequence[RecordedCheckpoint], names: Names, start_ns: int) -> None:
    """Shows a table without the columns in which all checkpoints are alike, and why exchanges were aligned."""
    rows = [_checkpoint_row(checkpoint, names, start_ns) for checkpoint in shown]
    left_out = {
        _PERSISTED: not any(checkpoint.persisted_bytes for checkpoint in shown),
        _BARRIERS: all(barriers_of(checkpoint, names) is Barriers.ALIGNED for checkpoint in shown),
    }
    first = ["id", "kind"]
    kept = [at for at, column in enumerate(_CHECKPOINTS) if not left_out.get(column, False)]
    columns = [_CHECKPOINTS[at] for at in kept]
    show_table(console, first, columns, [(*row[: len(first)], *(row[len(first) + at] for at in kept)) for row in rows])
    lines = alignment_lines(shown, names)
    if lines:
        console.print()
    for line in lines:
        show_text(console, line)


def _show_reasons(console: Console, names: Names, failures: Sequence[int]) -> None:
    """Shows the cause of each failure; consecutive failures with the same cause share a line."""
    texts = [(each, names.reason(each)) for each in failures]
    runs = [(reason, [each for each, _ in of_reason]) for reason, of_reason in groupby(texts, key=itemgetter(1))]
    for reason, (first, *others) in runs[-_REASONS_SHOWN:]:
        if reason:
            show_text(
                console, f"failure {first}: {reason}" if not others else f"failures {first} to {others[-1]}: {reason}"
            )


def _counts(history: CheckpointHistory) -> dict[str, int]:
    counts = history.counts
    return {
        "completed": counts["completed"],
        "failed": counts["failed"],
        "in_progress": history.in_progress,
        "restored": counts["restored"],
        "restarts": counts["restarts"],
    }


def _summary_text(history: CheckpointHistory) -> str:
    counts = history.counts
    return (
        f"checkpoints: {counts['completed']:,} completed, {counts['failed']:,} failed, {history.in_progress:,} in progress, "
        f"{counts['restored']:,} restored; {count_text(counts['restarts'], 'restart')}"
    )


def _kind(one: RecordedCheckpoint) -> str:
    return "final" if one.kind is SnapshotKind.CHECKPOINT and one.is_final else _SHORT_KINDS[one.kind]


def _checkpoint_data(one: RecordedCheckpoint, names: Names, start_ns: int) -> dict[str, Any]:
    return {
        "checkpoint": one.checkpoint,
        "kind": one.kind.name,
        "is_final": one.is_final,
        "alignment": one.alignment.name,
        "barriers": barriers_of(one, names).name,
        "why_aligned": None if (reason := reason_of(one, names)) is None else reason.data(),
        "aligned_exchanges": [
            {"edge": forced.exchange.edge, "exchange": forced.exchange.name, "forced_by": str(forced.by)}
            for forced in forced_exchanges(names)
        ],
        "status": one.status,
        "reason": one.reason.name,
        "declined_by": None if one.declined_by < 0 else names.task(one.declined_by),
        "triggered_ns": one.triggered_ns - start_ns,
        "ended_ns": None if one.ended_ns is None else one.ended_ns - start_ns,
        "end_to_end_ms": one.end_to_end_ms,
        "subtasks": one.tasks,
        "acknowledged_subtasks": one.acknowledged,
        "state_bytes": one.state_bytes,
        "processed_bytes": one.processed_bytes,
        "persisted_bytes": one.persisted_bytes,
        "restores": one.restores,
    }


def _checkpoint_row(one: RecordedCheckpoint, names: Names, start_ns: int) -> Sequence[str]:
    return (
        str(one.checkpoint),
        _kind(one),
        one.status,
        barriers_of(one, names).value,
        moment_text(one.triggered_ns - start_ns),
        "-" if one.end_to_end_ms is None else f"{one.end_to_end_ms:,}",
        f"{one.acknowledged}/{one.tasks}",
        f"{one.state_bytes:,}",
        f"{one.processed_bytes:,}",
        f"{one.persisted_bytes:,}",
        _times(one.restores),
        "-" if one.status != "failed" else one.reason.name,
    )


def _times(number: int) -> str:
    return {0: "-", 1: "once"}.get(number, f"{number:,} times")


def _failure_data(one: RecordedFailure, names: Names, start_ns: int) -> dict[str, Any]:
    reason = names.reasons.get(one.failure)
    return {
        "failure": one.failure,
        "at_ns": one.time_ns - start_ns,
        "task": None if one.task < 0 else names.task(one.task),
        "attempt": None if one.task < 0 else one.attempt,
        "operator": None if reason is None else reason.operator,
        "record": None if reason is None else reason.record,
        "cause": None if reason is None else reason.cause,
        "is_restarted": one.delay_ms is not None,
        "delay_ms": one.delay_ms,
        "restarted_ns": None if one.restarted_ns is None else one.restarted_ns - start_ns,
        "restarted_tasks": one.restarted,
        "restored_checkpoint": None if one.restored < 0 else one.restored,
    }


def _failure_row(one: RecordedFailure, names: Names, start_ns: int) -> Sequence[str]:
    return (
        str(one.failure),
        "the job" if one.task < 0 else names.short_task(one.task),
        moment_text(one.time_ns - start_ns),
        "-" if one.task < 0 else str(one.attempt),
        "no restart" if one.delay_ms is None else f"{one.delay_ms:,}",
        str(one.restarted),
        "-" if one.restored < 0 else str(one.restored),
    )


def subtasks_answer(recording: Recording, checkpoint: int) -> Answer:
    """Returns the measurements of the subtasks of one checkpoint, and their minimum, average and maximum per vertex."""
    history, names, start_ns = checkpoint_history(recording), Names(recording), start_of(recording)
    recorded = history.checkpoints.get(checkpoint)
    if recorded is None:
        known = list(history.checkpoints)
        has = f"{known[0]} to {known[-1]}" if known else "no checkpoints"
        raise BadInput(f"--checkpoint {checkpoint}: no such checkpoint; the recording has {has}")
    vertices: dict[int, list[dict[str, Any]]] = {}
    subtasks = subtasks_of(recording, recorded)
    for measured in subtasks:
        vertices.setdefault(names.vertex_of(measured.task), []).append(
            _subtask_data(measured, recorded, names, start_ns)
        )
    document = {
        **_checkpoint_data(recorded, names, start_ns),
        "vertices": [
            {"vertex": names.vertex(vertex), **_summary(of_vertex), "subtasks": of_vertex}
            for vertex, of_vertex in vertices.items()
        ],
        "exit_code": 0,
    }

    def show(console: Console) -> None:
        ended = "" if recorded.ended_ns is None else f" at {moment_text(recorded.ended_ns - start_ns)}"
        why = f": {recorded.reason.name}" if recorded.status == "failed" else ""
        by = f", declined by {names.short_task(recorded.declined_by)}" if recorded.declined_by >= 0 else ""
        show_text(
            console,
            f"{SNAPSHOTS[recorded.kind]} {checkpoint}: triggered at {moment_text(recorded.triggered_ns - start_ns)}, "
            f"{recorded.status}{ended}{why}{by}; "
            f"{recorded.acknowledged} of {count_text(recorded.tasks, 'subtask')} acknowledged it",
        )
        show_text(console, f"barriers: {barriers_of(recorded, names).value}")
        for line in alignment_lines([recorded], names):
            show_text(console, line)
        rows = [row for of_vertex in vertices.values() for row in _vertex_rows(of_vertex)]
        if rows:
            console.print()
            show_table(console, ["subtask"], [column for _, column in _MEASUREMENTS], rows)

    return Answer(document, show)


def _subtask_data(
    one: SubtaskMeasurements, checkpoint: RecordedCheckpoint, names: Names, start_ns: int
) -> dict[str, Any]:
    at_ns = one.acknowledged_ns
    return {
        "task": names.task(one.task),
        "short_name": names.short_task(one.task),
        "attempt": one.attempt,
        "acknowledged_ns": None if at_ns is None else at_ns - start_ns,
        "end_to_end_ms": None if at_ns is None else checkpoint.ms_until(at_ns),
        **{name: getattr(one, name) for name, _ in _MEASUREMENTS if name != "end_to_end_ms"},
    }


def _summary(of_vertex: Sequence[dict[str, Any]]) -> dict[str, dict[str, int | None]]:
    """The averages are rounded down, as in Flink."""
    summary: dict[str, dict[str, int | None]] = {"minimum": {}, "average": {}, "maximum": {}}
    for name, _ in _MEASUREMENTS:
        known = [subtask[name] for subtask in of_vertex if subtask[name] is not None]
        summary["minimum"][name] = min(known, default=None)
        summary["average"][name] = sum(known) // len(known) if known else None
        summary["maximum"][name] = max(known, default=None)
    return summary


def _vertex_rows(of_vertex: Sequence[dict[str, Any]]) -> Iterable[Sequence[str]]:
    for subtask in of_vertex:
        yield (subtask["short_name"], *_cells(subtask))
    if len(of_vertex) > 1:
        for name, values in _summary(of_vertex).items():
            yield (f"  {name}", *_cells(values))


def _cells(values: dict[str, Any]) -> Iterable[str]:
    for name, _ in _MEASUREMENTS:
        value = values[name]
        if value is None:
            yield "-"
        elif name.endswith("_ns"):
            yield f"{value / NS_PER_MS:,g}"
        else:
            yield f"{value:,}"
