"""What the subtasks of a job saw on the way to its result: each attempt up to the snapshot that a later one restored.

In-flight data moves elements from one side of a snapshot to the other. Where Flink's snapshots have other positions than
ours, the lineages are the same nevertheless, because each element is before the snapshot, or is restored and comes after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.support.jobs.checkpoint_jobs import Event

Log = dict[str, list[Event]]
Place = str
"""Of an attempt, such as 1.0: the second phase, before any failure."""


class NoLineage(Exception):
    """The snapshot that an attempt restored is not in the log."""


def places(log: Log) -> list[Place]:
    """All attempts, in order."""
    found = {name.partition("@")[2].partition("/")[0] for name in log if name.startswith("out@")}
    return sorted(found, key=lambda place: tuple(map(int, place.split("."))))


def subtasks(log: Log, what: str, place: Place) -> dict[int, list[Event]]:
    """The events of all subtasks of an attempt."""
    prefix = f"{what}@{place}/"
    return {int(name.removeprefix(prefix)): events for name, events in log.items() if name.startswith(prefix)}


def restored_checkpoint(log: Log, place: Place) -> int | None:
    """The checkpoint that an attempt of a keyed job restored; the operator has it as broadcast state."""
    ids = {event[3] for events in subtasks(log, "restore", place).values() for event in events}
    if len(ids) > 1:
        raise NoLineage(f"attempt {place} restored several checkpoints: {ids}")
    return ids.pop() if ids else None


def lineage(log: Log, place: Place) -> list[dict[int, list[Event]]]:
    """The elements of each subtask, attempt by attempt, up to the end of ``place``."""
    last = {subtask: elements(events) for subtask, events in subtasks(log, "out", place).items()}
    checkpoint = restored_checkpoint(log, place)
    if checkpoint is None:
        return [last]
    earlier = places(log)
    for other in reversed(earlier[: earlier.index(place)]):
        seen = subtasks(log, "out", other)
        if all(["snapshot", checkpoint] in events for events in seen.values()):
            cut = {
                subtask: elements(events[: events.index(["snapshot", checkpoint])]) for subtask, events in seen.items()
            }
            return [*lineage(log, other)[:-1], cut, last]
    raise NoLineage(f"no attempt before {place} took the snapshot {checkpoint}")


def elements(events: Iterable[Event]) -> list[Event]:
    """The records and watermarks, without the watermark that a record shows: a restore resets it (rule 12.92)."""
    return [
        ["rec", without_watermark(event[1]), event[2]] if event[0] == "rec" else event
        for event in events
        if event[0] in ("rec", "wm")
    ]


def without_watermark(value: list[Any]) -> list[Any]:
    """A record of the operators ``keyed`` or ``timers`` without the watermark, which is their last field."""
    return value[:-1] if value[0] in ("e", "elem") else value


def by_subtask(parts: list[dict[int, list[Event]]]) -> dict[int, list[Event]]:
    """The parts of each subtask in one list, if the parallelism never changed."""
    return {subtask: [event for part in parts for event in part[subtask]] for subtask in parts[-1]}


def by_key(parts: list[dict[int, list[Event]]]) -> dict[str, list[Event]]:
    """The records of each key, which has one subtask in each part."""
    keys: dict[str, list[Event]] = {}
    for part in parts:
        for _, events in sorted(part.items()):
            for event in events:
                if event[0] == "rec":
                    keys.setdefault(event[1][1], []).append(event)
    return keys


def different_lineages(log: Log, attempts: Log) -> list[str]:
    """Where the last attempt with all that it restored differs from Flink's."""
    last = places(attempts)[-1]
    if places(log)[-1:] != [last]:
        return [f"attempts {places(log)}, Flink: {places(attempts)}"]
    ours, theirs = lineage(log, last), lineage(attempts, last)
    views = [("key", by_key(ours), by_key(theirs))]
    if len({len(part) for part in [*ours, *theirs]}) == 1:
        views.append(("subtask", by_subtask(ours), by_subtask(theirs)))
    return [
        f"{view} {name}:\n  {mine.get(name)}\n  Flink: {real.get(name)}"
        for view, mine, real in views
        for name in sorted({*mine, *real}, key=str)
        if mine.get(name) != real.get(name)
    ]


def in_flight_differences(script: list[list[Event]], log: Log, attempts: Log) -> set[int]:
    """How many records more than in Flink were in flight, for each restored attempt."""
    return {
        in_flight(script, log, place) - in_flight(script, attempts, place)
        for place in places(attempts)
        if restored_checkpoint(attempts, place) is not None
    }


def in_flight(script: list[list[Event]], log: Log, place: Place) -> int:
    """How many records were sent before the restored snapshot, and not processed: the sources' positions tell."""
    sent = 0
    for events in subtasks(log, "source", place).values():
        for _, subtask, position in events:
            sent += sum(entry[1] == "r" for entry in script[subtask][:position])
    processed: list[Any] = [
        number for events in subtasks(log, "restore", place).values() for event in events for number in event[1]
    ]
    return sent - len(processed)
