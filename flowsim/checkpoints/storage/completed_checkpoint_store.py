"""The checkpoints from which a job can recover (rules 12.60-12.63).

Flink: StandaloneCompletedCheckpointStore, CheckpointSubsumeHelper, StandaloneCheckpointIDCounter.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.checkpoints.checkpoint_properties import JobStatus
from flowsim.checkpoints.storage.checkpoints_cleaner import CheckpointsCleaner
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint


class CheckpointIdCounter:
    """The id of the next checkpoint, which outlives a coordinator like the store. Flink: StandaloneCheckpointIDCounter."""

    __slots__ = ("_next_id",)

    def __init__(self) -> None:
        self._next_id = 1

    def get_and_increment(self) -> int:
        self._next_id += 1
        return self._next_id - 1

    def set_count(self, next_id: int) -> None:
        self._next_id = next_id


class CompletedCheckpointStore:
    """The retained checkpoints, oldest first. Flink: StandaloneCompletedCheckpointStore.

    Invariant: the newest checkpoint, and the newest one that is no savepoint, are retained, so that the store may
    exceed its limit.
    """

    __slots__ = ("_checkpoints", "_cleaner", "_max_retained")

    def __init__(self, max_retained_checkpoints: int, cleaner: CheckpointsCleaner) -> None:
        self._max_retained = max_retained_checkpoints
        self._cleaner = cleaner
        self._checkpoints: list[CompletedCheckpoint] = []

    @property
    def all_checkpoints(self) -> Sequence[CompletedCheckpoint]:
        """The retained checkpoints, oldest first."""
        return tuple(self._checkpoints)

    @property
    def latest_checkpoint(self) -> CompletedCheckpoint | None:
        """The checkpoint from which the job recovers."""
        return self._checkpoints[-1] if self._checkpoints else None

    @property
    def latest_checkpoint_id(self) -> int:
        """The id of the latest checkpoint; 0 if there is none."""
        return self._checkpoints[-1].checkpoint_id if self._checkpoints else 0

    def add_checkpoint_and_subsume_oldest_one(
        self, checkpoint: CompletedCheckpoint, post_cleanup: Callable[[], None]
    ) -> CompletedCheckpoint | None:
        """Adds a checkpoint; returns the newest one that it subsumes, if any.

        ``post_cleanup`` runs after the deletion of each subsumed checkpoint.
        """
        self._checkpoints.append(checkpoint)
        subsumed = self._subsume()
        for old in subsumed:
            self._cleaner.add_subsumed_checkpoint(old)
        in_use = [retained.checkpoint_id for retained in self._checkpoints if not retained.properties.is_savepoint]
        if in_use:
            self._cleaner.clean_subsumed_checkpoints(min(in_use), post_cleanup)
        return max(subsumed, key=lambda old: old.checkpoint_id, default=None)

    def shutdown(self, status: JobStatus) -> None:
        """Deletes the checkpoints that are not retained after this end of the job (rule 12.63)."""
        retained = []
        for checkpoint in self._checkpoints:
            if status in checkpoint.properties.discard_on:
                checkpoint.discard()
            else:
                retained.append(checkpoint.checkpoint_id)
        if status.is_globally_terminal:
            self._cleaner.clean_subsumed_checkpoints(min(retained, default=None), _do_nothing)
        self._checkpoints.clear()

    def _subsume(self) -> list[CompletedCheckpoint]:
        """Removes the oldest checkpoints that may go until the limit holds; returns them."""
        latest = self._checkpoints[-1]
        latest_checkpoint = next((c for c in reversed(self._checkpoints) if not c.properties.is_savepoint), None)
        subsumed: list[CompletedCheckpoint] = []
        for checkpoint in self._checkpoints[:-1]:
            if len(self._checkpoints) - len(subsumed) <= self._max_retained:
                break
            # Rule 12.60: the latest checkpoint that is no savepoint goes only if the job stops with a savepoint.
            if (
                checkpoint.properties.is_savepoint
                or latest.properties.is_synchronous
                or latest_checkpoint not in (None, checkpoint)
            ):
                subsumed.append(checkpoint)
        self._checkpoints = [checkpoint for checkpoint in self._checkpoints if checkpoint not in subsumed]
        return subsumed


def _do_nothing() -> None:
    """No action after a deletion."""
