"""The door to the threads and the lock that tasks had before the mailbox; the shell opens it (rule 11.30)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class LegacyThreads(Protocol):
    """What a task gives an operator that emits from a thread of its own.

    Whoever works for the task holds its checkpoint lock: the task itself, the emitter of an operator, a timer, a snapshot.
    """

    def start_emitter(self, has_completed_element: Callable[[], bool], emit: Callable[[], None]) -> None:
        """From now on ``emit`` runs on the emitter's thread, under the lock, once for each completed element."""

    def execute(self, callback: Callable[[], None]) -> None:
        """Runs on the executor's thread, without the lock, after what was given before."""

    def wait(self, ready: Callable[[], bool], reason: str) -> None:
        """Whoever has the lock gives it away and has it back once ``ready``; at once when it is. Flink: Object.wait.

        ``reason`` ends the sentence "waits for ..." of the report of a deadlock.
        """

    def fail(self, error: Exception) -> None:
        """The task fails with ``error`` as soon as it has the lock, in the middle of an element too."""

    def stop(self) -> None:
        """Nothing is emitted any more."""
