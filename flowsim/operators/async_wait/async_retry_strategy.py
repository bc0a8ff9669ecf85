"""When and how often a call is tried again. Flink: AsyncRetryStrategy, AsyncRetryPredicate, AsyncRetryStrategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Protocol

from flowsim.errors import BadInput
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
    """The same pause, in ms, before each of ``max_attempts`` retries; both above 0, or BadInput is raised.

    Flink: AsyncRetryStrategies.FixedDelayRetryStrategy.
    """

    __slots__ = ("max_attempts", "backoff_time_millis", "_predicate")

    def __init__(
        self,
        max_attempts: int,
        backoff_time_millis: int,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        self.max_attempts = _above_zero("max_attempts", max_attempts)
        self.backoff_time_millis = _above_zero("backoff_time_millis", backoff_time_millis)
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return self.backoff_time_millis

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


class ExponentialBackoffDelayRetryStrategy:
    """Longer pauses each time; the last one is shared by all records of the subtask (rule 11.26).

    Delays in ms. Raises BadInput unless all numbers are above 0.

    Flink: AsyncRetryStrategies.ExponentialBackoffDelayRetryStrategy.
    """

    __slots__ = ("max_attempts", "initial_delay", "max_retry_delay", "multiplier", "_last_ms", "_predicate")

    def __init__(
        self,
        max_attempts: int,
        initial_delay: int,
        max_retry_delay: int,
        multiplier: float,
        result_predicate: ResultPredicate | None = None,
        exception_predicate: ExceptionPredicate | None = None,
    ) -> None:
        self.max_attempts = _above_zero("max_attempts", max_attempts)
        self.initial_delay = _above_zero("initial_delay", initial_delay)
        self.max_retry_delay = _above_zero("max_retry_delay", max_retry_delay)
        if type(multiplier) not in (int, float) or not 0 < multiplier < float("inf"):
            raise BadInput(f"multiplier: expected a number above 0, got {multiplier!r}")
        self.multiplier = multiplier
        self._last_ms = initial_delay
        self._predicate = RetryPredicate(result_predicate, exception_predicate)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts <= self.max_attempts

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        if current_attempts <= 1:
            self._last_ms = self.initial_delay
            return self._last_ms
        # In Flink this is arithmetic of doubles, whatever the numbers are.
        self._last_ms = int(min(self._last_ms * float(self.multiplier), self.max_retry_delay))
        return self._last_ms

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self._predicate


def _above_zero(name: str, number: int) -> int:
    if type(number) is not int or number < 1:
        raise BadInput(f"{name}: expected an integer >= 1, got {number!r}")
    return number
