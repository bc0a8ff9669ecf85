"""Asynchronous functions of a few lines, jobs that call them, and a check for tasks and warnings left behind."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from flowsim.datastream import AsyncDataStream, AsyncFunction, AsyncRetryStrategy, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.errors import JobFailed

BOTH_CLOCKS = pytest.mark.parametrize("clock", ["virtual", "real"])
UNMARKED = pytest.mark.filterwarnings("error")
"""Every warning fails the test: a coroutine that was never awaited, an exception that was never retrieved."""

Invoke = Callable[[Any], Awaitable[Any]]


def asks(invoke: Invoke, timeout: Callable[[Any], Any] | None = None) -> AsyncFunction:
    """An AsyncFunction of these functions."""

    class Asking(AsyncFunction):
        async def async_invoke(self, value: Any) -> Any:
            return await invoke(value)

    class AskingWithTimeout(Asking):
        def timeout(self, value: Any) -> Any:
            assert timeout is not None
            return timeout(value)

    return Asking() if timeout is None else AskingWithTimeout()


def last_first(last: int) -> AsyncFunction:
    """Numbers up to ``last``, each answered (times 10) when the next one has been."""
    answered: defaultdict[int, asyncio.Event] = defaultdict(asyncio.Event)

    async def waits_for_the_next(value: int) -> list[int]:
        if value < last:
            await answered[value + 1].wait()
        answered[value].set()
        return [value * 10]

    return asks(waits_for_the_next)


def results_of(
    function: AsyncFunction, values: Iterable[object] = (1, 2, 3), *, mode: str = "unordered", timeout_ms: int = 10_000,
    capacity: int = 100, strategy: object = None, parallelism: int = 1, **settings: object,
) -> list[object]:  # fmt: skip
    """What a job ``collection -> async -> collect`` gives."""
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(**settings)
    stream = env.from_collection(list(values))
    if parallelism > 1:
        stream = stream.rebalance()
    retry: Any = AsyncRetryStrategy.no_restart() if strategy is None else strategy
    wait = {
        "unordered": AsyncDataStream.unordered_wait_with_retry,
        "ordered": AsyncDataStream.ordered_wait_with_retry,
    }[mode]
    behind = wait(stream, function, Duration.of_millis(timeout_ms), retry, capacity).name("asked")
    return list(behind.set_parallelism(parallelism).execute_and_collect())


def failure_of(function: AsyncFunction, values: Iterable[object] = (1, 2, 3), **settings: object) -> str:
    """How such a job fails: from the operator on, the same on every machine."""
    with pytest.raises(JobFailed) as failed:
        results_of(function, values, **settings)  # type: ignore[arg-type]
    return str(failed.value).partition("operator ")[2]


@contextmanager
def nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """What runs inside logs nothing of asyncio's, and its garbage raises nothing."""
    gc.freeze()  # not the garbage of earlier tests, such as tasks of a deadlock
    with caplog.at_level(logging.DEBUG, logger="asyncio"):
        yield
        # What a test made is young.
        gc.collect(1)
    reported = [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]
    assert reported == []
