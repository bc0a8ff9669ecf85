"""Timers on a thread of their own, under the checkpoint lock. Flink 1.8: SystemProcessingTimeService (rule 11.31)."""

from __future__ import annotations

from collections.abc import Callable

from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.tasks.legacy.locked_executor import LockedExecutor
from flowsim.tasks.processing_time import OperatorProcessingTimeService, TaskTimers
from flowsim.timers.processing_time_service import ProcessingTimeCallback


class LockedProcessingTimeService(OperatorProcessingTimeService):
    """A due timer waits for the lock, which it may have while the task is in the middle of an element.

    One that has the lock only after the end does nothing. Flink 1.8: SystemProcessingTimeService.TriggerTask.
    """

    __slots__ = ("_thread", "_operator")

    def __init__(self, timers: TaskTimers, executor: MailboxExecutor, thread: LockedExecutor, operator: int) -> None:
        super().__init__(timers, executor)
        self._thread = thread
        self._operator = operator

    def _fire(self, timestamp_ms: int, callback: ProcessingTimeCallback) -> Callable[[], None]:
        def trigger() -> None:
            if not self._quiesced:
                self._thread.entry = self._operator
                callback(timestamp_ms)

        def put_task() -> None:
            if not self._quiesced:
                self._thread.execute(trigger)

        return put_task
