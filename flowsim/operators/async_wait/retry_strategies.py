"""Retry strategies of asynchronous functions. Flink: AsyncRetryStrategy, AsyncRetryPredicate, AsyncRetryStrategies.

>>> from flowsim.datastream.async_retry_predicates import empty_result_predicate, has_exception_predicate
>>> strategy = AsyncRetryStrategy.fixed_delay(3, 100, empty_result_predicate, has_exception_predicate)
>>> strategy.can_retry(3), strategy.can_retry(4), strategy.get_backoff_time_millis(1)
(True, False, 100)
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from types import GenericAlias
from typing import Final

from flowsim.errors import BadInput
from flowsim.operators.stream_operator import Value

ResultPredicate = Callable[[Sequence[Value]], bool]
ExceptionPredicate = Callable[[BaseException], bool]

_PREDICATE_METHODS: Final = ("result_predicate", "exception_predicate")
_STRATEGY_METHODS: Final = ("can_retry", "get_backoff_time_millis", "get_retry_predicate")


class AsyncRetryPredicate(ABC):
    """Decides which calls are retried; also the base of user-defined predicates. PyFlink: AsyncRetryPredicate."""

    def __class_getitem__(cls, arguments: object) -> GenericAlias:
        """Takes type arguments, which have no effect."""
        return GenericAlias(cls, arguments)

    __slots__ = ()

    @abstractmethod
    def result_predicate(self) -> ResultPredicate | None:
        """Returns a predicate for the results of a call; None: results are never retried."""

    @abstractmethod
    def exception_predicate(self) -> ExceptionPredicate | None:
        """Returns a predicate for the error of a call; None: errors are never retried."""


class RetryPredicate(AsyncRetryPredicate):
    """A predicate for results and a predicate for errors; each may be missing. PyFlink: RetryPredicate."""

    __slots__ = ("_result", "_exception")

    def __init__(self, result: ResultPredicate | None, exception: ExceptionPredicate | None) -> None:
        self._result = result
        self._exception = exception

    def result_predicate(self) -> ResultPredicate | None:
        return self._result

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception


class AsyncRetryStrategy(ABC):
    """The number and delays of retries; the base of user-defined strategies and the factory of built-in strategies.

    PyFlink: AsyncRetryStrategy.
    """

    def __class_getitem__(cls, arguments: object) -> GenericAlias:
        """Takes type arguments, which have no effect."""
        return GenericAlias(cls, arguments)

    __slots__ = ()

    @abstractmethod
    def can_retry(self, current_attempts: int) -> bool:
        """True if another call may follow after ``current_attempts`` calls."""

    @abstractmethod
    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """Returns the delay before the next call, in ms."""

    @abstractmethod
    def get_retry_predicate(self) -> AsyncRetryPredicate:
        """Returns the predicate that decides which calls are retried."""

    @staticmethod
    def no_restart() -> NoRetryStrategy:
        """Returns the strategy without retries."""
        return NO_RETRY_STRATEGY

    @staticmethod
    def fixed_delay(
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> FixedDelayRetryStrategy:
        """Retries at most ``max_attempts`` times after the same delay; the first call is not a retry (rule 11.25)."""
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
        """Retries after longer delays: each delay is ``multiplier`` times the last delay.

        All records of a subtask share the last delay (rule 11.26).
        """
        return ExponentialBackoffDelayRetryStrategy(
            max_attempts, initial_delay, max_retry_delay, multiplier, result_predicate, exception_predicate
        )


class NoRetryStrategy(AsyncRetryStrategy):
    """The strategy without retries. Flink: AsyncRetryStrategies.NoRetryStrategy."""

    __slots__ = ()

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, None)


NO_RETRY_STRATEGY: Final = NoRetryStrategy()
"""The strategy without retries."""


class FixedDelayRetryStrategy(AsyncRetryStrategy):
    """The same delay, in ms, before each of ``max_attempts`` retries; raises BadInput unless both are above 0.

    Flink: AsyncRetryStrategies.FixedDelayRetryStrategy.
    """

    __slots__ = ("max_attempts", "backoff_ms", "_predicate")

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        self.max_attempts: int = _above_zero("max_attempts", max_attempts)
        self.backoff_ms: int = _above_zero("backoff_time_millis", backoff_time_millis)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self.backoff_ms

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy(AsyncRetryStrategy):
    """A longer delay before each retry; all records of the subtask share the last delay (rule 11.26).

    Delays in ms. Raises BadInput unless all numbers are above 0.

    Flink: AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategy.
    """

    __slots__ = ("max_attempts", "initial_delay_ms", "max_retry_delay_ms", "multiplier", "_last_ms", "_predicate")

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        self.max_attempts: int = _above_zero("max_attempts", max_attempts)
        self.initial_delay_ms: int = _above_zero("initial_delay", initial_delay)
        self.max_retry_delay_ms: int = _above_zero("max_retry_delay", max_retry_delay)
        if type(multiplier) not in (int, float) or not 0 < multiplier < float("inf"):
            raise BadInput(f"multiplier: expected a number above 0, got {multiplier!r}")
        self.multiplier: float = multiplier
        self._last_ms = initial_delay
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        if current_attempts <= 1:
            self._last_ms = self.initial_delay_ms
            return self._last_ms
        # Flink computes this with doubles.
        self._last_ms = int(min(self._last_ms * float(self.multiplier), self.max_retry_delay_ms))
        return self._last_ms

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


def checked_strategy(strategy: object, method: str) -> AsyncRetryStrategy:
    """Returns ``strategy`` if it has the required methods; otherwise raises TypeError or BadInput.

    The error names ``method``.
    """
    expected = "expected an AsyncRetryStrategy such as AsyncRetryStrategy.fixed_delay(3, 100)"
    if isinstance(strategy, type):
        raise TypeError(
            f"{method}: async_retry_strategy: {expected}, got the class {strategy.__name__}, not an instance of it"
        )
    if not all(callable(getattr(strategy, name, None)) for name in _STRATEGY_METHODS):
        raise TypeError(f"{method}: async_retry_strategy: {expected}, got {strategy!r}")
    for name in _STRATEGY_METHODS:
        _check_plain(getattr(strategy, name), f"{method}: async_retry_strategy: {name} of {type(strategy).__name__}")
    predicate = strategy.get_retry_predicate()  # type: ignore[attr-defined]  # checked just above
    for name in _PREDICATE_METHODS:
        if not callable(getattr(predicate, name, None)):
            raise BadInput(
                f"{method}: async_retry_strategy: get_retry_predicate() of {type(strategy).__name__} must "
                "return an AsyncRetryPredicate such as RetryPredicate(result_predicate, "
                f"exception_predicate), got {predicate!r}"
            )
        answered = getattr(predicate, name)()
        if answered is not None and not callable(answered):
            raise BadInput(f"{method}: async_retry_strategy: {name}: expected a callable or None, got {answered!r}")
        _check_plain(answered, f"{method}: async_retry_strategy: {name}")
    return strategy  # type: ignore[return-value]  # it has the methods


def retry_params(strategy: AsyncRetryStrategy) -> Mapping[str, object] | None:
    """Returns the description of the strategy for laws (table ``operators``); None: no retries."""
    predicate = strategy.get_retry_predicate()
    retried = {
        "result": predicate.result_predicate() is not None,
        "exception": predicate.exception_predicate() is not None,
    }
    match strategy:
        case NoRetryStrategy():
            return None
        case FixedDelayRetryStrategy():
            return {
                "kind": "fixed",
                "max_attempts": strategy.max_attempts,
                "delay_ms": strategy.backoff_ms,
                **retried,
            }
        case ExponentialBackoffDelayRetryStrategy():
            return {
                "kind": "exponential",
                "max_attempts": strategy.max_attempts,
                "initial_ms": strategy.initial_delay_ms,
                "max_ms": strategy.max_retry_delay_ms,
                "multiplier": strategy.multiplier,
                **retried,
            }
        case _:
            return {"kind": "custom", "max_attempts": None, **retried}


def _check_plain(function: object, what: str) -> None:
    """Raises an error for a coroutine function: its result would always be true and never awaited."""
    if inspect.iscoroutinefunction(function):
        raise BadInput(f"{what} must not be a coroutine function: the task calls it without await")


def _above_zero(name: str, number: int) -> int:
    if type(number) is not int or number < 1:
        raise BadInput(f"{name}: expected an integer >= 1, got {number!r}")
    return number
