"""Retried calls, through AsyncDataStream on both clocks (rules 11.24 to 11.27)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    AsyncRetryPredicate,
    AsyncRetryStrategy,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.async_retry_predicates import (
    empty_result_predicate,
    exception_type_predicate,
    has_exception_predicate,
)
from flowsim.datastream.common import Duration
from flowsim.errors import JobFailed
from tests.support.jobs.coroutines import BOTH_CLOCKS

ENV = StreamExecutionEnvironment.get_execution_environment
SECOND = Duration.of_seconds(1)


class Flaky(AsyncFunction):
    """Answers nothing, then raises, then answers with the number of the attempt."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.attempts: dict[object, int] = {}

    async def async_invoke(self, value: Any) -> list[Any]:
        attempt = self.attempts[value] = self.attempts.get(value, 0) + 1
        await asyncio.sleep(0.001)
        if attempt == 1:
            return []
        if attempt == 2:
            raise ConnectionError("not now")
        return [(value, attempt)]


FIXED = AsyncRetryStrategy.fixed_delay(2, 5, empty_result_predicate, has_exception_predicate)
BACKOFF = AsyncRetryStrategy.exponential_backoff(2, 2, 10, 2.0, empty_result_predicate, has_exception_predicate)


class Own(AsyncRetryStrategy):
    """A strategy and a predicate of a user's own."""

    class Predicate(AsyncRetryPredicate):
        def result_predicate(self) -> Any:
            return empty_result_predicate

        def exception_predicate(self) -> Any:
            return lambda error: exception_type_predicate(error, OSError)

    def can_retry(self, current_attempts: int) -> bool:
        return current_attempts < 3

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        return current_attempts

    def get_retry_predicate(self) -> AsyncRetryPredicate:
        return self.Predicate()


def asked_again(
    strategy: object, mode: str = "ordered", parallelism: int = 1, function: AsyncFunction | None = None, **run: object
) -> list[Any]:
    """Two records for each subtask, from a source that stays a while: its end would end the retries (rule 11.27)."""
    env = ENV().flowsim_settings(**run)
    scripts = [[record(f"{subtask}a", 0), record(f"{subtask}b", 0), sleep(400)] for subtask in range(parallelism)]
    wait: Any = {
        "ordered": AsyncDataStream.ordered_wait_with_retry,
        "unordered": AsyncDataStream.unordered_wait_with_retry,
    }[mode]
    asked = wait(env.add_source(ScriptedSource(*scripts)), function or Flaky(), SECOND, strategy)
    return list(asked.set_parallelism(parallelism).execute_and_collect())


@pytest.mark.parametrize("strategy", [FIXED, BACKOFF, Own()], ids=["fixed", "exponential", "own"])
@pytest.mark.parametrize("mode", ["ordered", "unordered"])
@BOTH_CLOCKS
def test_calls_are_retried_as_strategy_decides(strategy: object, mode: str, clock: str) -> None:
    """Rules 11.24, 11.25."""
    assert sorted(asked_again(strategy, mode, clock=clock)) == [("0a", 3), ("0b", 3)]


@BOTH_CLOCKS
def test_outcome_of_last_attempt_is_final(clock: str) -> None:
    """Rule 11.25: one retry allowed makes two calls, and the second one fails."""
    with pytest.raises(JobFailed, match="ElementFailed: could not complete the element: ConnectionError: not now"):
        asked_again(AsyncRetryStrategy.fixed_delay(1, 5, empty_result_predicate, has_exception_predicate), clock=clock)


def test_only_outcomes_matching_a_predicate_are_retried() -> None:
    of_errors = AsyncRetryStrategy.fixed_delay(5, 5, None, has_exception_predicate)
    assert asked_again(of_errors) == asked_again(AsyncRetryStrategy.no_restart()) == []


class NotingStrategy(Own):
    """Notes how often this very object was asked for a pause."""

    def __init__(self) -> None:
        self.asked = 0

    def get_backoff_time_millis(self, current_attempts: int) -> int:
        self.asked += 1
        PAUSES.append(self.asked)
        return 1


PAUSES: list[int] = []


def test_each_subtask_has_its_own_copy_of_retry_strategy() -> None:
    """Rule 11.26: what the last pause was is shared by the records of one subtask, two calls each tried again twice."""
    PAUSES.clear()
    strategy = NotingStrategy()
    assert len(asked_again(strategy, parallelism=3)) == 6
    assert sorted(PAUSES) == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    assert strategy.asked == 0


def test_pending_retry_at_end_of_input_runs_at_once_and_is_the_last() -> None:
    """Rule 11.27: with three attempts allowed, and the third of them fine, the second one's error fails the job."""
    patient = AsyncRetryStrategy.fixed_delay(3, 500, empty_result_predicate, has_exception_predicate)
    with pytest.raises(JobFailed, match=r"record '0a' .*ConnectionError: not now"):
        asked_again(patient)
