"""A test harness for one asynchronous function and its operator, with manual time.

>>> from flowsim.testing.async_calls import Reply, ScriptedCalls
>>> calls = ScriptedCalls(lambda value, attempt: Reply(value, (value * 10,)))
>>> with AsyncFunctionHarness(calls, mode="unordered", capacity=2) as harness:
...     harness.process_elements([(30, 1), (20, 2)])
...     harness.wait_until(25)
...     harness.take_output()
...     harness.process_elements([(5, 3), (9, 4)])
...     harness.end_of_input()
...     harness.take_output()
[('rec', 200, 2)]
[('rec', 50, 3), ('rec', 300, 1), ('rec', 90, 4), ('wm', 9223372036854775807)]
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Coroutine
from typing import Any

from flowsim.datastream.functions.async_functions import AnyAsyncFunction, for_subtask
from flowsim.errors import BadInput
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator, OutputMode
from flowsim.operators.async_wait.retry_strategies import NO_RETRY_STRATEGY, AsyncRetryStrategy
from flowsim.streamrecord.elements import StreamElement
from flowsim.testing.harness import ManualClock, OneInputOperatorHarness
from flowsim.units import NS_PER_MS


class ManualCall:
    """A pending call and the time of its answer."""

    __slots__ = ("due_ns", "answer", "is_live")

    def __init__(self, due_ns: int, answer: Callable[[], None]) -> None:
        self.due_ns: int = due_ns
        self.answer: Callable[[], None] = answer
        self.is_live: bool = True

    def cancel(self) -> None:
        self.is_live = False


class ManualAsyncCalls:
    """Answers calls in order of time, and calls of equal time in order of request. A coroutine must not wait."""

    __slots__ = ("clock", "_calls", "_made")

    clock: ManualClock

    def __init__(self) -> None:
        self._calls: list[tuple[int, int, ManualCall]] = []
        self._made = 0

    def after(self, delay_ns: int, answer: Callable[[], None]) -> ManualCall:
        call = ManualCall(self.clock.now_ns + delay_ns, answer)
        heapq.heappush(self._calls, (call.due_ns, self._made, call))
        self._made += 1
        return call

    def run(
        self,
        call: Coroutine[Any, Any, object],
        answer: Callable[[object, BaseException | None], None],
        check: Callable[[object], None] | None = None,
    ) -> ManualCall:
        """Runs a coroutine. Raises BadInput for a coroutine that waits, because it needs the event loop of a job."""
        result, error = None, None
        try:
            result = _result_of(call)
            if check is not None:
                check(result)
        except BadInput:
            raise
        except Exception as raised:
            result, error = None, raised
        answer(result, error)
        return ManualCall(self.clock.now_ns, lambda: None)

    def on_loop(self, answer: Callable[[], None], operator: str, value: object) -> None:
        answer()

    def run_at_end(self, closing: Coroutine[Any, Any, object]) -> None:
        _result_of(closing)

    @property
    def next_ns(self) -> int | None:
        """The time of the next answer in ns; None if there is none."""
        while self._calls and not self._calls[0][2].is_live:
            heapq.heappop(self._calls)
        return self._calls[0][0] if self._calls else None

    def answer_next(self) -> None:
        """Completes the call at ``next_ns``."""
        heapq.heappop(self._calls)[2].answer()


def _result_of(coroutine: Coroutine[Any, Any, object]) -> object:
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    except RuntimeError as error:
        if "running event loop" not in str(error):
            raise
    coroutine.close()
    name = getattr(coroutine, "__qualname__", "the coroutine")
    raise BadInput(f"{name} waits for an event, which needs the event loop of a job: use run_job")


class AsyncFunctionHarness(OneInputOperatorHarness):
    """Calls ``function`` as an async operator does. While the queue is full, time advances (rule 11.1).

    An answer comes before a timer of the same ms: timers take one ms longer in a task (rule 9.10).
    """

    def __init__(
        self,
        function: AnyAsyncFunction,
        *,
        mode: OutputMode = "ordered",
        capacity: int = 100,
        timeout_ms: int = 0,
        retry_strategy: AsyncRetryStrategy = NO_RETRY_STRATEGY,
        seed: int = 0,
    ) -> None:
        self.calls: ManualAsyncCalls = ManualAsyncCalls()
        asking = AsyncWaitOperator(for_subtask(function, "asked"), timeout_ms, capacity, mode, retry_strategy)
        super().__init__(asking, seed=seed, async_calls=self.calls)
        self.calls.clock = self.clock
        self.mailbox.wait = lambda: self._happen_next(None)
        self._asking = asking

    def wait_until(self, now_ms: int) -> None:
        """Advances time and runs all due answers and timers in order, including those that they cause."""
        self._run_mails()
        while self._happen_next(now_ms):
            self._run_mails()
        self.clock.now_ns = max(self.clock.now_ns, now_ms * NS_PER_MS)

    def held_elements(self) -> list[StreamElement]:
        """Returns the content of a snapshot at this time (rule 11.20)."""
        return self._asking.held_elements()

    def _run_mails(self) -> None:
        while self.mailbox.run_next_mail():
            pass

    def _happen_next(self, until_ms: int | None) -> bool:
        """Advances time to the next answer or timer until ``until_ms``, if there is one, and runs it."""
        answer_ns = self.calls.next_ns
        timers_ns = [timer_ms * NS_PER_MS for timer_ms in self.processing_time.live_timers_ms()]
        due_ns = min([*timers_ns, *([] if answer_ns is None else [answer_ns])], default=None)
        if due_ns is None or (until_ms is not None and due_ns > until_ms * NS_PER_MS):
            return False
        self.clock.now_ns = max(self.clock.now_ns, due_ns)
        if due_ns == answer_ns:
            self.calls.answer_next()
        else:
            self.processing_time.advance_to(due_ns // NS_PER_MS)
        return True
