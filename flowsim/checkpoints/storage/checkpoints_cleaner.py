"""Deletes snapshots, and counts those that are being deleted. Flink: CheckpointsCleaner (rules 12.39, 12.63)."""

from __future__ import annotations

from collections import deque
from typing import Protocol

from flowsim.checkpoints.main_thread_executor import Action, MainThreadExecutor
from flowsim.checkpoints.storage.completed_checkpoint import CompletedCheckpoint


class Discardable(Protocol):
    """A snapshot with files."""

    def discard(self) -> None:
        """Deletes the files."""
        ...


class CheckpointsCleaner:
    """Runs each deletion in a turn of the main thread, and those that wait at its end before it ends.

    Flink: CheckpointsCleaner.
    """

    __slots__ = ("_main_thread", "_subsumed_checkpoints", "_to_clean", "_waiting")

    def __init__(self, main_thread: MainThreadExecutor) -> None:
        self._main_thread = main_thread
        self._to_clean = 0
        self._waiting: deque[Action] = deque()
        self._subsumed_checkpoints: list[CompletedCheckpoint] = []
        """Subsumed checkpoints whose files a retained one may still use."""

    @property
    def checkpoint_count_to_clean(self) -> int:
        """The number of snapshots that are being deleted."""
        return self._to_clean

    def clean_checkpoint(self, checkpoint: Discardable, should_discard: bool, post_clean_action: Action) -> None:
        """Runs ``post_clean_action``, after the deletion if the snapshot is to be deleted."""
        if should_discard:
            self._to_clean += 1
            self._waiting.append(lambda: self._discard(checkpoint, post_clean_action))
        else:
            # Through the queue, too, so that the actions run in the order of the calls.
            self._waiting.append(post_clean_action)
        self._main_thread.execute(self._run_next)

    def close(self) -> None:
        """Runs what has not run: the main thread ends."""
        while self._waiting:
            self._run_next()

    def _run_next(self) -> None:
        if self._waiting:
            self._waiting.popleft()()

    def _discard(self, checkpoint: Discardable, post_clean_action: Action) -> None:
        checkpoint.discard()
        self._to_clean -= 1
        post_clean_action()

    def add_subsumed_checkpoint(self, checkpoint: CompletedCheckpoint) -> None:
        """Remembers a checkpoint for ``clean_subsumed_checkpoints``."""
        self._subsumed_checkpoints.append(checkpoint)

    def clean_subsumed_checkpoints(self, up_to: int | None, post_clean_action: Action) -> None:
        """Deletes the subsumed checkpoints with an id below ``up_to``; None: all."""
        below = [c for c in self._subsumed_checkpoints if up_to is None or c.checkpoint_id < up_to]
        self._subsumed_checkpoints = [c for c in self._subsumed_checkpoints if c not in below]
        for checkpoint in below:
            self.clean_checkpoint(checkpoint, checkpoint.properties.discard_on_subsumed, post_clean_action)
