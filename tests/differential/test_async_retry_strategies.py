"""The provided retry strategies beside those of AsyncRetryStrategies: number of retries and pauses (rules 11.25, 11.26).

The exponential one is asked for the attempts of several records in turn, whose pauses disturb each other: its last pause
is the strategy's. Flink checks the numbers of a fixed delay only; ours refuse those that make no sense everywhere.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowsim.errors import BadInput
from flowsim.operators.async_wait.retry_strategies import (
    NO_RETRY_STRATEGY,
    AsyncRetryStrategy,
    ExponentialBackoffDelayRetryStrategy,
    FixedDelayRetryStrategy,
)
from tests.support.flink.gateway import Thrown
from tests.support.flink.machine import Differential, outcome_of_java

LONGEST = 2**63 - 1
pauses_ms = st.one_of(st.integers(1, 50), st.integers(1, 10**6), st.integers(2**52, 2**54), st.integers(1, LONGEST))
multipliers = st.one_of(
    st.sampled_from([0.5, 1.0, 1.1, 1.5, 2.0, 3.0, 1 / 3, 5e-324, 1.7976931348623157e308]),
    st.floats(min_value=5e-324, allow_infinity=False),
)
attempts = st.lists(st.integers(0, 6), min_size=1, max_size=40)


def questions(asked: list[int]) -> list[tuple[str, int]]:
    return [(method, number) for number in asked for method in ("canRetry", "getBackoffTimeMillis")]


def answers(ours: AsyncRetryStrategy, asked: list[int]) -> list[Any]:
    return [method(number) for number in asked for method in (ours.can_retry, ours.get_backoff_time_millis)]


@pytest.fixture
def strategies(differential: Differential) -> Any:
    return differential.flink.java.org.apache.flink.streaming.util.retryable.AsyncRetryStrategies


def test_exponential_backoff_shares_last_pause_as_in_flink(differential: Differential, strategies: Any) -> None:
    @differential.settings(60)
    @given(st.integers(1, 5), pauses_ms, pauses_ms, multipliers, attempts)
    def compare(max_attempts: int, initial: int, longest: int, multiplier: float, asked: list[int]) -> None:
        real = strategies.ExponentialBackoffDelayRetryStrategyBuilder(
            max_attempts, initial, longest, multiplier
        ).build()
        ours = ExponentialBackoffDelayRetryStrategy(max_attempts, initial, longest, multiplier)
        with differential.comparing("exponential backoff", commands=2 * len(asked)):
            assert answers(ours, asked) == differential.flink.calls(real, *questions(asked))

    compare()


def test_fixed_delay_equals_flinks_and_refuses_same_numbers(differential: Differential, strategies: Any) -> None:
    @differential.settings(40)
    @given(st.integers(-1, 5), st.one_of(st.integers(-2, 2), pauses_ms), attempts)
    def compare(max_attempts: int, pause: int, asked: list[int]) -> None:
        builder = outcome_of_java(lambda: strategies.FixedDelayRetryStrategyBuilder(max_attempts, pause))
        with differential.comparing("fixed delay", commands=2 * len(asked)):
            if isinstance(builder, Thrown):
                assert builder.name == "IllegalArgumentException"
                with pytest.raises(BadInput):
                    FixedDelayRetryStrategy(max_attempts, pause)
            else:
                ours = FixedDelayRetryStrategy(max_attempts, pause)
                assert answers(ours, asked) == differential.flink.calls(builder.build(), *questions(asked))

    compare()


def test_no_retry_strategy_equals_flinks(differential: Differential, strategies: Any) -> None:
    with differential.comparing("no retries", commands=14):
        asked = list(range(7))
        assert answers(NO_RETRY_STRATEGY, asked) == differential.flink.calls(
            strategies.NO_RETRY_STRATEGY, *questions(asked)
        )
