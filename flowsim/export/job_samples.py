"""The metrics of the job's side: checkpoints and restarts, with the names of Flink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from flowsim.facts.checkpoint_tables import CHECKPOINTS, RESTARTS
from flowsim.history.checkpoints import CheckpointHistory, MeasuredBytes, RecordedCheckpoint, measured_bytes
from flowsim.history.job_events import in_range, job_events
from flowsim.history.run_span import start_of
from flowsim.recording.reader import Recording
from flowsim.units import NS_PER_MS

_LAST_COMPLETED: Final = (
    "lastCompletedCheckpointId",
    "lastCheckpointDuration",
    "lastCheckpointSize",
    "lastCheckpointFullSize",
    "lastCheckpointProcessedData",
    "lastCheckpointPersistedData",
)
"""Of the last completed checkpoint or savepoint; -1 before the first one."""
CHECKPOINT_GAUGES: Final = (
    "totalNumberOfCheckpoints",
    "numberOfInProgressCheckpoints",
    "numberOfCompletedCheckpoints",
    "numberOfFailedCheckpoints",
    "lastCheckpointRestoreTimestamp",
    *_LAST_COMPLETED,
)
RESTART_GAUGES: Final = ("numRestarts", "fullRestarts")


class JobSample(NamedTuple):
    """The gauges of the job after the events of one moment, by Flink's name."""

    time_ns: int
    values: dict[str, int]


def read_job_samples(recording: Recording) -> list[JobSample]:
    """Returns the gauges at the start of the run and after each moment that changed them.

    Empty for a run without checkpoints and failures; without checkpoints there are only the gauges of restarts. Raises
    BadInput for damaged parts.
    """
    has_checkpoints, has_restarts = (
        bool(recording.row_count(CHECKPOINTS.name)),
        bool(recording.row_count(RESTARTS.name)),
    )
    if not has_checkpoints and not has_restarts:
        return []
    start_ns, bytes_of, history = start_of(recording), measured_bytes(recording), CheckpointHistory()
    samples = [JobSample(start_ns, _gauges(history, start_ns, bytes_of, has_checkpoints))]
    for epoch in range(len(recording.epochs)):
        for table, event in job_events(recording, epoch, (CHECKPOINTS.name, RESTARTS.name)):
            in_range(recording, table, event, history.add)
            sample = JobSample(event.time_ns, _gauges(history, start_ns, bytes_of, has_checkpoints))
            if sample.values == samples[-1].values:
                continue
            if sample.time_ns == samples[-1].time_ns:
                samples.pop()
            samples.append(sample)
    return samples


def _gauges(
    history: CheckpointHistory, start_ns: int, bytes_of: Mapping[int, MeasuredBytes], has_checkpoints: bool
) -> dict[str, int]:
    restarts = dict.fromkeys(RESTART_GAUGES, history.counts["handled"])
    if not has_checkpoints:
        return restarts
    counts, last = history.counts, history.last_completed
    rejected = history.rejected.total()
    restored_ns = start_ns if history.restarted_ns is None else history.restarted_ns
    values = (
        counts["triggered"] + rejected,
        history.in_progress,
        counts["completed"],
        counts["failed"],
        restored_ns // NS_PER_MS,
        *((-1,) * len(_LAST_COMPLETED) if last is None else _of_completed(last, bytes_of)),
    )
    return dict(zip(CHECKPOINT_GAUGES, values, strict=True)) | restarts


def _of_completed(last: RecordedCheckpoint, bytes_of: Mapping[int, MeasuredBytes]) -> tuple[int, ...]:
    measured = bytes_of.get(last.checkpoint)
    sizes = (0, 0) if measured is None else (measured.processed, measured.persisted)
    return last.checkpoint, last.end_to_end_ms or 0, last.completed_bytes, last.completed_bytes, *sizes
