"""The metrics of the job's side: checkpoints and restarts, with the names of Flink."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final, NamedTuple

from flowsim.facts.checkpoint_tables import CHECKPOINT_METRICS, CHECKPOINTS, RESTARTS
from flowsim.facts.kinds import CheckpointAction, RestartAction
from flowsim.history.checkpoints import checkpoint_events, restart_events
from flowsim.history.run_span import start_of
from flowsim.laws.job_history import CheckpointEvent, RestartEvent
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
    gauges = _Gauges(start_of(recording), _stored_bytes(recording), has_checkpoints)
    samples = [gauges.sample(start_of(recording))]
    for event in _events(recording):
        gauges.add(event)
        sample = gauges.sample(event.time_ns)
        if sample.values == samples[-1].values:
            continue
        if sample.time_ns == samples[-1].time_ns:
            samples.pop()
        samples.append(sample)
    return samples


def _events(recording: Recording) -> Iterator[CheckpointEvent | RestartEvent]:
    for epoch in range(len(recording.epochs)):
        events: list[CheckpointEvent | RestartEvent] = [*checkpoint_events(recording, epoch)]
        events += restart_events(recording, epoch)
        yield from sorted(events, key=lambda event: event.step)


def _stored_bytes(recording: Recording) -> dict[int, tuple[int, int]]:
    """By checkpoint: bytes processed during alignments, and bytes of stored in-flight data."""
    bytes_of: defaultdict[int, tuple[int, int]] = defaultdict(lambda: (0, 0))
    for epoch in range(len(recording.epochs)):
        part = recording.part(CHECKPOINT_METRICS.name, epoch, ("checkpoint", "alignment_bytes", "persisted_bytes"))
        for checkpoint, processed, persisted in zip(*(column.to_pylist() for column in part.columns), strict=True):
            before = bytes_of[checkpoint]
            bytes_of[checkpoint] = before[0] + processed, before[1] + persisted
    return bytes_of


class _Gauges:
    """The current values of the gauges."""

    def __init__(self, start_ns: int, stored_bytes: dict[int, tuple[int, int]], has_checkpoints: bool) -> None:
        self._stored_bytes = stored_bytes
        self._values = dict.fromkeys(CHECKPOINT_GAUGES if has_checkpoints else (), 0)
        self._values |= dict.fromkeys(RESTART_GAUGES, 0)
        if has_checkpoints:
            self._values |= dict.fromkeys(_LAST_COMPLETED, -1)
            self._values["lastCheckpointRestoreTimestamp"] = start_ns // NS_PER_MS
        self._has_checkpoints = has_checkpoints
        self._pending: dict[int, tuple[int, int]] = {}
        """By checkpoint: times of the trigger and of the last acknowledgement."""

    def sample(self, time_ns: int) -> JobSample:
        return JobSample(time_ns, dict(self._values))

    def add(self, event: CheckpointEvent | RestartEvent) -> None:
        if isinstance(event, CheckpointEvent):
            self._add_checkpoint(event)
        elif event.action == RestartAction.FAILURE:
            for name in RESTART_GAUGES:
                self._values[name] += 1
        elif event.action == RestartAction.RESTART and self._has_checkpoints:
            self._values["lastCheckpointRestoreTimestamp"] = event.time_ns // NS_PER_MS

    def _add_checkpoint(self, event: CheckpointEvent) -> None:
        values = self._values
        match event.action:
            case CheckpointAction.TRIGGERED:
                self._pending[event.checkpoint] = event.time_ns, event.time_ns
                values["totalNumberOfCheckpoints"] += 1
            case CheckpointAction.REJECTED:
                values["totalNumberOfCheckpoints"] += 1
                values["numberOfFailedCheckpoints"] += 1
            case CheckpointAction.ACKNOWLEDGED if event.checkpoint in self._pending:
                self._pending[event.checkpoint] = self._pending[event.checkpoint][0], event.time_ns
            case CheckpointAction.COMPLETED:
                values["numberOfCompletedCheckpoints"] += 1
                self._complete(event)
            case CheckpointAction.ABORTED:
                values["numberOfFailedCheckpoints"] += 1
                self._pending.pop(event.checkpoint, None)
            case _:
                pass
        values["numberOfInProgressCheckpoints"] = len(self._pending)

    def _complete(self, event: CheckpointEvent) -> None:
        triggered_ns, acknowledged_ns = self._pending.pop(event.checkpoint, (event.time_ns, event.time_ns))
        processed, persisted = self._stored_bytes.get(event.checkpoint, (0, 0))
        self._values |= {
            "lastCompletedCheckpointId": event.checkpoint,
            "lastCheckpointDuration": max(0, acknowledged_ns // NS_PER_MS - triggered_ns // NS_PER_MS),
            "lastCheckpointSize": event.state_bytes,
            "lastCheckpointFullSize": event.state_bytes,
            "lastCheckpointProcessedData": processed,
            "lastCheckpointPersistedData": persisted,
        }
