"""Processing time for operators. Flink: ProcessingTimeService (rules 3.26, 3.27, 9.10)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

ProcessingTimeCallback = Callable[[int], None]
"""A function that is called in the task's mailbox with the *registered* time in ms (rule 3.26)."""


class TimerHandle(Protocol):
    """A registered system timer.

    A Protocol, because this package does not know the event loop, which runs the timers.
    """

    def cancel(self) -> None:
        """Cancels the callback. Has no effect after the callback's mail was enqueued."""


class ProcessingTimeService(Protocol):
    """The processing time of one operator; its callbacks are mails of the operator's priority.

    A Protocol, because this package does not know tasks, whose service implements it.
    """

    def current_processing_time_ms(self) -> int: ...

    def register_timer(
        self, timestamp_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool] | None = None
    ) -> TimerHandle:
        """Runs ``callback`` at ``timestamp_ms`` + 1 ms, or at once if that time has passed (rule 9.10).

        A timer that is repeated forever (periodic watermarks) passes ``daemon_while_not``: such a timer keeps a run
        alive only while the function returns True, that is, while firing would have an effect (D4).
        """

    def schedule_with_fixed_delay(
        self, delay_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool]
    ) -> None:
        """Runs ``callback`` every ``delay_ms`` from now, until the service is quiesced.

        Unlike ``register_timer`` it adds no millisecond and does not drift (rule 8.2). Intervals that end before an
        earlier callback has run are merged with it.
        """


class NoSystemTimers:
    """The time of another service, and no callbacks: in BATCH mode the end of a key fires its timers."""

    __slots__ = ("_processing_time",)

    def __init__(self, processing_time: ProcessingTimeService) -> None:
        self._processing_time = processing_time

    def current_processing_time_ms(self) -> int:
        return self._processing_time.current_processing_time_ms()

    def register_timer(
        self, timestamp_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool] | None = None
    ) -> TimerHandle:
        """Does not call back."""
        return self

    def schedule_with_fixed_delay(
        self, delay_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool]
    ) -> None:
        """Does not call back."""

    def cancel(self) -> None:
        """Does nothing."""
