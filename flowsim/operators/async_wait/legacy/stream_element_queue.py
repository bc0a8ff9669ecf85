"""The blocking queues of the legacy design, as what there is to wait for. Flink (1.2 to 1.9): StreamElementQueue."""

from __future__ import annotations

from typing import Protocol

from flowsim.operators.async_wait.legacy.stream_element_queue_entry import FutureEntry


class LegacyStreamElementQueue(Protocol):
    """Elements stay until they are polled, so that a snapshot holds those that are being emitted (rules 11.32, 11.35).

    What blocks a thread in Java is a condition here: ``put`` until ``is_full`` is over, ``peek`` and ``poll`` until
    ``has_completed_element``; the task's shell does the waiting.
    """

    capacity: int

    def __len__(self) -> int:
        """Elements that were not polled yet, watermarks included (rule 11.35)."""

    @property
    def is_full(self) -> bool: ...

    @property
    def has_completed_element(self) -> bool:
        """Whether ``peek`` and ``poll`` have what to answer."""

    def try_put(self, entry: FutureEntry) -> bool:
        """Whether there was space for it."""

    def peek(self) -> FutureEntry:
        """The next to be emitted, which stays; raises WouldBlock when there is none. Flink: peekBlockingly."""

    def poll(self) -> FutureEntry:
        """Takes it out; raises WouldBlock when there is none."""

    def values(self) -> list[FutureEntry]:
        """All that a snapshot must hold, in the order in which they would be put in again (rule 11.37)."""
