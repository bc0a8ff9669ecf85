"""The interface for recording facts of the job's side: checkpoints and restarts, which belong to no single task."""

from __future__ import annotations

from flowsim.facts.checkpoint_tables import CHECKPOINTS, RESTARTS, STORED_CHANNELS
from flowsim.facts.kinds import (
    AlignmentType,
    CheckpointAction,
    CheckpointReason,
    RestartAction,
    SnapshotKind,
    StoredAction,
)
from flowsim.facts.recorder import Recorder
from flowsim.task_clock import Clock


class JobTrace:
    """Stamps the facts of the job's side with their number and the job's clock."""

    __slots__ = ("_checkpoints", "_clock", "_restarts", "_step", "_stored")

    def __init__(self, clock: Clock, recorder: Recorder) -> None:
        self._clock = clock
        self._step = 0
        self._checkpoints = recorder.appender(CHECKPOINTS)
        self._restarts = recorder.appender(RESTARTS)
        self._stored = recorder.appender(STORED_CHANNELS)

    def _next(self) -> int:
        step = self._step
        self._step = step + 1
        return step

    def checkpoint(
        self, checkpoint: int, action: CheckpointAction, kind: SnapshotKind, tasks: int, acknowledged: int, *,
        alignment: AlignmentType = AlignmentType.ALIGNED, reason: CheckpointReason = CheckpointReason.NONE,
        task: int = -1, state_bytes: int = 0,
    ) -> None:  # fmt: skip
        """Records an event of a checkpoint; ``task``: the one that acknowledged or declined it."""
        self._checkpoints(
            self._next(),
            self._clock.now_ns,
            checkpoint,
            action,
            kind,
            alignment,
            reason,
            task,
            tasks,
            acknowledged,
            state_bytes,
        )

    def stored_channel(self, checkpoint: int, action: StoredAction, *columns: int) -> None:
        """Records the in-flight data of one channel; ``columns``: those of the table after ``action``."""
        self._stored(self._next(), self._clock.now_ns, checkpoint, action, *columns)

    def failure(self, failure: int, task: int, attempt: int, delay_ms: int | None) -> None:
        """Records a failure; task and attempt -1: of no single task; ``delay_ms`` None: the job fails."""
        action = RestartAction.GIVE_UP if delay_ms is None else RestartAction.FAILURE
        self._restarts(self._next(), self._clock.now_ns, action, failure, task, attempt, -1, delay_ms or 0)

    def restart(self, failure: int, task: int, attempt: int, checkpoint: int) -> None:
        """Records that a task is deployed again with the state of a checkpoint, -1: with none."""
        self._restarts(self._next(), self._clock.now_ns, RestartAction.RESTART, failure, task, attempt, checkpoint, 0)
