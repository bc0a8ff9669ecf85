"""The ready retry strategies (rules 11.25, 11.26)."""

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


def test_n_attempts_allow_n_retries_which_is_one_call_more() -> None:
    strategy = FixedDelayRetryStrategy(2, 100)
    assert [strategy.can_retry(attempts) for attempts in (1, 2, 3)] == [True, True, False]


def test_a_fixed_delay_is_the_same_before_every_retry() -> None:
    strategy = FixedDelayRetryStrategy(9, 100)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 9)] == [100, 100, 100]


def test_an_exponential_pause_grows_to_its_maximum_in_whole_milliseconds() -> None:
    strategy = ExponentialBackoffDelayRetryStrategy(9, 10, 50, 1.5)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 4, 5, 6)] == [10, 15, 22, 33, 49, 50]


def test_the_last_pause_belongs_to_the_strategy_and_not_to_a_record() -> None:
    """A first retry of one record resets it for all others."""
    strategy = ExponentialBackoffDelayRetryStrategy(9, 10, 1000, 2.0)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3, 1, 4)] == [10, 20, 40, 10, 20]


def test_an_exponential_pause_before_any_first_retry_grows_from_the_initial_one() -> None:
    assert ExponentialBackoffDelayRetryStrategy(9, 10, 1000, 2.0).get_backoff_time_millis(3) == 20


def test_a_multiplier_that_is_a_whole_number_is_arithmetic_of_doubles_too() -> None:
    """2^53 + 1 is no double."""
    strategy = ExponentialBackoffDelayRetryStrategy(9, 2**53 + 1, 2**62, 1)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2)] == [2**53 + 1, 2**53]


@pytest.mark.parametrize("multiplier", [1.0, 1e300])
def test_pauses_do_not_exceed_the_longest_time_there_is(multiplier: float) -> None:
    longest = 2**63 - 1
    strategy = ExponentialBackoffDelayRetryStrategy(9, longest, longest, multiplier)
    assert [strategy.get_backoff_time_millis(attempts) for attempts in (1, 2, 3)] == [longest] * 3


def test_without_retries_nothing_is_tried_again() -> None:
    predicate = NO_RETRY_STRATEGY.get_retry_predicate()
    assert (predicate.result_predicate(), predicate.exception_predicate()) == (None, None)
    assert (NO_RETRY_STRATEGY.can_retry(1), NO_RETRY_STRATEGY.get_backoff_time_millis(1)) == (False, -1)


def test_a_strategy_hands_on_the_predicates_it_was_given() -> None:
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
def test_numbers_that_make_no_sense_are_refused(make: Any, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        make()
