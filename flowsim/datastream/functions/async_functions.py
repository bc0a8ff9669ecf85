"""Asynchronous functions and their result futures. Flink: AsyncFunction, RichAsyncFunction, ResultFuture."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from collections.abc import Callable, Sequence
from types import GenericAlias
from typing import Any

from flowsim.datastream.functions.function import Function, isolated
from flowsim.errors import BadInput
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait import result_future as core
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.simulated_calls import SimulatedAsyncFunction
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value

OnLoop = Callable[[Callable[[], None], str, object], None]
"""The signature of ``AsyncCalls.on_loop``."""


class AnyThreadFuture:
    """Passes each answer to the event loop of the job, where the operator processes the answer.

    Wrappers of the same future are equal.
    """

    __slots__ = ("_future", "_on_loop", "_operator", "_value")

    def __init__(self, future: ResultFuture, on_loop: OnLoop, operator: str, value: Value) -> None:
        self._future = future
        self._on_loop = on_loop
        self._operator = operator
        self._value = value

    @property
    def attempts(self) -> int:
        """The number of calls for the record so far; 1 without retries."""
        attempts: int = getattr(self._future, "attempts", 1)
        return attempts

    def complete(self, results: Sequence[Value]) -> None:
        self._bring(lambda: self._future.complete(results))

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        self._bring(lambda: self._future.complete_from(supplier))

    def complete_exceptionally(self, error: BaseException) -> None:
        self._bring(lambda: self._future.complete_exceptionally(error))

    def _bring(self, answer: Callable[[], None]) -> None:
        self._on_loop(answer, self._operator, self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyThreadFuture) and other._future is self._future

    def __hash__(self) -> int:
        return hash(self._future)


_NO_STATE = (
    "is not available to an asynchronous function: when the call completes, another record can be the current one"
)


class AsyncFunction(Function):
    """One coroutine per record; at most ``capacity`` of them run at the same time. PyFlink: AsyncFunction.

    Waits such as ``asyncio.sleep`` work on both clocks; on the virtual clock they take virtual time. Sockets need the
    real clock. There is no keyed state. ``close`` may be a coroutine function: it runs at the end, when no call is
    pending.
    """

    def __class_getitem__(cls, arguments: object) -> GenericAlias:
        """Takes type arguments, which have no effect."""
        return GenericAlias(cls, arguments)

    @abstractmethod
    async def async_invoke(self, value: Any) -> list[Any]:
        """Returns any number of results for one record. An exception fails the job and names the record."""

    def timeout(self, value: Any) -> list[Any]:
        """Returns the results of a record whose timeout passed.

        The default raises TimeoutError, which fails the job.
        """
        raise TimeoutError("Async function call has timed out.")


class ResultFutureFunction(Function):
    """An asynchronous function as in Java: it completes a ``ResultFuture`` at any time.

    Flink: AsyncFunction, RichAsyncFunction.

    On the real clock any thread may complete the future. On the virtual clock only the event loop may complete the
    future: ``runtime_context.async_calls`` in ``open`` schedules later answers.
    """

    @abstractmethod
    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        """Starts the call; an exception fails the task (rule 11.4)."""

    def timeout(self, value: Any, result_future: ResultFuture) -> None:
        """Called when the record's timeout passes. The default fails the record; an override may do nothing (rule 11.17)."""
        result_future.complete_exceptionally(TimeoutError("Async function call has timed out."))


AnyAsyncFunction = AsyncFunction | core.AsyncFunction
"""A function of either kind: an AsyncFunction (coroutines), or a ResultFutureFunction as in Java."""


class CoroutineFunction:
    """Runs the coroutines of an AsyncFunction for the operator."""

    __slots__ = ("_function", "_calls", "_name")

    _calls: AsyncCalls

    def __init__(self, function: AsyncFunction) -> None:
        self._function = function
        self._name = type(function).__name__

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.async_calls
        self._function.open(runtime_context.without_state(_NO_STATE))

    def close(self) -> None:
        closing: object = self._function.close()  # type: ignore[func-returns-value]  # of those that are coroutines
        if inspect.iscoroutine(closing):
            self._calls.run_at_end(closing)

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        def answer(results: object, error: BaseException | None) -> None:
            if error is not None:
                result_future.complete_exceptionally(error)
            else:
                result_future.complete(results)  # type: ignore[arg-type]  # a list, by _check_call

        self._calls.run(self._function.async_invoke(value), answer, self._check_call)

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        try:
            results = self._function.timeout(value)
            self._check("timeout", results)
        except Exception as error:
            result_future.complete_exceptionally(error)
        else:
            result_future.complete(results)

    def _check_call(self, results: object) -> None:
        self._check("async_invoke", results)

    def _check(self, method: str, results: object) -> None:
        wrong = _what_is_wrong(results)
        if wrong is not None:
            raise TypeError(f"{method} of {self._name} must return a list of results, {wrong}")


def _what_is_wrong(results: object) -> str | None:
    """Explains why the results are not valid. Closes any coroutine among them, because no caller will run it."""
    forgotten = [result for result in (results if type(results) is list else [results]) if inspect.iscoroutine(result)]
    if forgotten:
        for coroutine in forgotten:
            coroutine.close()
        return f"not the coroutine {forgotten[0].__qualname__}: is an await missing?"
    if isinstance(results, list):
        return None
    if results is None:
        return "not None: return [] to emit nothing"
    hint = ": a tuple is one record, write [(...)]" if isinstance(results, tuple) else ""
    return f"not the {type(results).__name__} {results!r:.100}{hint}"


def checked_function(function: AnyAsyncFunction, method: str) -> None:
    """Raises TypeError or BadInput, naming ``method``, unless the operator can call ``function``."""
    expected = "expected an AsyncFunction, or a function with Java's signature such as a ResultFutureFunction"
    if isinstance(function, type):
        raise TypeError(
            f"{method}: async_function: {expected}, got the class {function.__name__}, not an instance of it"
        )
    required = ("open", "close", "async_invoke", "timeout")
    if not all(callable(getattr(function, attribute, None)) for attribute in required):
        raise TypeError(f"{method}: async_function: {expected}, got {function!r}")
    name, invoke = type(function).__name__, function.async_invoke
    if isinstance(function, AsyncFunction):
        if not inspect.iscoroutinefunction(invoke):
            hint = " (it is an async generator: return a list)" if inspect.isasyncgenfunction(invoke) else ""
            raise BadInput(f"{method}: async_function: async_invoke of {name} must be declared 'async def'{hint}")
        _check_arguments(function.async_invoke, 1, f"{method}: async_function: async_invoke of {name}")
        _check_arguments(function.timeout, 1, f"{method}: async_function: timeout of {name}")
    elif inspect.iscoroutinefunction(invoke) or inspect.isasyncgenfunction(invoke):
        raise BadInput(
            f"{method}: async_function: async_invoke of {name} is a coroutine function: derive {name} from "
            "AsyncFunction, accept only the record and return a list"
        )
    for member in ("open", "timeout"):
        if inspect.iscoroutinefunction(getattr(function, member)):
            raise BadInput(
                f"{method}: async_function: {member} of {name} must not be a coroutine function: "
                "the task calls it without await"
            )
    isolated(function, method)


def _check_arguments(attribute: Any, count: int, what: str) -> None:
    """Rejects a function with the Java signature (a future as second argument) that must return a list."""
    try:
        inspect.signature(attribute).bind(*([None] * count))
    except TypeError as error:
        raise BadInput(f"{what} must accept only the record and return a list ({error})") from None


def for_subtask(function: AnyAsyncFunction, operator: str) -> core.AsyncFunction:
    """Returns the copy of the function for one subtask of ``operator``, in the form that the operator calls."""
    own = isolated(function, operator)
    if isinstance(own, AsyncFunction):
        return CoroutineFunction(own)
    # The simulator has no threads.
    return _WithoutState(own) if isinstance(own, SimulatedAsyncFunction) else _FromAnyThread(own, operator)


class _WithoutState:
    """Wraps a function as in Java, so that it has no access to state."""

    __slots__ = ("_function", "async_invoke", "timeout", "close")

    def __init__(self, function: core.AsyncFunction) -> None:
        self._function = function
        self.async_invoke = function.async_invoke
        self.timeout = function.timeout
        self.close = function.close

    def open(self, runtime_context: RuntimeContext) -> None:
        self._function.open(runtime_context.without_state(_NO_STATE))


class _FromAnyThread:
    """Wraps a function as in Java without access to state; any thread may complete its futures."""

    __slots__ = ("_function", "_operator", "_on_loop", "close")

    _on_loop: OnLoop

    def __init__(self, function: core.AsyncFunction, operator: str) -> None:
        self._function = function
        self._operator = operator
        self.close = function.close

    def open(self, runtime_context: RuntimeContext) -> None:
        self._on_loop = runtime_context.async_calls.on_loop
        self._function.open(runtime_context.without_state(_NO_STATE))

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        self._function.async_invoke(value, AnyThreadFuture(result_future, self._on_loop, self._operator, value))

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        self._function.timeout(value, AnyThreadFuture(result_future, self._on_loop, self._operator, value))
