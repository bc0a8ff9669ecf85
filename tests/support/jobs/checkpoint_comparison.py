"""What scripted jobs with checkpoints did, here and in the golden files, and where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from flowsim.cluster.job_status import JobStatus
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.jobs.checkpoint_jobs import Event

ENDS = {JobStatus.FINISHED: "FINISHED", JobStatus.CANCELED: "CANCELED"}


def committed(commits: Iterable[Event]) -> set[str]:
    """What was committed; a restore commits again."""
    return {json.dumps(value) for _, (_, values), outcome in commits if outcome == "committed" for value in values}


def comparable(events: Iterable[Event]) -> list[Event]:
    """The events of a subtask but its notifications; Flink's harness gives records without timestamp the lowest one."""
    return [
        [*event[:2], None] if event[0] == "rec" and event[2] == NO_TIMESTAMP else event
        for event in events
        if event[0] != "complete"
    ]


def unordered(event: Event) -> Event:
    """What a subtask restored: the order of old subtasks in its lists is not determined (rule 12.107)."""
    return [sorted(part) if isinstance(part, list) else part for part in event]


def is_last(name: str, names: Iterable[str]) -> bool:
    """True if no later attempt of the phase exists: earlier ones failed at a moment that depends on timing."""
    what, _, place = name.partition("@")
    phase, attempt = place.partition("/")[0].split(".")
    return not any(other.startswith(f"{what}@{phase}.{int(attempt) + 1}/") for other in names)


def different_attempts(log: dict[str, list[Event]], attempts: dict[str, list[Event]]) -> list[str]:
    """The subtasks of attempts that saw something else than Flink's."""
    different = []
    for name, theirs in attempts.items():
        ours = json.loads(json.dumps(log.get(name, [])))
        if name.startswith("restore"):
            ours, theirs = [[unordered(event) for event in events] for events in (ours, theirs)]
        seen = comparable(ours)
        expected = comparable(theirs)
        if not is_last(name, attempts):
            length = min(len(seen), len(expected))
            seen, expected = seen[:length], expected[:length]
        if seen != expected:
            different.append(f"{name}:\n  {seen}\n  Flink: {expected}")
    return different


def answered(checkpoints: Iterable[Event]) -> list[Event]:
    """Without failed checkpoints: the source that requested one may be cancelled before or after it gets the answer."""
    return [event for event in checkpoints if event[1] is not None or event[2] in ("savepoint", "retained", "stopped")]


def drained_phases(case: dict[str, Any]) -> set[str]:
    """The phases that end with a stop that drains."""
    entries = [entry for subtask in case["script"] for entry in subtask]
    ends = sorted(entry for entry in entries if entry[1] in ("savepoint", "retain", "stop"))
    return {str(phase) for phase, entry in enumerate(ends) if entry[1] == "stop" and entry[2]}


def without_late_snapshots(case: dict[str, Any], log: dict[str, list[Event]]) -> dict[str, list[Event]]:
    """Leaves out snapshots after the savepoint of a drained stop.

    All tasks have reported end of data then, so Flink triggers one more checkpoint (rule 12.44), at the same time as the
    tasks learn that they may end.
    """
    phases = drained_phases(case)
    return {
        name: until_savepoint(events) if name.partition("@")[2].partition(".")[0] in phases else events
        for name, events in log.items()
    }


def until_savepoint(events: list[Event]) -> list[Event]:
    """The events of a probe without the second snapshot after the end of event time."""
    if ["wm", MAX_WATERMARK] not in events:
        return events
    end = events.index(["wm", MAX_WATERMARK])
    snapshots = [event for event in events[end:] if event[0] == "snapshot"]
    return [event for index, event in enumerate(events) if index < end or event not in snapshots[1:]]
