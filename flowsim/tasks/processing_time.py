"""Processing time from the scheduler's clock. Flink: ProcessingTimeServiceImpl, SystemProcessingTimeService (rules
3.26, 3.27, 9.10).
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.sim.origin import Origin
from flowsim.sim.scheduler import Scheduler, Timer
from flowsim.task_clock import TaskClock
from flowsim.timers.processing_time_service import ProcessingTimeCallback
from flowsim.units import NS_PER_MS


def processing_time_delay_ms(timestamp_ms: int, now_ms: int) -> int:
    """Returns the delay of a system timer in ms (rule 9.10). Flink: ProcessingTimeServiceUtil.

    >>> processing_time_delay_ms(10, 10), processing_time_delay_ms(10, 11)
    (1, 0)
    """
    return timestamp_ms - now_ms + 1 if timestamp_ms >= now_ms else 0


class TaskTimers:
    """The due times of one task's timers; a batch of the task ends at the next due time (D4).

    ``batch_limit_ns`` is the latest end of the running batch. ``user_thread`` and ``system_thread`` are the origins of
    the task's timers: in Flink its timer service for operators and the one for the system have a thread each.
    """

    __slots__ = ("actor_id", "scheduler", "clock", "batch_limit_ns", "user_thread", "system_thread", "_due")

    def __init__(self, scheduler: Scheduler, clock: TaskClock, actor_id: int) -> None:
        self.actor_id = actor_id
        self.scheduler = scheduler
        self.clock = clock
        self.batch_limit_ns = 0
        self.user_thread: Final = Origin("timer", actor_id, 0)
        self.system_thread: Final = Origin("timer", actor_id, 1)
        self._due: list[int] = []

    def call_at_ns(
        self,
        when_ns: int,
        callback: Callable[[], None],
        daemon_while_not: Callable[[], bool] | None = None,
        *,
        origin: Origin | None = None,
    ) -> Timer:
        heapq.heappush(self._due, when_ns)
        # A timer registered inside the batch also ends it.
        clock = self.clock
        self.batch_limit_ns = min(self.batch_limit_ns, when_ns)
        batch_end_ns: int = clock.batch_end_ns
        clock.batch_end_ns = min(batch_end_ns, when_ns)
        return self.scheduler.call_at_ns(when_ns, callback, daemon_while_not=daemon_while_not, origin=origin)

    def end_batch_at(self, when_ns: int) -> None:
        """Ends batches before the time of an external event; called before the task starts."""
        heapq.heappush(self._due, when_ns)

    def begin_batch(self, now_ns: int, longest_ns: int) -> None:
        """Starts a batch, which ends after ``longest_ns`` or at the next timer.

        A cancelled timer may end the batch early.
        """
        due = self._due
        while due and due[0] <= now_ns:
            heapq.heappop(due)
        self.batch_limit_ns = min(now_ns + longest_ns, due[0]) if due else now_ns + longest_ns


@mypyc_attr(allow_interpreted_subclasses=True)
class OperatorProcessingTimeService:
    """The processing time of one operator: callbacks are its mails. Flink: ProcessingTimeServiceImpl."""

    __slots__ = ("_timers", "_executor", "_quiesced")

    def __init__(self, timers: TaskTimers, executor: MailboxExecutor) -> None:
        self._timers = timers
        self._executor = executor
        self._quiesced = False

    def current_processing_time_ms(self) -> int:
        return self._timers.clock.now_ns // NS_PER_MS

    def register_timer(
        self,
        timestamp_ms: int,
        callback: ProcessingTimeCallback,
        *,
        daemon_while_not: Callable[[], bool] | None = None,
    ) -> Timer:
        """Registers a timer, which fires one millisecond after the time, or at once if the time has passed (rule 9.10).

        After quiesce it never fires (rule 3.27).
        """
        if self._quiesced:
            return _NeverTimer()
        # No 64-bit integer: a timer can be so far in the future that it never fires.
        now_ns: int = self._timers.clock.now_ns
        now_ms = now_ns // NS_PER_MS
        delay_ms = processing_time_delay_ms(timestamp_ms, now_ms)
        wait = None if daemon_while_not is None else self._unless_quiesced(daemon_while_not)
        due_ns = now_ns + delay_ms * NS_PER_MS
        return self._timers.call_at_ns(
            due_ns, self._fire(timestamp_ms, callback), wait, origin=self._timers.user_thread
        )

    def schedule_with_fixed_delay(
        self, delay_ms: int, callback: ProcessingTimeCallback, *, daemon_while_not: Callable[[], bool]
    ) -> None:
        """Enqueues a mail exactly at each interval, also while earlier ones wait (rule 8.2).

        A timer behind a mail that waits does not keep the job alive: the mail has the effect.
        """
        delay_ns = delay_ms * NS_PER_MS
        waiting = 0

        def run(timestamp_ms: int) -> None:
            nonlocal waiting
            waiting -= 1
            callback(timestamp_ms)

        def schedule(due_ns: int) -> None:
            put_mail = self._fire(due_ns // NS_PER_MS, run)

            def fire() -> None:
                nonlocal waiting
                if not self._quiesced:
                    waiting += 1
                    put_mail()
                    schedule(due_ns + delay_ns)

            keeps_alive = self._unless_quiesced(lambda: not waiting and daemon_while_not())
            self._timers.call_at_ns(due_ns, fire, keeps_alive, origin=self._timers.user_thread)

        schedule(self._timers.clock.now_ns + delay_ns)

    def quiesce(self) -> None:
        """Stops the timers: a timer that fires later enqueues no mail.

        Mails that are already enqueued still run (rule 3.27).
        """
        self._quiesced = True

    def _unless_quiesced(self, has_effect: Callable[[], bool]) -> Callable[[], bool]:
        return lambda: not self._quiesced and has_effect()

    def _fire(self, timestamp_ms: int, callback: ProcessingTimeCallback) -> Callable[[], None]:
        def put_mail() -> None:
            if not self._quiesced:
                self._executor.execute(lambda: callback(timestamp_ms), f"timer {timestamp_ms}")

        return put_mail


class ExploredProcessingTimeService(OperatorProcessingTimeService):
    """Reports when an operator reads the time, so that an exploration tries other times."""

    __slots__ = ()

    def __init__(self, timers: TaskTimers, executor: MailboxExecutor) -> None:
        super().__init__(timers, executor)

    def current_processing_time_ms(self) -> int:
        self._timers.scheduler.on_clock_read()
        return super().current_processing_time_ms()


def create_processing_time_service(timers: TaskTimers, executor: MailboxExecutor) -> OperatorProcessingTimeService:
    """Creates the processing time of one operator, whose timers are mails of ``executor``."""
    explores = timers.scheduler.explores_arrivals
    return (ExploredProcessingTimeService if explores else OperatorProcessingTimeService)(timers, executor)


class _NeverTimer:
    """The handle of a timer that was registered after quiesce (rule 3.27)."""

    __slots__ = ()

    def cancel(self) -> None:
        """Does nothing: the timer never fires."""
