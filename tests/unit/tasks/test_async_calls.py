"""The calls of one task: when they start, the callbacks of their ends, and how they are ended (architecture decision D4)."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.mailbox.task_mailbox import MailboxClosedException
from flowsim.sim.run_virtual import run_virtual
from flowsim.sim.virtual_time_loop import START_NS, VirtualTimeLoop
from flowsim.task_clock import TaskClock
from flowsim.tasks.async_calls import TaskAsyncCalls
from flowsim.tasks.processing_time import TaskTimers
from tests.support.jobs.coroutines import UNMARKED, nothing_left_behind

pytestmark = UNMARKED
MS = 1_000_000


@dataclass
class CallsHarness:
    """Calls of a task whose batch began at the start of the run."""

    loop: VirtualTimeLoop
    reported: list[object] = field(default_factory=list)
    """(ms since the start, the report)"""

    def __post_init__(self) -> None:
        self.clock = TaskClock(self.loop.now_ns)
        self.timers = TaskTimers(self.loop, self.clock, 0)
        self.timers.begin_batch(self.loop.now_ns, 1_000 * MS)
        self.clock.batch_end_ns = self.timers.batch_limit_ns
        self.failures: list[Callable[[], None]] = []
        self.calls = TaskAsyncCalls(self.timers, self.failures.append)

    def report(self, *what: object) -> None:
        self.reported.append(((self.loop.now_ns - START_NS) / MS, *what))

    def answer(self, result: object, error: BaseException | None) -> None:
        self.report(result, None if error is None else repr(error))

    async def sleeps(self, ms: int, result: object = "done") -> object:
        self.report("begins")
        await asyncio.sleep(ms / 1000)
        return result


def run_body(body: Callable[[CallsHarness], Coroutine[Any, Any, None]]) -> list[object]:
    """Runs ``body`` and returns the reports."""
    harnesses: list[CallsHarness] = []

    async def main(loop: VirtualTimeLoop) -> None:
        harnesses.append(CallsHarness(loop))
        await body(harnesses[0])

    run_virtual(main)
    return harnesses[0].reported


def test_call_starts_at_time_of_task_and_ends_its_batch() -> None:
    async def body(harness: CallsHarness) -> None:
        harness.clock.now_ns += 7 * MS
        harness.calls.run(harness.sleeps(5), harness.answer)
        assert harness.clock.batch_end_ns == harness.timers.batch_limit_ns == START_NS + 7 * MS
        await asyncio.sleep(1)

    assert run_body(body) == [(7, "begins"), (12, "done", None)]


def test_delayed_callback_counts_from_time_of_task() -> None:
    async def body(harness: CallsHarness) -> None:
        harness.clock.now_ns += 7 * MS
        harness.calls.after(5 * MS, lambda: harness.report("late"))
        harness.calls.after(0, lambda: harness.report("at once"))
        harness.calls.after(3 * MS, lambda: harness.report("never")).cancel()
        await asyncio.sleep(1)

    assert run_body(body) == [(7, "at once"), (12, "late")]


def test_results_and_errors_are_reported_in_order_of_time() -> None:
    async def raises(error: BaseException) -> object:
        raise error

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(harness.sleeps(9, [1]), harness.answer)
        for error in (ValueError("x"), SystemExit(2), asyncio.CancelledError()):
            harness.calls.run(raises(error), harness.answer)
        await asyncio.sleep(1)

    assert run_body(body) == [
        (0, "begins"), (0, None, "ValueError('x')"), (0, None, "SystemExit(2)"), (0, None, "CancelledError()"),
        (9, [1], None),
    ]  # fmt: skip


def test_exception_of_check_becomes_the_error() -> None:
    def check(result: object) -> None:
        if result != "fine":
            raise TypeError(f"not {result}")

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(harness.sleeps(1, "fine"), harness.answer, check)
        harness.calls.run(harness.sleeps(2, "bad"), harness.answer, check)
        await asyncio.sleep(1)

    assert run_body(body)[2:] == [(1, "fine", None), (2, None, "TypeError('not bad')")]


@pytest.mark.parametrize("wait_ms", [0, 3], ids=["before it began", "under way"])
def test_cancelled_call_reports_nothing(wait_ms: int) -> None:
    async def body(harness: CallsHarness) -> None:
        call = harness.calls.run(harness.sleeps(5), harness.answer)
        if wait_ms:
            await asyncio.sleep(wait_ms / 1000)
        call.cancel()
        call.cancel()
        await asyncio.sleep(1)

    assert run_body(body) == ([(0, "begins")] if wait_ms else [])


def test_call_cancelled_before_first_step_closes_its_coroutine() -> None:
    """Its coroutine is closed, or Python would warn of it."""

    async def body(harness: CallsHarness) -> None:
        call = harness.calls.run(harness.sleeps(5), harness.answer)
        call.start_timer.cancel()  # type: ignore[union-attr]
        call.start()
        call.cancel()
        await asyncio.sleep(1)

    assert run_body(body) == []


def test_cancelled_call_that_returns_reports_nothing() -> None:
    async def stubborn() -> object:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "all the same"
        return None

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(stubborn(), harness.answer)
        await asyncio.sleep(0.001)
        harness.calls.close()
        harness.report(await harness.calls.when_over())

    assert run_body(body) == [(1, [])]


def test_answer_after_mailbox_is_closed_is_lost() -> None:
    """Rule 11.16."""

    def closed(result: object = None, error: BaseException | None = None) -> None:
        raise MailboxClosedException("closed")

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(harness.sleeps(1), closed)
        harness.calls.after(2 * MS, closed)
        await asyncio.sleep(1)
        assert harness.failures == []

    run_body(body)


def test_exception_of_answer_callback_fails_task() -> None:
    def broken(result: object = None, error: BaseException | None = None) -> None:
        raise KeyError("broken")

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(harness.sleeps(1), broken)
        harness.calls.after(2 * MS, broken)
        await asyncio.sleep(1)
        assert len(harness.failures) == 2
        for fail in harness.failures:
            with pytest.raises(KeyError, match="broken"):
                fail()

    run_body(body)


def test_end_awaits_calls_and_then_close_coroutines_in_order() -> None:
    async def tidy(harness: CallsHarness, name: str) -> None:
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0.004)
            harness.report(name)

    async def close(harness: CallsHarness, name: str, fails: bool = False) -> None:
        await asyncio.sleep(0.001)
        harness.report(name)
        if fails:
            raise OSError(name)

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(tidy(harness, "first"), harness.answer)
        harness.calls.run(tidy(harness, "second"), harness.answer)
        await asyncio.sleep(0.002)
        harness.calls.run_at_end(close(harness, "session", fails=True))
        harness.calls.run_at_end(close(harness, "pool"))
        harness.calls.close()
        harness.report([repr(error) for error in await harness.calls.when_over()])
        assert await harness.calls.when_over() == []

    assert run_body(body) == [
        (6, "first"), (6, "second"), (7, "session"), (8, "pool"), (8, ["OSError('session')"]),
    ]  # fmt: skip


@pytest.mark.parametrize("wait", [3600, 0.05], ids=["waits", "polls"])
def test_call_that_never_ends_is_named_and_discarded(wait: float, caplog: pytest.LogCaptureFixture) -> None:
    async def stubborn() -> object:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(wait)

    async def body(harness: CallsHarness) -> None:
        harness.calls.run(stubborn(), harness.answer)
        await asyncio.sleep(0.001)
        harness.calls.close()
        (error,) = await harness.calls.when_over()
        assert isinstance(error, BadInput)
        assert str(error).startswith(
            "these calls did not end after they were cancelled: do not suppress CancelledError: "
        )
        assert str(error).endswith("stubborn")
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert await harness.calls.when_over() == []

    with nothing_left_behind(caplog):
        assert run_body(body) == []


def test_cancelled_end_leaves_no_coroutine_unclosed() -> None:
    async def slow() -> None:
        await asyncio.sleep(60)

    async def body(harness: CallsHarness) -> None:
        harness.calls.run_at_end(slow())
        harness.calls.run_at_end(slow())
        ending = asyncio.ensure_future(harness.calls.when_over())
        await asyncio.sleep(0.001)
        ending.cancel()
        with pytest.raises(asyncio.CancelledError):
            await ending

    run_body(body)
