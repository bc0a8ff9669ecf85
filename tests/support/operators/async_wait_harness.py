"""One async operator in a harness: the test answers its calls and runs its mails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Self

from flowsim.errors import Deadlock, ElementFailed
from flowsim.facts.kinds import AsyncAction, Level
from flowsim.facts.tracer import TaskTrace
from flowsim.mailbox.mailbox_executor import MailboxExecutor
from flowsim.mailbox.task_mailbox import TaskMailbox
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator, OutputMode
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.retry_strategies import NO_RETRY_STRATEGY, AsyncRetryStrategy
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import StreamElement
from flowsim.testing.harness import OneInputOperatorHarness


class HandCalls:
    """Keeps its calls until the test answers; or calls ``at_once`` within the call."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ResultFuture]] = []
        self.timed_out: list[Any] = []
        self.life: list[str] = []
        self.at_once: Callable[[Any, ResultFuture], None] | None = None
        self.on_timeout: Callable[[Any, ResultFuture], None] | None = None

    def open(self, runtime_context: RuntimeContext) -> None:
        self.life.append("open")

    def close(self) -> None:
        self.life.append("close")

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        self.calls.append((value, result_future))
        if self.at_once is not None:
            self.at_once(value, result_future)

    def timeout(self, value: Any, result_future: ResultFuture) -> None:
        self.timed_out.append(value)
        if self.on_timeout is not None:
            self.on_timeout(value, result_future)

    @property
    def values(self) -> list[Any]:
        """Those it was called with, in order."""
        return [value for value, _ in self.calls]

    def future(self, value: Any) -> ResultFuture:
        """Of the last call for this value."""
        return next(future for called, future in reversed(self.calls) if called == value)

    def answer(self, value: Any, *results: Any) -> None:
        self.future(value).complete(list(results))


class AsyncOperatorHarness(OneInputOperatorHarness):
    """Ordered by default; reported failures are kept, and end nothing."""

    def __init__(
        self, mode: OutputMode = "ordered", *, capacity: int = 10, timeout_ms: int = 0,
        strategy: AsyncRetryStrategy = NO_RETRY_STRATEGY, object_reuse: bool = False,
        restored: Sequence[StreamElement] = (), cost_ns: int = 0,
    ) -> None:  # fmt: skip
        self.calls = HandCalls()
        self.failures: list[ElementFailed] = []
        self.recorder = MemoryRecorder(Level.FULL)
        self.waiting = AsyncWaitOperator(self.calls, timeout_ms, capacity, mode, strategy)
        super().__init__(self.waiting, cost_ns=cost_ns, trace=lambda clock: TaskTrace(4, clock, self.recorder))
        self.mails = TaskMailbox()
        self.executor = MailboxExecutor(self.mails, 1, self._yield_to)
        context = replace(
            self.context, mailbox_executor=self.executor, fail_externally=self._fail, object_reuse=object_reuse
        )
        self.waiting.setup(context, self.collected)
        self.waiting.restore_elements(restored)

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def _fail(self, fail: Callable[[], None]) -> None:
        try:
            fail()
        except ElementFailed as error:
            self.failures.append(error)

    def _yield_to(self, priority: int, block: bool) -> bool:
        mail = self.mails.try_take(priority)
        if mail is None:
            if block:
                raise Deadlock("the operator waits for a mail, and there is none that it may run")
            return False
        mail.run()
        return True

    def answer(self, value: Any, *results: Any) -> None:
        """Completes the last call for ``value``, and runs the mails of that."""
        self.calls.answer(value, *results)
        self.run_mails()

    def run_mails(self) -> None:
        """All that wait, and those that come by it, in the order in which the loop of a task runs them."""
        while self.mails.create_batch():
            while (mail := self.mails.try_take_from_batch()) is not None:
                mail.run()

    def steps(self) -> list[tuple[int, str]]:
        """The facts so far: number of the element, and what happened."""
        return [(row[4], AsyncAction(row[5]).name) for row in self.recorder.rows("async_elements")]

    def facts(self, *columns: str) -> list[tuple[Any, ...]]:
        """These columns of all facts."""
        places = [self.recorder.columns("async_elements").index(column) for column in columns]
        return [tuple(row[place] for place in places) for row in self.recorder.rows("async_elements")]
