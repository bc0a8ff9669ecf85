"""What the function of the legacy design answers with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from flowsim.facts.kinds import AsyncAction
from flowsim.operators.async_wait.legacy.stream_element_queue_entry import UNNUMBERED, FutureRecordEntry
from flowsim.operators.stream_operator import Value

if TYPE_CHECKING:
    from flowsim.operators.async_wait.legacy.legacy_async_wait_operator import LegacyAsyncWaitOperator


class LegacyResultFuture:
    """The future of one element, as the function sees it: what comes is an outcome at once, in whose thread it may be.

    Facts of an element that has no place in the queue yet are told as soon as it has one.
    """

    __slots__ = ("entry", "_operator", "_untold")

    def __init__(self, operator: LegacyAsyncWaitOperator, entry: FutureRecordEntry) -> None:
        self.entry = entry
        self._operator = operator
        self._untold: list[AsyncAction] = []

    def complete(self, results: Sequence[Value]) -> None:
        """What is no list of results fails the task when it is to be emitted; None emits nothing, as in Flink 1.8."""
        if not self.entry.is_done:
            self._operator.trace_completed(self.entry, () if results is None else results)
            self.entry.complete(results)

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        """The results are made at once: the legacy design has no such door."""
        try:
            results = supplier()
        except Exception as error:
            self.complete_exceptionally(error)
        else:
            self.complete(results)

    def complete_exceptionally(self, error: BaseException) -> None:
        """The task fails when the emitter comes to this element, which is in its turn."""
        if not self.entry.is_done:
            self._tell(AsyncAction.FAIL)
            self.entry.complete_exceptionally(error)

    def time_out(self) -> None:
        """The function is not asked (rule 11.31)."""
        if not self.entry.is_done:
            self.entry.timed_out = True
            self._tell(AsyncAction.TIMEOUT)
            self.complete_exceptionally(TimeoutError("Async function call has timed out."))

    def has_a_place(self) -> None:
        """Its entry is in the queue."""
        untold, self._untold = self._untold, []
        for action in untold:
            self._tell(action)

    def _tell(self, action: AsyncAction) -> None:
        if self.entry.number == UNNUMBERED:
            self._untold.append(action)
        else:
            self._operator.trace_step(self.entry, action, 0)
