"""The provided retry strategies (rules 11.25, 11.26)."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.operators.async_wait.retry_strategies import (
    NO_RETRY_STRATEGY,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
    RetryPredicate,
)


def test_n_retries_allow_n_plus_one_calls() -> None:
    strategy = FixedDelayRetryStrategy(2, 100)
    assert [strategy.can_retry(attempts) for attempts in (1, 2, 3)] == [True, True, False]


def test_fixed_delay_is_equal_before_every_retry() -> None:
    strategy = FixedDelayRetryStrategy(9, 100)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 9)] == [100, 100, 100]


def test_exponential_backoff_grows_to_maximum_in_whole_milliseconds() -> None:
    strategy = ExponentialBackoffDelayRetryStrategy(9, 10, 50, 1.5)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4, 5, 6)] == [10, 15, 22, 33, 49, 50]


def test_last_backoff_belongs_to_strategy_not_to_record() -> None:
    """A first retry of one record resets it for all others."""
    strategy = ExponentialBackoffDelayRetryStrategy(9, 10, 1000, 2.0)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 1, 4)] == [10, 20, 40, 10, 20]


def test_exponential_backoff_without_first_retry_grows_from_initial_delay() -> None:
    assert ExponentialBackoffDelayRetryStrategy(9, 10, 1000, 2.0).get_backoff_time_millis(3) == 20


def test_integer_multiplier_uses_double_arithmetic() -> None:
    """2^53 + 1 is no double."""
    strategy = ExponentialBackoffDelayRetryStrategy(9, 2**53 + 1, 2**62, 1)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2)] == [2**53 + 1, 2**53]


@pytest.mark.parametrize("multiplier", [1.0, 1e300])
def test_backoff_never_exceeds_64_bits(multiplier: float) -> None:
    longest = 2**63 - 1
    strategy = ExponentialBackoffDelayRetryStrategy(9, longest, longest, multiplier)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3)] == [longest] * 3


def test_no_retry_strategy_retries_nothing() -> None:
    predicate = NO_RETRY_STRATEGY.get_retry_predicate()
    assert (predicate.result_predicate(), predicate.exception_predicate()) == (None, None)
    assert (NO_RETRY_STRATEGY.can_retry(1), NO_RETRY_STRATEGY.get_backoff_time_millis(1)) == (False, -1)


def test_strategy_returns_its_predicates() -> None:
    def of_results(results: Any) -> bool:
        return True

    def of_errors(error: BaseException) -> bool:
        return True

    for strategy in (
        FixedDelayRetryStrategy(1, 1, of_results, of_errors),
        ExponentialBackoffDelayRetryStrategy(1, 1, 1, 1.0, of_results, of_errors),
    ):
        predicate = strategy.get_retry_predicate()
        assert isinstance(predicate, RetryPredicate)
        assert (predicate.result_predicate(), predicate.exception_predicate()) == (of_results, of_errors)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: FixedDelayRetryStrategy(0, 1), "max_attempts: expected an integer >= 1, got 0"),
        (lambda: FixedDelayRetryStrategy(1, 0), "backoff_time_millis: expected an integer >= 1, got 0"),
        (lambda: FixedDelayRetryStrategy(1, 2.5), "backoff_time_millis: expected an integer >= 1, got 2.5"),  # type: ignore[arg-type]
        (lambda: ExponentialBackoffDelayRetryStrategy(0, 1, 1, 2.0), "max_attempts: expected an integer >= 1, got 0"),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 0, 1, 2.0), "initial_delay: expected an integer >= 1, got 0"),
        (
            lambda: ExponentialBackoffDelayRetryStrategy(1, 1, -1, 2.0),
            "max_retry_delay: expected an integer >= 1, got -1",
        ),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 1, 1, 0.0), "multiplier: expected a number above 0, got 0.0"),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 1, 1, float("nan")), "multiplier: expected a number above 0"),
        (lambda: ExponentialBackoffDelayRetryStrategy(1, 1, 1, float("inf")), "multiplier: expected a number above 0"),
    ],
)
def test_invalid_numbers_are_refused(make: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()
