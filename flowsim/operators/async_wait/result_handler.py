"""Takes the one answer of one element. Flink: AsyncWaitOperator.ResultHandler."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flowsim.facts.kinds import AsyncAction
from flowsim.operators.async_wait.result_future import checked_error
from flowsim.operators.async_wait.stream_element_queue import StreamRecordQueueEntry
from flowsim.operators.stream_operator import Value
from flowsim.timers.processing_time_service import TimerHandle

if TYPE_CHECKING:
    from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator


class ResultHandler:
    """The first outcome wins, from whichever side it comes; it is worked on as a mail (rule 11.12).

    Flink: AsyncWaitOperator.ResultHandler.
    """

    __slots__ = ("entry", "is_completed", "_operator", "_timeout_timer")

    def __init__(self, operator: AsyncWaitOperator, entry: StreamRecordQueueEntry) -> None:
        self.entry = entry
        self.is_completed = False
        self._operator = operator
        self._timeout_timer: TimerHandle | None = None

    def complete(self, results: Sequence[Value]) -> None:
        """What is no list of results fails the task, in the mail (rule 11.12)."""
        if self._is_first():
            self._operator.trace_completed(self.entry, results)
            self._process_in_mailbox(results)

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """What ``supplier`` raises fails the task."""
        if self._is_first():
            self._operator.trace_completed(self.entry, None)
            self._operator.execute(lambda: self._process_supplied(supplier), "results of an async call to be made")

    def complete_exceptionally(self, error: BaseException) -> None:
        """Fails the task from outside, and frees the element's place all the same (rule 11.15)."""
        if self._is_first():
            self._operator.trace_step(self.entry, AsyncAction.FAIL, 0, 0)
            self._operator.fail_externally(self.entry, checked_error(error))
            self._process_in_mailbox(())

    def register_timeout(self, timeout_ms: int, on_timeout: Callable[[], None] | None = None) -> None:
        """Rule 11.17; ``on_timeout`` in place of its own."""
        self._timeout_timer = self._operator.register_timer(timeout_ms, on_timeout or self._on_timeout)

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
