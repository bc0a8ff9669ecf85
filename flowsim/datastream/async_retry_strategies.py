"""When calls of an asynchronous function are tried again. PyFlink: async_retry_strategies.

>>> from flowsim.datastream.async_retry_predicates import empty_result_predicate, has_exception_predicate
>>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, empty_result_predicate, has_exception_predicate)
>>> strategy.can_retry(3), strategy.can_retry(4), strategy.get_backoff_time_millis(1)
(True, False, 100)
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod

from flowsim.errors import BadInput
from flowsim.operators.async_wait import async_retry_strategy as core
from flowsim.operators.async_wait.async_retry_strategy import (
    NO_RETRY_STRATEGY,
    ExceptionPredicate,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    NoRetryStrategy,
    ResultPredicate,
    RetryPredicate,
)

__all__ = [
    "NO_RETRY_STRATEGY",
    "AsyncRetryPredicate",
    "AsyncRetryStrategy",
    "ExponentialBackoffDelayRetryStrategy",
    "FixedDelayRetryStrategy",
    "NoRetryStrategy",
    "RetryPredicate",
]


class AsyncRetryPredicate(ABC):
    """Which outcomes are tried again: base of predicates of your own. PyFlink: AsyncRetryPredicate."""

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Told the results of a call; None: no result is tried again."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Told the error of a call; None: no error is tried again."""


class AsyncRetryStrategy(ABC):
    """How often, and after which pause: base of strategies of your own, and the ready ones. PyFlink: AsyncRetryStrategy."""

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """Whether another call may follow so many; the first one is attempt 1."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next call, in ms."""

    @abstractmethod
    def get_retry_predicate(self) -> core.AsyncRetryPredicate:
        """Which outcomes are tried again at all."""

    @staticmethod
    def no_restart() -> NoRetryStrategy:
        """Every outcome is final."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> FixedDelayRetryStrategy:
        """At most ``max_attempts`` retries, so one call more (rule 11.25), each after the same pause."""
        return FixedDelayRetryStrategy(max_attempts, backoff_time_millis, result_predicate, exception_predicate)

    @staticmethod
    def exponential_backoff(
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> ExponentialBackoffDelayRetryStrategy:
        """Each pause ``multiplier`` times the last one, which all records of a subtask share (rule 11.26)."""
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


def checked_strategy(strategy: object, method: str) -> core.AsyncRetryStrategy:
    """``strategy`` when it is one; raises TypeError or BadInput, naming ``method``, otherwise."""
    wanted = "expected an AsyncRetryStrategy such as AsyncRetryStrategy.fixed_delay(3, 100)"
    if isinstance(strategy, type):
        raise TypeError(
            f"{method}: async_retry_strategy: {wanted}, got the class {strategy.__name__} and no object of it"
        )
    doors = ("can_retry", "get_backoff_time_millis", "get_retry_predicate")
    if not all(callable(getattr(strategy, door, None)) for door in doors):
        raise TypeError(f"{method}: async_retry_strategy: {wanted}, got {strategy!r}")
    for door in doors:
        _check_plain(getattr(strategy, door), f"{method}: async_retry_strategy: {door} of {type(strategy).__name__}")
    predicate = strategy.get_retry_predicate()  # type: ignore[attr-defined]  # asked for just above
    for door in ("result_predicate", "exception_predicate"):
        if not callable(getattr(predicate, door, None)):
            raise BadInput(
                f"{method}: async_retry_strategy: get_retry_predicate() of {type(strategy).__name__} must answer an "
                f"AsyncRetryPredicate such as RetryPredicate(result_predicate, exception_predicate), got {predicate!r}"
            )
        asked = getattr(predicate, door)()
        if asked is not None and not callable(asked):
            raise BadInput(f"{method}: async_retry_strategy: {door}: expected a callable or None, got {asked!r}")
        _check_plain(asked, f"{method}: async_retry_strategy: {door}")
    return strategy  # type: ignore[return-value]  # its doors were looked at


def _check_plain(asked: object, what: str) -> None:
    """What a coroutine function answers is always true, and nobody would await it."""
    if inspect.iscoroutinefunction(asked):
        raise BadInput(f"{what} must be a plain function: the task itself calls it")


def retry_params(strategy: core.AsyncRetryStrategy) -> dict[str, object] | None:
    """What a judge is told of a strategy: None where nothing is ever tried again."""
    predicate = strategy.get_retry_predicate()
    asked = {
        "result": predicate.result_predicate() is not None,
        "exception": predicate.exception_predicate() is not None,
    }
    if isinstance(strategy, NoRetryStrategy):
        return None
    if isinstance(strategy, FixedDelayRetryStrategy):
        attempts, delay_ms = strategy.max_attempts, strategy.backoff_time_millis
        return {"kind": "fixed", "max_attempts": attempts, "delay_ms": delay_ms, **asked}
    if isinstance(strategy, ExponentialBackoffDelayRetryStrategy):
        return {
            "kind": "exponential",
            "max_attempts": strategy.max_attempts,
            "initial_ms": strategy.initial_delay,
            "max_ms": strategy.max_retry_delay,
            "multiplier": strategy.multiplier,
            **asked,
        }
    return {"kind": "custom", "max_attempts": None, **asked}


for _kind in (NoRetryStrategy, FixedDelayRetryStrategy, ExponentialBackoffDelayRetryStrategy):
    AsyncRetryStrategy.register(_kind)
AsyncRetryPredicate.register(RetryPredicate)
