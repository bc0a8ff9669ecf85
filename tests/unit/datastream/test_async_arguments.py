"""Arguments that AsyncDataStream refuses, by name and at the wrong line."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    MapFunction,
    ResultFutureFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from flowsim.datastream.async_retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    RetryPredicate,
)
from flowsim.datastream.common import Duration, Time
from flowsim.errors import BadInput

SECOND = Duration.of_seconds(1)
FIXED = AsyncRetryStrategy.fixed_delay(1, 10, empty_result_predicate)


class Same(AsyncFunction):
    async def async_invoke(self, value: Any) -> list[Any]:
        return [value]


class Plain(AsyncFunction):
    def async_invoke(self, value: Any) -> list[Any]:  # type: ignore[override]
        return [value]


class Generator(AsyncFunction):
    async def async_invoke(self, value: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        yield value


class TakesAFuture(AsyncFunction):
    async def async_invoke(self, value: Any, result_future: Any) -> None:  # type: ignore[override]
        result_future.complete([value])


class SlowTimeout(Same):
    async def timeout(self, value: Any) -> list[Any]:  # type: ignore[override]
        return []


class SlowOpen(Same):
    async def open(self, runtime_context: Any) -> None:  # type: ignore[override]
        await asyncio.sleep(1)


class TimeoutTakesAFuture(Same):
    def timeout(self, value: Any, result_future: Any) -> None:  # type: ignore[override]
        result_future.complete([value])


class CoroutineInJavasShape(ResultFutureFunction):
    async def async_invoke(self, value: Any, result_future: Any) -> None:  # type: ignore[override]
        result_future.complete([value])


class Locked(Same):
    def __init__(self) -> None:
        self.lock = threading.Lock()


class Mapped(MapFunction):
    def map(self, value: Any) -> Any:
        return value


METHODS = ["unordered_wait", "ordered_wait", "unordered_wait_with_retry", "ordered_wait_with_retry"]


def wait(method: str, stream: Any = None, function: Any = None, timeout: Any = SECOND, *more: Any, **named: Any) -> Any:
    """Calls a method with what it needs; ``more`` comes behind the strategy, where there is one."""
    if stream is None:
        stream = StreamExecutionEnvironment.get_execution_environment().from_collection([1])
    strategy = (named.pop("strategy", FIXED),) if method.endswith("_with_retry") else ()
    return getattr(AsyncDataStream, method)(stream, function or Same(), timeout, *strategy, *more, **named)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"stream": [1, 2]}, TypeError, "data_stream: expected a stream, got [1, 2]"),
        (
            {"function": Mapped()}, TypeError,
            ("async_function: expected an AsyncFunction, or a function with Java's signature such as a "
                "ResultFutureFunction, got <"),
        ),
        ({"function": Same}, TypeError, (
            "async_function: expected an AsyncFunction, or a function with Java's signature such as a "
            "ResultFutureFunction, got the class Same, not an instance of it")),
        ({"function": Same().async_invoke}, TypeError, "async_function: expected an AsyncFunction"),
        (
            {"function": Plain()}, BadInput,
            "async_function: async_invoke of Plain must be declared 'async def'",
        ),
        (
            {"function": Generator()}, BadInput,
            ("async_function: async_invoke of Generator must be declared 'async def' (it is an async generator: return a "
            "list)"),
        ),
        (
            {"function": TakesAFuture()}, BadInput,
            ("async_function: async_invoke of TakesAFuture must accept only the record and return a list "
            "(missing a required argument: 'result_future')"),
        ),
        (
            {"function": TimeoutTakesAFuture()}, BadInput,
            "async_function: timeout of TimeoutTakesAFuture must accept only the record",
        ),
        (
            {"function": SlowTimeout()}, BadInput,
            "async_function: timeout of SlowTimeout must not be a coroutine function: the task calls it without await",
        ),
        (
            {"function": SlowOpen()}, BadInput,
            "async_function: open of SlowOpen must not be a coroutine function: the task calls it without await",
        ),
        (
            {"function": CoroutineInJavasShape()}, BadInput,
            ("async_function: async_invoke of CoroutineInJavasShape is a coroutine function: derive CoroutineInJavasShape "
            "from AsyncFunction, accept only the record and return a list"),
        ),
        (
            {"timeout": 5}, TypeError,
            "timeout: expected a Duration or a Time such as Duration.of_seconds(5), got 5",
        ),
        ({"timeout": None}, TypeError, "timeout: expected a Duration or a Time"),
        (
            {"timeout": Duration.of_millis(-1)}, BadInput,
            "timeout: expected 0 (none) or more, got Duration(nanos=-1000000)",
        ),
        ({"timeout": Time.milliseconds(-5)}, BadInput, "timeout: expected 0 (none) or more, got Time(millis=-5)"),
        ({"capacity": 0}, BadInput, "capacity: expected an integer >= 1, got 0"),
        ({"capacity": 2.5}, BadInput, "capacity: expected an integer >= 1, got 2.5"),
        ({"capacity": True}, BadInput, "capacity: expected an integer >= 1, got True"),
        ({"design": "actors"}, BadInput, "design: expected 'mailbox' or 'legacy', got 'actors'"),
    ],
)  # fmt: skip
def test_invalid_argument_is_refused_by_the_call(
    method: str, arguments: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refused:
        wait(method, **arguments)
    assert str(refused.value).startswith(f"{method}: {message}")


class NoPredicate(AsyncRetryStrategy):
    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return 1

    def get_retry_predicate(self) -> Any:
        return None


class Awaited(NoPredicate):
    async def can_retry(self, current_attempts: int) -> bool:  # type: ignore[override]
        return False


async def awaited(outcome: object) -> bool:
    return False


@pytest.mark.parametrize("method", METHODS[2:])
@pytest.mark.parametrize(
    ("strategy", "error", "message"),
    [
        (None, TypeError, "expected an AsyncRetryStrategy such as AsyncRetryStrategy.fixed_delay(3, 100), got None"),
        (3, TypeError, "expected an AsyncRetryStrategy such as AsyncRetryStrategy.fixed_delay(3, 100), got 3"),
        (
            NoRetryStrategy, TypeError,
            (
                "expected an AsyncRetryStrategy such as AsyncRetryStrategy.fixed_delay(3, 100), got the class "
                "NoRetryStrategy, not an instance of it"),
        ),
        (
            NoPredicate(), BadInput,
            ("get_retry_predicate() of NoPredicate must return an AsyncRetryPredicate such as "
            "RetryPredicate(result_predicate, exception_predicate), got None"),
        ),
        (
            FixedDelayRetryStrategy(1, 1, None, ValueError("x")), BadInput,  # type: ignore[arg-type]
            "exception_predicate: expected a callable or None, got ValueError('x')",
        ),
        (Awaited(), BadInput, "can_retry of Awaited must not be a coroutine function: the task calls it without await"),
        (
            FixedDelayRetryStrategy(1, 1, awaited, None), BadInput,  # type: ignore[arg-type]
            "result_predicate must not be a coroutine function: the task calls it without await",
        ),
    ],
)  # fmt: skip
def test_retry_strategy_of_wrong_type_is_refused(
    method: str, strategy: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error) as refused:
        wait(method, strategy=strategy)
    assert str(refused.value).startswith(f"{method}: async_retry_strategy: {message}")


@pytest.mark.parametrize("method", METHODS[2:])
def test_retry_strategy_without_timeout_is_refused(method: str) -> None:
    """Rule 11.24: Flink asks for one wherever there is a strategy, whatever it would try again."""
    with pytest.raises(BadInput, match="timeout: expected at least 1 ms for an operator that retries calls"):
        wait(method, timeout=Duration.of_millis(0))
    for strategy in (NO_RETRY_STRATEGY, NoRetryStrategy(), AsyncRetryStrategy.no_restart()):
        assert list(wait(method, timeout=Duration.of_millis(0), strategy=strategy).execute_and_collect()) == [1]


def test_function_that_cannot_be_copied_is_refused() -> None:
    with pytest.raises(BadInput, match="operator 'ordered_wait': its function Locked cannot be copied"):
        wait("ordered_wait", function=Locked())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AsyncRetryStrategy.fixed_delay(0, 10), "max_attempts: expected an integer >= 1, got 0"),
        (lambda: AsyncRetryStrategy.fixed_delay(1, 0), "backoff_time_millis: expected an integer >= 1, got 0"),
        (lambda: FixedDelayRetryStrategy(True, 1), "max_attempts: expected an integer >= 1, got True"),
        (
            lambda: AsyncRetryStrategy.exponential_backoff(1, 0, 1, 2.0),
            "initial_delay: expected an integer >= 1, got 0",
        ),
        (
            lambda: AsyncRetryStrategy.exponential_backoff(1, 1, -1, 2.0),
            "max_retry_delay: expected an integer >= 1, got -1",
        ),
        (lambda: AsyncRetryStrategy.exponential_backoff(1, 1, 1, 0), "multiplier: expected a number above 0, got 0"),
        (
            lambda: ExponentialBackoffDelayRetryStrategy(1, 1, 1, float("inf")),
            "multiplier: expected a number above 0, got inf",
        ),
    ],
)
def test_non_positive_numbers_of_retry_strategy_are_refused(make: Any, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        make()
    assert str(refused.value) == message


def test_provided_strategies_return_their_numbers() -> None:
    fixed = AsyncRetryStrategy.fixed_delay(2, 30, empty_result_predicate, has_exception_predicate)
    growing = AsyncRetryStrategy.exponential_backoff(9, 10, 45, 2.0)
    for strategy in (fixed, growing, AsyncRetryStrategy.no_restart()):
        assert isinstance(strategy, AsyncRetryStrategy)
    assert isinstance(fixed.get_retry_predicate(), AsyncRetryPredicate)
    assert [fixed.can_retry(attempts) for attempts in (1, 2, 3)] == [True, True, False]
    assert [growing.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4, 5)] == [10, 20, 40, 45, 45]
    assert growing.get_backoff_time_millis(1) == 10
    assert AsyncRetryStrategy.no_restart().get_retry_predicate().result_predicate() is None


def test_provided_retry_predicates() -> None:
    assert [empty_result_predicate(result) for result in (None, [], [0])] == [True, True, False]
    assert [has_exception_predicate(error) for error in (None, OSError())] == [False, True]
    assert exception_type_predicate(ConnectionError(), OSError)
    assert not exception_type_predicate(None, OSError)
    assert not exception_type_predicate(ValueError(), OSError)
    pair = RetryPredicate(empty_result_predicate, None)
    assert (pair.result_predicate(), pair.exception_predicate()) == (empty_result_predicate, None)
