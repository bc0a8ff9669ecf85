"""Takes the outcomes of one element and decides which of them is tried again.

Flink: AsyncWaitOperator.RetryableResultHandlerDelegator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flowsim.facts.kinds import AsyncAction
from flowsim.operators.async_wait.result_future import checked_error, checked_results, wrong_results
from flowsim.operators.async_wait.result_handler import ResultHandler
from flowsim.operators.async_wait.stream_element_queue import StreamRecordQueueEntry
from flowsim.operators.stream_operator import Value
from flowsim.timers.processing_time_service import TimerHandle

if TYPE_CHECKING:
    from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator


class RetryableResultHandlerDelegator:
    """Every outcome is a mail first, which decides: another attempt later, or the end (rules 11.24, 11.25).

    Flink: AsyncWaitOperator.RetryableResultHandlerDelegator.
    """

    __slots__ = ("result_handler", "attempts", "_operator", "_started_ms", "_retry_timer", "_is_awaiting_retry")

    def __init__(self, operator: AsyncWaitOperator, entry: StreamRecordQueueEntry) -> None:
        self.result_handler = ResultHandler(operator, entry)
        self.attempts = 1
        self._operator = operator
        self._started_ms = operator.now_ms()
        self._retry_timer: TimerHandle | None = None
        self._is_awaiting_retry = False

    @property
    def entry(self) -> StreamRecordQueueEntry:
        return self.result_handler.entry

    def register_timeout(self, timeout_ms: int) -> None:
        """One for all attempts (rule 11.26)."""
        self.result_handler.register_timeout(timeout_ms, self._on_timeout)

    def complete(self, results: Sequence[Value]) -> None:
        """Raises TypeError for what is no list of results, here and now (rule 11.12)."""
        checked_results(results)
        if self._operator.retries_are_over:
            self.cancel_retry_timer()
            self.result_handler.complete(results)
        else:
            self._operator.execute(
                lambda: self._decide(results, None), "outcome of an async call that may be tried again"
            )

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """What ``supplier`` raises is an error like any other, and may be tried again."""
        if self._operator.retries_are_over:
            self.cancel_retry_timer()
            self.result_handler.complete_from(supplier)
        else:
            self._operator.submit(lambda: self._decide_on(supplier), "results of an async call to be made")

    def complete_exceptionally(self, error: BaseException) -> None:
        error = checked_error(error)
        if self._operator.retries_are_over:
            self.cancel_retry_timer()
            self.result_handler.complete_exceptionally(error)
        else:
            self._operator.execute(lambda: self._decide(None, error), "error of an async call that may be tried again")

    def cancel_retry_timer(self) -> None:
        if self._retry_timer is not None:
            self._retry_timer.cancel()

    def try_once(self) -> None:
        """Another attempt, now."""
        self.attempts += 1
        self._operator.invoke(self.entry, self, self.attempts)

    def _decide_on(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """An error of the decision itself is taken for an outcome too, which comes too late: only a timeout ends it."""
        try:
            results = supplier()
            if (wrong := wrong_results(results)) is None:
                self._decide(results, None)
            elif not self._is_awaiting_retry:
                self._is_awaiting_retry = True
                self._finish(None, wrong)
        except Exception as error:
            self._decide(None, error)

    def _decide(self, results: Sequence[Value] | None, error: BaseException | None) -> None:
        """Rule 11.24. An outcome that comes while a retry is awaited, or after the last one, is ignored."""
        if self._is_awaiting_retry:
            return
        self._is_awaiting_retry = True
        operator = self._operator
        # The predicates are asked first, and also when nothing can be tried again: they may count, or raise.
        is_asked_for = operator.asks_for_retry(self.entry.value, self.entry.timestamp, results, error)
        if (
            is_asked_for
            and not self._is_timed_out()
            and operator.may_retry(self.entry.value, self.entry.timestamp, self.attempts)
            and not operator.retries_are_over
        ):
            self._wait_for_retry()
        else:
            self._finish(results, error)

    def _finish(self, results: Sequence[Value] | None, error: BaseException | None) -> None:
        """One that timed out before its first retry stays among those that wait (rule 11.28)."""
        if self.attempts > 1:
            self._operator.awaiting_retry.pop(self.entry.number, None)
        if error is not None:
            self.result_handler.complete_exceptionally(error)
        elif results is not None:
            self.result_handler.complete(results)

    def _wait_for_retry(self) -> None:
        operator, entry = self._operator, self.entry
        backoff_ms = operator.pause_ms(entry.value, entry.timestamp, self.attempts)
        operator.trace_step(entry, AsyncAction.RETRY, self.attempts, 0)
        self._retry_timer = operator.register_timer(backoff_ms, self._retry)
        if self.attempts == 1:
            operator.awaiting_retry[entry.number] = self

    def _is_timed_out(self) -> bool:
        return self._operator.now_ms() - self._started_ms > self._operator.timeout_ms

    def _retry(self) -> None:
        if self._is_awaiting_retry:
            self._is_awaiting_retry = False
            self.try_once()

    def _on_timeout(self) -> None:
        if self.result_handler.is_completed:
            return
        self.cancel_retry_timer()
        self._is_awaiting_retry = False
        self._operator.time_out(self.entry, self)
