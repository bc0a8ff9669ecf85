"""The position of evidence: the task, sequence number and time of its facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from flowsim.facts.schema import TABLES, WINDOW_INTAKE
from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.parquet_part import as_numpy
from flowsim.recording.reader import Recording

_SIDES: Final = ("received", "sent")
"""The ends of a channel in order of preference: if both are known, the position is that of the receiver."""


@dataclass(frozen=True, slots=True)
class Place:
    """The position of one fact. A field is None if it is unknown, or if the evidence is not a single fact."""

    task: int | None = None
    seq: int | None = None
    time_ns: int | None = None


def find_places(recording: Recording, rows: Sequence[Mapping[str, object]]) -> list[Place]:
    """Returns a position per row of evidence, read from as few parts as possible.

    Raises BadInput for a damaged part.
    """
    places = [_in_the_row(row) for row in rows]
    for number, (row, place) in enumerate(zip(rows, places, strict=True)):
        if place.seq is None:
            places[number] = _by_position(recording, row, place)
    without_time = [place for place in places if place.time_ns is None]
    times = _times(recording, {(at.task, at.seq) for at in without_time if at.task is not None and at.seq is not None})
    return [
        place if place.time_ns is not None or place.task is None or place.seq is None
        else replace(place, time_ns=times.get((place.task, place.seq)))
        for place in places
    ]  # fmt: skip


def _in_the_row(row: Mapping[str, object]) -> Place:
    return Place(_integer(row, "task"), _integer(row, "seq"), _integer(row, "time_ns"))


def _integer(row: Mapping[str, object], name: str) -> int | None:
    value = row.get(name)
    return value if type(value) is int else None


def _by_position(recording: Recording, row: Mapping[str, object], place: Place) -> Place:
    """Returns the fact at a position of a channel, or the intake that a missing fact should have followed."""
    channel, position = _integer(row, "channel"), _integer(row, "position")
    if channel is not None and position is not None:
        for side in [row["side"]] if row.get("side") in _SIDES else _SIDES:
            fact = _first(recording, str(side), {"channel": channel, "position": position})
            if fact is not None:
                return fact
    intakes, operator = _integer(row, "intakes_before"), _integer(row, "operator")
    if intakes and operator is not None and place.task is not None:
        return _first(recording, WINDOW_INTAKE.name, {"task": place.task, "operator": operator}, intakes) or place
    return place


def _first(recording: Recording, table: str, where: Mapping[str, int], count: int = 1) -> Place | None:
    """Returns the ``count``-th row of a table with these values."""
    columns = ["task", "seq", "time_ns", *(name for name in where if name != "task")]
    if TABLES[table].level > recording.level:
        return None
    for epoch in range(len(recording.epochs)):
        part = recording.part(table, epoch, columns)
        matches: npt.NDArray[np.bool_] = np.ones(part.num_rows, dtype=np.bool_)
        for name, value in where.items():
            matches &= as_numpy(part[name]) == value
        rows = np.flatnonzero(matches)
        if len(rows) >= count:
            place = int(rows[count - 1])
            return Place(*(int(as_numpy(part[name])[place]) for name in ("task", "seq", "time_ns")))
        count -= len(rows)
    return None


def _times(recording: Recording, facts: set[tuple[int, int]]) -> dict[tuple[int, int], int]:
    times: dict[tuple[int, int], int] = {}
    for epoch, marker in enumerate(recording.markers):
        for table in TASK_TABLES:
            tasks = {task for task, _ in facts}
            about = marker.parts.get(table.name)
            if about is None or not any(task in tasks for task, _ in about.tasks):
                continue
            part = recording.part(table.name, epoch, ("task", "seq", "time_ns"))
            task_of, seqs, at = (as_numpy(part[name]) for name in ("task", "seq", "time_ns"))
            mask = np.isin(seqs, [seq for _, seq in facts]) & np.isin(task_of, sorted(tasks))
            for place in np.flatnonzero(mask).tolist():
                fact = int(task_of[place]), int(seqs[place])
                if fact in facts:
                    facts.discard(fact)
                    times[fact] = int(at[place])
            if not facts:
                return times
    return times
