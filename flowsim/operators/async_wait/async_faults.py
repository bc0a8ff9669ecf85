"""Faults of an async operator, each at the point of the real mechanism, so that laws can be seen to fire."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator
from flowsim.operators.async_wait.broken_queues import (
    OrderedQueueThatEmitsTheUnfinished,
    OrderedQueueThatLetsPass,
    QueueThatEmitsTwice,
    QueueThatForgetsAnOutcome,
    QueueThatKeepsAWatermark,
    QueueThatLetsAWatermarkPass,
    QueueThatLosesItsHead,
    QueueThatSwapsResults,
    QueueThatTimesOutTheDone,
    UnorderedQueueThatDropsSegments,
)
from flowsim.operators.async_wait.result_future import AsyncFunction, ResultFuture
from flowsim.operators.async_wait.result_handler import ResultHandler, RetryableResultHandlerDelegator
from flowsim.operators.async_wait.stream_element_queue import StreamElementQueue
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import RuntimeContext

ASYNC_WATERMARK_OVERTAKES: Final = "async_watermark_overtakes"
"""The first watermark that finds records waiting leaves before them."""

ASYNC_HEAD_LOST: Final = "async_head_lost"
"""The first record that is done leaves the queue, and nobody is given its results."""

ASYNC_EMITS_TWICE: Final = "async_emits_twice"
"""The first results that leave are handed on twice."""

ASYNC_OVER_CAPACITY: Final = "async_over_capacity"
"""The queue takes one element more than it may."""

ASYNC_OUT_OF_ORDER: Final = "async_out_of_order"
"""A record that is done does not wait for the head of an ordered queue."""

ASYNC_CALLS_AGAIN: Final = "async_calls_again"
"""The function is asked twice for the first record."""

ASYNC_EMITS_AFTER_END: Final = "async_emits_after_end"
"""The end of the input waits for all outcomes, but not until they have left."""

ASYNC_OUTCOME_FORGOTTEN: Final = "async_outcome_forgotten"
"""The first outcome is taken and never reaches the queue."""

ASYNC_SEGMENT_DROPPED: Final = "async_segment_dropped"
"""An unordered queue goes on to the next segment although records of the first one are not done."""

ASYNC_RESULTS_SWAPPED: Final = "async_results_swapped"
"""The first two records that are done get each other's results."""

ASYNC_EMITS_UNFINISHED: Final = "async_emits_unfinished"
"""An ordered queue lets out its head, not done, when another record is."""

ASYNC_ELEMENT_NOT_PUT: Final = "async_element_not_put"
"""The first record is counted, but neither put into the queue nor asked for."""

ASYNC_WATERMARK_WITHHELD: Final = "async_watermark_withheld"
"""The first watermark leaves the queue, and nobody is told."""

ASYNC_TIMES_OUT_THE_DONE: Final = "async_times_out_the_done"
"""Time runs out for the first record that has its outcome."""

_QUEUES: Final[dict[str, Callable[[AsyncWaitOperator, StreamElementQueue], StreamElementQueue]]] = {
    ASYNC_WATERMARK_OVERTAKES: lambda _, queue: QueueThatLetsAWatermarkPass(queue),
    ASYNC_HEAD_LOST: lambda _, queue: QueueThatLosesItsHead(queue),
    ASYNC_EMITS_TWICE: lambda _, queue: QueueThatEmitsTwice(queue),
    ASYNC_OUTCOME_FORGOTTEN: lambda _, queue: QueueThatForgetsAnOutcome(queue),
    ASYNC_RESULTS_SWAPPED: lambda _, queue: QueueThatSwapsResults(queue),
    ASYNC_WATERMARK_WITHHELD: lambda _, queue: QueueThatKeepsAWatermark(queue),
    ASYNC_TIMES_OUT_THE_DONE: lambda operator, queue: QueueThatTimesOutTheDone(queue, operator.time_out),
    ASYNC_OUT_OF_ORDER: lambda _, queue: OrderedQueueThatLetsPass(queue.capacity),
    ASYNC_EMITS_UNFINISHED: lambda _, queue: OrderedQueueThatEmitsTheUnfinished(queue.capacity),
    ASYNC_SEGMENT_DROPPED: lambda _, queue: UnorderedQueueThatDropsSegments(queue.capacity),
}


def switch_on(faults: Collection[str], operator: AsyncWaitOperator) -> None:
    """Breaks the operator in the ways asked for; called once, before anything is in its queue."""
    for name, broken in _QUEUES.items():
        if name in faults:
            operator.queue = broken(operator, operator.queue)
    if ASYNC_OVER_CAPACITY in faults:
        operator.queue.capacity += 1
    if ASYNC_CALLS_AGAIN in faults:
        operator.function = FunctionThatIsAskedAgain(operator.function, operator)
    if ASYNC_EMITS_AFTER_END in faults:
        _becomes(operator, OperatorThatEndsTooSoon)
    if ASYNC_ELEMENT_NOT_PUT in faults:
        _becomes(operator, OperatorThatForgetsToPut)


def _becomes(operator: Any, broken: type[AsyncWaitOperator]) -> None:
    operator.__class__ = broken


class FunctionThatIsAskedAgain:
    """Its first call is made twice."""

    __slots__ = ("_function", "_operator", "_is_asked_again")

    def __init__(self, function: AsyncFunction, operator: AsyncWaitOperator) -> None:
        self._function = function
        self._operator = operator
        self._is_asked_again = False

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        self._function.async_invoke(value, result_future)
        if not self._is_asked_again and isinstance(result_future, ResultHandler | RetryableResultHandlerDelegator):
            self._is_asked_again = True
            self._operator.invoke(result_future.entry, result_future, 2)

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        self._function.timeout(value, result_future)


class OperatorThatEndsTooSoon(AsyncWaitOperator):
    """Its input ends when all outcomes are there, whatever is still in the queue."""

    __slots__ = ()

    def end_input(self) -> None:
        self.finish_delayed_retries()
        while self.queue.pending:
            self.ctx.mailbox_executor.yield_()


class OperatorThatForgetsToPut(AsyncWaitOperator):
    """Its first record goes nowhere."""

    __slots__ = ()

    def take(self, value: Value, timestamp: int | None) -> None:
        if self.records_in != 1:
            super().take(value, timestamp)
