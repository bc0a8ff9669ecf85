"""What the operators of a job held when they copied their state, and what an async operator stored."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flowsim.checkpoints.storage.directory.contents import state_entries, stored_states
from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.limits import DEFAULT_LIMITS
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.virtual_time_loop import START_NS


@dataclass(frozen=True)
class Copied:
    """A row of table ``snapshots``; times in ns since the start of the job."""

    taken_ns: int
    requested_ns: int
    records_in: int
    elements: int
    inside: bool


def copies(recorder: MemoryRecorder, checkpoint: int = 1) -> dict[str, Copied]:
    """Returns what each operator held at this checkpoint, by name; of several subtasks the last one."""
    vertex_of = {row[0]: row[1] for row in recorder.static_rows("tasks")}
    names = {(row[0], row[1]): str(row[2]) for row in recorder.static_rows("operators")}
    return {
        names[vertex_of[task], operator]: Copied(
            taken - START_NS, requested - START_NS, records, elements, bool(inside)
        )
        for _, task, operator, taken, requested, number, records, elements, inside in sorted(recorder.rows("snapshots"))
        if number == checkpoint
    }


def stored_queue(snapshot: Path, operator: str) -> list[tuple[object, ...]]:
    """Returns the elements that an async operator stored: (timestamp, value), or (timestamp,) of a watermark."""
    stored = StoredSnapshot(snapshot, DEFAULT_LIMITS)
    states = [one for one in stored_states(stored) if one.operator == operator]
    values = [entry.value for entry in state_entries(stored, states, 1000)]
    return [value for value in values if isinstance(value, tuple)]
