"""Calls that would never end, and sessions that must be closed: both end with their task (architecture decision D3)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import CancelJob, RunAction, StopJob
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.sim import close_down, virtual_time_loop
from flowsim.tasks import async_calls
from flowsim.units import NS_PER_MS
from tests.support.jobs.coroutines import BOTH_CLOCKS, UNMARKED, nothing_left_behind, results_of

pytestmark = UNMARKED

ENV = StreamExecutionEnvironment.get_execution_environment
MINUTE = Duration.of_minutes(1)


@pytest.fixture(autouse=True)
def _nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_left_behind(caplog):
        yield


class Endless(AsyncFunction):
    """Never answers; notes which of its calls were ended, and when the function itself was."""

    def __init__(self, log: list[object]) -> None:
        self.log = log

    def __deepcopy__(self, memo: object) -> Endless:
        return Endless(self.log)

    async def async_invoke(self, value: Any) -> list[Any]:
        if value < 0:
            raise ValueError("fails on purpose")
        try:
            await asyncio.Event().wait()
        finally:
            self.log.append(value)
        return []

    async def close(self) -> None:  # type: ignore[override]
        await asyncio.sleep(0.001)
        self.log.append("closed")


def run(function: Any, clock: str, *, values: Any = None, until_ms: int | None = None, action: RunAction | None = None,
        timeout: Duration = MINUTE) -> JobExecutionResult:  # fmt: skip
    env = ENV()
    stream = env.from_collection([0, 1, 2]) if values is None else env.add_source(ScriptedSource(values))
    AsyncDataStream.unordered_wait(stream, function, timeout, 3).name("asked").print()
    until_ns = None if until_ms is None else until_ms * NS_PER_MS
    actions = () if action is None else (action,)
    return MiniCluster(env.stream_graph(), RunOptions(clock=clock, until_ns=until_ns, actions=actions)).run()


THREE = [record(1, 0), record(2, 0), record(3, 0)]
AT = 300 * NS_PER_MS


@pytest.mark.parametrize(
    ("values", "until_ms", "action", "status"),
    [
        ([*THREE, sleep(2000)], 300, None, JobStatus.STOPPED),
        ([*THREE, sleep(2000)], None, CancelJob(AT), JobStatus.CANCELED),
        ([*THREE, sleep(2000)], None, StopJob(AT, drain=False), JobStatus.FINISHED),
        ([*THREE[:2], sleep(300), record(-1, 0), sleep(2000)], None, None, JobStatus.FAILED),
    ],
    ids=["until", "cancelled", "stopped without drain", "failed"],
)
@BOTH_CLOCKS
def test_endless_calls_end_with_the_job(
    values: Any, until_ms: int | None, action: RunAction | None, status: JobStatus, clock: str
) -> None:
    log: list[object] = []
    ended = run(Endless(log), clock, values=values, until_ms=until_ms, action=action)
    assert ended.status is status
    assert log == [*([1, 2] if status is JobStatus.FAILED else [1, 2, 3]), "closed"]


def test_endless_calls_end_when_job_deadlocks() -> None:
    log: list[object] = []
    assert run(Endless(log), "virtual", values=THREE, timeout=Duration.of_millis(0)).status is JobStatus.DEADLOCKED
    assert log == [1, 2, 3, "closed"]


@BOTH_CLOCKS
def test_call_that_outlives_its_record_ends_with_the_task(clock: str) -> None:
    """A timeout answers for the record; the coroutine is not cancelled (nor is it in PyFlink)."""
    log: list[object] = []

    class Late(Endless):
        def __deepcopy__(self, memo: object) -> Late:
            return Late(self.log)

        def timeout(self, value: Any) -> list[Any]:
            return [-value]

    assert sorted(results_of(Late(log), timeout_ms=5, clock=clock)) == [-3, -2, -1]  # type: ignore[type-var]
    assert log == [1, 2, 3, "closed"]


def test_calls_end_with_their_task_while_job_continues() -> None:
    """The records behind it keep the next task busy for minutes."""
    ended_ms: list[float] = []

    class Late(Endless):
        def __deepcopy__(self, memo: object) -> Late:
            return Late(self.log)

        async def async_invoke(self, value: Any) -> list[Any]:
            try:
                return await super().async_invoke(value)
            finally:
                ended_ms.append(asyncio.get_running_loop().time() * 1000 - 1000)

        def timeout(self, value: Any) -> list[Any]:
            return [-value]

    env = ENV()
    asked = AsyncDataStream.ordered_wait(env.from_collection([1, 2]), Late([]), Duration.of_millis(50))
    behind = asked.rebalance().map(lambda value: value).cost(MINUTE)
    assert list(behind.execute_and_collect()) == [-1, -2]
    assert [round(at) for at in ended_ms] == [51, 51]


@BOTH_CLOCKS
def test_task_waits_for_cleanup_of_cancelled_call(clock: str) -> None:
    log: list[object] = []

    class Tidy(Endless):
        def __deepcopy__(self, memo: object) -> Tidy:
            return Tidy(self.log)

        async def async_invoke(self, value: Any) -> list[Any]:
            try:
                await asyncio.Event().wait()
            finally:
                await asyncio.sleep(0.01)
                self.log.append(value)
            return []

    assert run(Tidy(log), clock, values=[*THREE, sleep(2000)], until_ms=300).status is JobStatus.STOPPED
    assert log == [1, 2, 3, "closed"]


@BOTH_CLOCKS
def test_call_that_suppresses_cancellation_is_cancelled_again(clock: str) -> None:
    log: list[object] = []

    class Stubborn(Endless):
        def __deepcopy__(self, memo: object) -> Stubborn:
            return Stubborn(self.log)

        async def async_invoke(self, value: Any) -> list[Any]:
            while len(self.log) < 2:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    self.log.append("no")
            raise ValueError("told to nobody")

    assert run(Stubborn(log), clock, values=[record(1, 0), sleep(2000)], until_ms=300).status is JobStatus.STOPPED
    assert log == ["no", "no", "closed"]


@BOTH_CLOCKS
def test_error_in_close_fails_a_successful_job(clock: str) -> None:
    class Broken(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            return [value]

        async def close(self) -> None:  # type: ignore[override]
            raise OSError("the pool is gone")

    ended = run(Broken(), clock)
    assert ended.status is JobStatus.FAILED
    assert "asked -> Sink: Print to Std. Out (1/1): OSError: the pool is gone (" in str(ended.error)


@BOTH_CLOCKS
def test_calls_that_never_end_are_discarded_and_first_failure_remains(
    clock: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other failure is a note."""
    monkeypatch.setattr(async_calls, "_END_TRIES", 3)

    class Swallowing(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            if value == 2:
                raise ValueError("boom")
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.sleep(0.05)

    ended = run(Swallowing(), clock)
    assert ended.status is JobStatus.FAILED
    assert "operator asked, record 2: ElementFailed: could not complete the element: ValueError: boom" in str(
        ended.error
    )
    (note,) = ended.error.__notes__  # type: ignore[union-attr]
    assert (
        "did not end cleanly: these calls did not end after they were cancelled: do not suppress CancelledError: "
        in note
    )
    assert note.count("Swallowing.async_invoke") == 2


@BOTH_CLOCKS
def test_leftover_asyncio_task_that_never_ends_is_logged_and_discarded(
    clock: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The result of the job is what it was."""
    monkeypatch.setattr(close_down, "_PATIENCE_SECONDS", 0.1)
    monkeypatch.setattr(close_down, "_TRIES", 2)
    kept: list[object] = []

    async def heartbeat() -> None:
        while True:
            with suppress(asyncio.CancelledError):
                await asyncio.sleep(0.01)

    class Beating(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            kept.append(asyncio.create_task(heartbeat(), name=f"heartbeat {value}"))
            return [value]

        def __deepcopy__(self, memo: object) -> Beating:
            return self

    assert run(Beating(), clock).status is JobStatus.FINISHED
    reported = [record.getMessage() for record in caplog.records]
    assert len(reported) == len(kept) == 3
    for text in reported:
        assert text.startswith(
            "an asyncio task did not end after it was cancelled, and is discarded: do not suppress CancelledError\n"
        )
    assert all(any(f"heartbeat {number}" in text for text in reported) for number in range(3))
    caplog.clear()


def test_call_polling_after_cancellation_does_not_hide_first_failure(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(virtual_time_loop, "_LIVELOCK_CALLBACKS", 20_000)

    class Polling(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            if value == 2:
                raise ValueError("boom")
            while True:
                with suppress(asyncio.CancelledError):
                    await asyncio.Event().wait()
                while True:
                    with suppress(asyncio.CancelledError):
                        await asyncio.sleep(0)

    ended = run(Polling(), "virtual")
    assert ended.status is JobStatus.FAILED
    assert "operator asked, record 2: ElementFailed: could not complete the element: ValueError: boom" in str(
        ended.error
    )
    (note,) = ended.error.__notes__  # type: ignore[union-attr]
    assert "something polls in a loop" in note
