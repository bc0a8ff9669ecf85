"""Handles the outcomes of one element. Flink: AsyncWaitOperator.ResultHandler, RetryableResultHandlerDelegator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from flowsim.facts.kinds import AsyncAction, SystemTimer
from flowsim.operators.async_wait.result_future import ResultFuture, checked_error, checked_results, wrong_results
from flowsim.operators.async_wait.stream_element_queue import StreamRecordQueueEntry
from flowsim.operators.stream_operator import Value
from flowsim.timers.processing_time_service import TimerHandle


class ElementCompletion(Protocol):
    """The methods of an operator that the handler of an element calls.

    A Protocol, because the operator, which implements it, owns its handlers.
    """

    timeout_ms: int

    @property
    def retries_are_over(self) -> bool:
        """True after the end of input (rule 11.27)."""

    def invoke(self, entry: StreamRecordQueueEntry, future: ResultFuture, attempt: int) -> None:
        """Calls the function; ``attempt`` counts from 1."""

    def time_out(self, entry: StreamRecordQueueEntry, future: ResultFuture) -> None:
        """Calls the function's ``timeout`` (rule 11.17)."""

    def supplied(self, value: Value, timestamp: int | None, supplier: Callable[[], Sequence[Value]]) -> Sequence[Value]:
        """Computes the results of a supplier, in the task."""

    def complete_entry(self, entry: StreamRecordQueueEntry, results: Sequence[Value]) -> None:
        """Sets the results in the queue, and emits the elements that may leave it."""

    def fail_externally(self, entry: StreamRecordQueueEntry, error: BaseException) -> None:
        """Fails the task at this element (rule 11.15)."""

    def wants_retry(
        self, value: Value, timestamp: int | None, results: Sequence[Value] | None, error: BaseException | None
    ) -> bool:
        """Returns True if a retry predicate accepts this outcome."""

    def may_retry(self, value: Value, timestamp: int | None, attempts: int) -> bool:
        """Returns True if the strategy allows another call after ``attempts``."""

    def pause_ms(self, value: Value, timestamp: int | None, attempts: int) -> int:
        """Returns the strategy's pause in ms before the next call."""

    def await_retry(self, handler: RetryableResultHandlerDelegator) -> None:
        """Adds a handler to those with a pending retry (rule 11.28)."""

    def end_retry(self, entry: StreamRecordQueueEntry) -> None:
        """Removes the handler of ``entry`` from those with a pending retry."""

    def execute(self, command: Callable[[], None], description: str) -> None:
        """Enqueues a mail of the operator."""

    def submit(self, command: Callable[[], None], description: str) -> None:
        """Enqueues a mail whose errors are lost."""

    def register_timer(
        self, entry: StreamRecordQueueEntry, kind: SystemTimer, delay_ms: int, callback: Callable[[], None]
    ) -> TimerHandle: ...

    def now_ms(self) -> int: ...

    def trace_given(self, entry: StreamRecordQueueEntry, action: AsyncAction, attempt: int) -> None: ...

    def trace_failed(self, entry: StreamRecordQueueEntry) -> None: ...

    def trace_completed(self, entry: StreamRecordQueueEntry, results: Sequence[Value] | None) -> None: ...


class ResultHandler:
    """Accepts the first outcome, from any caller; a mail processes the outcome (rule 11.12).

    Flink: AsyncWaitOperator.ResultHandler.
    """

    __slots__ = ("entry", "is_completed", "_operator", "_timeout_timer")

    def __init__(self, operator: ElementCompletion, entry: StreamRecordQueueEntry) -> None:
        self.entry = entry
        self.is_completed = False
        self._operator = operator
        self._timeout_timer: TimerHandle | None = None

    def complete(self, results: Sequence[Value]) -> None:
        """Completes the element with results. Invalid results fail the task, in the mail (rule 11.12)."""
        if self._is_first():
            self._operator.trace_completed(self.entry, results)
            self._process_in_mailbox(results)

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """Completes the element with the results of ``supplier``. An error of ``supplier`` fails the task."""
        if self._is_first():
            self._operator.trace_completed(self.entry, None)
            self._operator.execute(lambda: self._process_supplied(supplier), "results of an async call to be made")

    def complete_exceptionally(self, error: BaseException) -> None:
        """Fails the task from outside, and still frees the element's position in the queue (rule 11.15)."""
        if self._is_first():
            self._operator.trace_failed(self.entry)
            self._operator.fail_externally(self.entry, checked_error(error))
            self._process_in_mailbox(())

    def register_timeout(self, timeout_ms: int, on_timeout: Callable[[], None] | None = None) -> None:
        """Registers the timeout of the element (rule 11.17); ``on_timeout`` replaces the handler's own reaction."""
        on_timeout = on_timeout or self._on_timeout
        self._timeout_timer = self._operator.register_timer(self.entry, SystemTimer.TIMEOUT, timeout_ms, on_timeout)

    def _is_first(self) -> bool:
        if self.is_completed:
            return False
        self.is_completed = True
        return True

    def _process_in_mailbox(self, results: Sequence[Value]) -> None:
        self._operator.execute(lambda: self._process_results(results), "result of an async call")

    def _process_supplied(self, supplier: Callable[[], Sequence[Value]]) -> None:
        results = self._operator.supplied(self.entry.value, self.entry.timestamp, supplier)
        self._process_results(results)

    def _process_results(self, results: Sequence[Value]) -> None:
        if self._timeout_timer is not None:
            self._timeout_timer.cancel()
        self._operator.complete_entry(self.entry, results)

    def _on_timeout(self) -> None:
        if not self.is_completed:
            self._operator.time_out(self.entry, self)


class RetryableResultHandlerDelegator:
    """Every outcome is first a mail, which decides: another attempt later, or completion (rules 11.24, 11.25).

    Flink: AsyncWaitOperator.RetryableResultHandlerDelegator.
    """

    __slots__ = ("result_handler", "attempts", "_operator", "_started_ms", "_retry_timer", "_is_awaiting_retry")

    def __init__(self, operator: ElementCompletion, entry: StreamRecordQueueEntry) -> None:
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
        """Registers one timeout for all attempts (rule 11.26)."""
        self.result_handler.register_timeout(timeout_ms, self._on_timeout)

    def complete(self, results: Sequence[Value]) -> None:
        """Passes results to the decision. Raises TypeError at once for invalid results (rule 11.12)."""
        checked_results(results)
        if self._operator.retries_are_over:
            self.cancel_retry_timer()
            self.result_handler.complete(results)
        else:
            self._operator.execute(
                lambda: self._decide(results, None), "outcome of an async call that may be tried again"
            )

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """Passes the results of ``supplier`` to the decision.

        An error of ``supplier`` may be retried, as any other error.
        """
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
        """Starts another attempt now."""
        self.attempts += 1
        self._operator.invoke(self.entry, self, self.attempts)

    def _decide_on(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """Decides on an outcome.

        An error in the decision itself is also an outcome, but it is ignored: then only a timeout ends the element.
        """
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
        """Decides between a retry and completion (rule 11.24).

        Ignores an outcome that arrives while a retry is pending, or after completion.
        """
        if self._is_awaiting_retry:
            return
        self._is_awaiting_retry = True
        operator = self._operator
        # The predicates are called first, even if no retry is possible: they may have side effects, or raise.
        is_wanted = operator.wants_retry(self.entry.value, self.entry.timestamp, results, error)
        if (
            is_wanted
            and not self._is_timed_out()
            and operator.may_retry(self.entry.value, self.entry.timestamp, self.attempts)
            and not operator.retries_are_over
        ):
            self._wait_for_retry()
        else:
            self._finish(results, error)

    def _finish(self, results: Sequence[Value] | None, error: BaseException | None) -> None:
        """Completes the element. A handler that timed out before its first retry stays pending (rule 11.28)."""
        if self.attempts > 1:
            self._operator.end_retry(self.entry)
        if error is not None:
            self.result_handler.complete_exceptionally(error)
        elif results is not None:
            self.result_handler.complete(results)

    def _wait_for_retry(self) -> None:
        operator, entry = self._operator, self.entry
        backoff_ms = operator.pause_ms(entry.value, entry.timestamp, self.attempts)
        operator.trace_given(entry, AsyncAction.RETRY, self.attempts)
        self._retry_timer = operator.register_timer(entry, SystemTimer.RETRY, backoff_ms, self._retry)
        if self.attempts == 1:
            operator.await_retry(self)

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
