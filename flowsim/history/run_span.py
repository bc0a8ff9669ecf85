"""When the run of a recording started, and the time of its last fact, on the clock of its facts."""

from __future__ import annotations

from collections.abc import Iterator

from flowsim.recording.causal_order import TASK_TABLES
from flowsim.recording.reader import Recording
from flowsim.sim.virtual_time_loop import START_NS


def start_of(recording: Recording) -> int:
    """Returns the start of the run in ns, on the clock of its facts; on the real clock, the time of the first fact."""
    if recording.manifest.run.clock != "real":
        return START_NS
    return min((first for first, _ in _bounds(recording, range(len(recording.epochs))[:1])), default=0)


def end_of(recording: Recording) -> int:
    """Returns the time of the last fact of a task in ns; without facts, the start of the run."""
    bounds = _bounds(recording, range(len(recording.epochs)))
    return max((last for _, last in bounds), default=start_of(recording))


def _bounds(recording: Recording, epochs: range) -> Iterator[tuple[int, int]]:
    for epoch in epochs:
        for table in TASK_TABLES:
            bounds = recording.time_bounds(table.name, epoch)
            if bounds is not None:
                yield bounds
