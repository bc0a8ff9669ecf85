"""Asynchronous functions of users, and when their calls are tried again. PyFlink: AsyncFunction, AsyncRetryStrategy."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from flowsim.datastream.function import Function
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value


class AsyncFunction(Function):
    """One coroutine for each record; they run at the same time, at most as many as the capacity. PyFlink: AsyncFunction.

    Waits such as ``asyncio.sleep`` pass on both clocks, in virtual time on the virtual one; sockets need the real clock.
    """

    @abstractmethod
    async def async_invoke(self, value: Any) -> Sequence[Any]:
        """The results of one record: any number of them. What it raises fails the job, the record named."""

    def timeout(self, value: Any) -> Sequence[Any]:
        """The results of a record whose time ran out; raises TimeoutError unless overridden, which fails the job."""
        raise TimeoutError("Async function call has timed out.")


class CoroutineFunction:
    """Runs the coroutines of an AsyncFunction for the operator. Flink: AsyncFunction, as the operator calls it."""

    __slots__ = ("_function", "_calls")

    _calls: AsyncCalls

    def __init__(self, function: AsyncFunction) -> None:
        self._function = function

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.async_calls
        self._function.open(runtime_context)

    def close(self) -> None:
        self._function.close()

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        def answer(results: object, error: BaseException | None) -> None:
            if error is not None:
                result_future.complete_exceptionally(error)
            else:
                result_future.complete(results)  # type: ignore[arg-type]  # the future refuses what is not a sequence

        self._calls.run(self._function.async_invoke(value), answer)

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        try:
            results = self._function.timeout(value)
        except Exception as error:
            result_future.complete_exceptionally(error)
            return
        result_future.complete(results)
