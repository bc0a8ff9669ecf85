"""How many mails ran, and how long mails wait. Flink: MailboxMetricsController."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

LATENCY_INTERVAL_MS: Final = 1000
"""Between the end of one latency mail and the next (rule 3.18)."""


class MailDoor(Protocol):
    """What mails are put through; ``MailboxExecutor`` of the task (priority -1)."""

    def execute(self, command: Callable[[], None], description: str) -> None: ...


class MailboxMetrics:
    """Counts the mails of a task's loop and, once set up, lets a mail measure its own waiting. Flink: MailboxMetricsController.

    The first mail that runs starts the measuring: ``LATENCY_INTERVAL_MS`` later a mail is put from outside the task,
    which reports to ``observe`` how many ms it waited and arranges for the next one (rule 3.18).
    """

    __slots__ = ("mails_processed", "_schedule", "_now_ms", "_executor", "_observe", "_started")

    def __init__(self) -> None:
        self.mails_processed = 0
        """Mails that the loop ran; what ran inside a yield is not among them. Flink: numMailsProcessed."""
        self._schedule: Callable[[int, Callable[[], None]], object] | None = None
        self._now_ms: Callable[[], int]
        self._executor: MailDoor
        self._observe: Callable[[int], None]
        self._started = False

    def set_up_latency(
        self,
        schedule: Callable[[int, Callable[[], None]], object],
        now_ms: Callable[[], int],
        executor: MailDoor,
        observe: Callable[[int], None],
    ) -> None:
        """``schedule(time_ms, call)`` calls at that time from outside the task; ``observe(latency_ms)`` gets results."""
        self._schedule = schedule
        self._now_ms = now_ms
        self._executor = executor
        self._observe = observe

    def start_once(self) -> None:
        """After every mail of the loop: the first one starts the measuring if it was set up."""
        if not self._started and self._schedule is not None:
            self._started = True
            self._arrange(self._schedule)

    def _arrange(self, schedule: Callable[[int, Callable[[], None]], object]) -> None:
        def put() -> None:
            put_ms = self._now_ms()

            def measure() -> None:
                self._observe(self._now_ms() - put_ms)
                self._arrange(schedule)

            self._executor.execute(measure, "Measure mailbox latency metric")

        schedule(self._now_ms() + LATENCY_INTERVAL_MS, put)
