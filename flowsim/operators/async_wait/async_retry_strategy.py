"""When and how often a call is tried again. Flink: AsyncRetryStrategy, AsyncRetryPredicate, AsyncRetryStrategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from flowsim.operators.stream_operator import Value

ResultPredicate = Callable[[Sequence[Value]], bool]
ExceptionPredicate = Callable[[BaseException], bool]


class AsyncRetryPredicate(Protocol):
    """Which outcomes are tried again. Flink: AsyncRetryPredicate."""

    def result_predicate(self) -> ResultPredicate | None: ...

    def exception_predicate(self) -> ExceptionPredicate | None: ...


class AsyncRetryStrategy(Protocol):
    """Asked after every outcome that is to be tried again. Flink: AsyncRetryStrategy."""

    def can_retry(self, current_attempts: int) -> bool:
        """Whether another attempt may follow these; the first call is attempt 1."""

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        """How long to wait before the next attempt, in ms."""

    def get_retry_predicate(self) -> AsyncRetryPredicate: ...


class RetryPredicate:
    """A pair of predicates, either may be absent."""

    __slots__ = ("_result", "_exception")

    def __init__(self, result: ResultPredicate | None, exception: ExceptionPredicate | None) -> None:
        self._result = result
        self._exception = exception

    def result_predicate(self) -> ResultPredicate | None:
        return self._result

    def exception_predicate(self) -> ExceptionPredicate | None:
        return self._exception


class NoRetryStrategy:
    """Every outcome is final. Flink: AsyncRetryStrategies.NoRetryStrategy."""

    __slots__ = ()

    def can_retry(self, current_attempts: int) -> bool:
        return False

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return -1

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return RetryPredicate(None, None)


NO_RETRY_STRATEGY: Final = NoRetryStrategy()


class FixedDelayRetryStrategy:
    """The same pause before each of ``max_attempts`` retries. Flink: AsyncRetryStrategies.FixedDelayRetryStrategy."""

    __slots__ = ("_max_attempts", "_backoff_ms", "_predicate")

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        self._max_attempts = max_attempts
        self._backoff_ms = backoff_time_millis
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self._backoff_ms

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy:
    """Longer pauses each time; the last one is shared by all records of the subtask (rule 11.26).

    Flink: AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategy.
    """

    __slots__ = ("_max_attempts", "_initial_ms", "_max_ms", "_multiplier", "_last_ms", "_predicate")

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        self._max_attempts = max_attempts
        self._initial_ms = initial_delay
        self._max_ms = max_retry_delay
        self._multiplier = multiplier
        self._last_ms = initial_delay
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self._max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        if current_attempts <= 1:
            self._last_ms = self._initial_ms
            return self._last_ms
        self._last_ms = int(min(self._last_ms * self._multiplier, self._max_ms))
        return self._last_ms

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate
