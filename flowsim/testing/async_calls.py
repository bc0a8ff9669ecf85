"""Scripted asynchronous calls: each call answers after a given time with a given result.

``ScriptedCalls`` is a function with scripted answers. An ``AsyncStep`` is an async operator, which also computes the
expected output.

>>> calls = ScriptedCalls(lambda value, attempt: Reply(5, error=OSError()) if attempt == 1 else Reply(2, (value,)))
>>> calls.reply("a", 2)
Reply(latency_ms=2, results=('a',), error=None)
>>> step = AsyncStep("unordered", 2, (Answer(3000), Answer(9000, "none")), salt=1)
>>> step.outcome(2), step.outcome(3)
((30,), ())
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, get_args

from flowsim.datastream.async_data_stream import AsyncDataStream, Design
from flowsim.datastream.async_retry_strategies import AsyncRetryStrategy as Strategies
from flowsim.datastream.common.time import Duration
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions.async_functions import ResultFutureFunction
from flowsim.errors import BadInput
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.async_wait_operator import OutputMode
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.retry_strategies import AsyncRetryStrategy
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value
from flowsim.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a call after ``latency_ms``: ``error`` if it is set, otherwise ``results``.

    With 0 ms the answer comes before the function returns (rule 11.4); with None it never comes.
    """

    latency_ms: float | None
    results: tuple[Value, ...] = ()
    error: BaseException | None = None

    def __post_init__(self) -> None:
        if self.latency_ms is not None and self.latency_ms < 0:
            raise BadInput(f"a reply arrives after 0 ms or more, or never (None), got {self.latency_ms}")


TimeoutReply = Literal["fail", "nothing"] | Callable[[Value], Sequence[Value]]
"""The function's reaction to a timeout: it fails the job (Flink's default), does nothing (rule 11.17), or returns
replacement results."""

CallNote = tuple[Literal["invoke", "timeout"], Value, int]
"""The kind of a call, its value, and its attempt from 1 (0 for ``timeout``)."""


class ScriptedCalls(ResultFutureFunction):
    """Answers each call with ``reply(value, attempt)``; ``attempt`` counts the calls for one element from 1.

    Nothing is random, so a test knows the output. Each subtask needs its own instance. Flink: AsyncFunction.
    """

    _calls: AsyncCalls

    def __init__(self, reply: Callable[[Value, int], Reply], on_timeout: TimeoutReply = "fail") -> None:
        self.reply = reply
        self.log: list[CallNote] = []
        """All calls in order."""
        self._on_timeout = on_timeout
        # All calls for one element get the same future, and no other element gets it.
        self._attempts: dict[ResultFuture, int] = {}

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.async_calls

    def close(self) -> None:
        self._attempts.clear()

    def noted(self, call: CallNote) -> None:
        """Stores a call in the log; an override may store it elsewhere."""
        self.log.append(call)

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        attempt = self._attempts[result_future] = self._attempts.get(result_future, 0) + 1
        self.noted(("invoke", value, attempt))
        reply = self.reply(value, attempt)
        if reply.latency_ms is None:
            return

        def answer() -> None:
            if reply.error is not None:
                result_future.complete_exceptionally(reply.error)
            else:
                result_future.complete(reply.results)

        if reply.latency_ms == 0:
            answer()
        else:
            self._calls.after(round(reply.latency_ms * NS_PER_MS), answer)

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        self.noted(("timeout", value, 0))
        if self._on_timeout == "fail":
            result_future.complete_exceptionally(TimeoutError("Async function call has timed out."))
        elif self._on_timeout != "nothing":
            result_future.complete(self._on_timeout(value))


Outcome = Literal["one", "two", "none", "error", "silent", "late", "near"]
"""The result of a call: results, an error, no answer, or an answer long after the timeout or near it."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

NEAR_US: Final = 2_000
"""An answer near its timeout arrives at most this many microseconds before or after it."""

_LATE_MS: Final = 1_000_000


class _NoAnswer(Exception):
    """The error of a call that fails."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An outcome after ``latency_us`` (0: before the function returns); silent and late outcomes ignore ``latency_us``.

    An outcome near the timeout comes ``latency_us`` after ``NEAR_US`` before it, and has the results of a timeout, so that
    the output does not depend on which of them is first.
    """

    latency_us: int
    outcome: Outcome = "one"


@dataclass(frozen=True, slots=True)
class Retry:
    """Retries an empty result or an error, at most ``max_attempts`` times; ``multiplier`` 0: fixed delay."""

    max_attempts: int
    delay_ms: int
    on_empty: bool
    on_error: bool
    multiplier: float = 0.0

    def strategy(self) -> AsyncRetryStrategy:
        """Returns the strategy for ``AsyncDataStream``."""
        if_empty = _is_empty if self.on_empty else None
        if_error = _is_error if self.on_error else None
        if self.multiplier == 0:
            return Strategies.fixed_delay(self.max_attempts, self.delay_ms, if_empty, if_error)
        return Strategies.exponential_backoff(
            self.max_attempts, self.delay_ms, 10 * self.delay_ms, self.multiplier, if_empty, if_error
        )


def _is_empty(results: Sequence[Value]) -> bool:
    return len(results) == 0


def _is_error(error: BaseException) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class AsyncStep:
    """An async operator over numbers, or tuples or lists that end with one. Number, attempt and ``salt`` select the answer.

    With ``replaces``, an element that timed out gives its negated number; otherwise it gives no result. An error
    without a retry becomes an answer with one result, so no job fails. Raises BadInput if an element would never be
    answered.
    """

    mode: OutputMode
    capacity: int
    answers: tuple[Answer, ...]
    salt: int = 0
    timeout_ms: int = 0
    replaces: bool = True
    retry: Retry | None = None
    design: Design = "mailbox"

    def __post_init__(self) -> None:
        if not self.answers:
            raise BadInput("an async step needs at least one reply")
        outcomes = {answer.outcome for answer in self.answers}
        if self.timeout_ms == 0 and outcomes & {"silent", "late", "near"}:
            raise BadInput("an async step whose calls never complete or complete late needs a timeout")
        if self.retry is not None and "near" in outcomes:
            raise BadInput("an async step whose calls complete near their timeout has no retry: the order would decide")
        if self.design == "legacy" and (self.timeout_ms > 0 or self.retry is not None):
            raise BadInput("an async step of the legacy design has no retry and no timeout (a timeout failed the job)")
        if self.retry is None and 0 < self.timeout_ms * 1000 <= max(answer.latency_us for answer in self.answers):
            raise BadInput(
                "an async step needs a timeout above all its latencies: otherwise the result depends on the schedule"
            )

    def reply(self, value: Value, attempt: int) -> Reply:
        """Returns the answer of the call for ``value``."""
        number = _number(value)
        answer = self.answers[(number * 7 + attempt * 5 + self.salt) % len(self.answers)]
        latency_ms = answer.latency_us * 1000 / NS_PER_MS
        match answer.outcome:
            case "none":
                return Reply(latency_ms)
            case "two":
                return Reply(latency_ms, (_with(value, number * 3 + attempt), _with(value, number + 17)))
            case "error" if self.retry is not None and self.retry.on_error and attempt <= self.retry.max_attempts:
                return Reply(latency_ms, error=_NoAnswer(f"no answer for {number}"))
            case "silent":
                return Reply(None)
            case "late":
                return Reply(self.timeout_ms + _LATE_MS, (_with(value, -1),))
            case "near":
                earliest_ms = self.timeout_ms - NEAR_US * 1000 / NS_PER_MS
                return Reply(earliest_ms + latency_ms % (2 * NEAR_US * 1000 / NS_PER_MS), self.timed_out(value))
            case _:
                return Reply(latency_ms, (_with(value, number * 14 + attempt + 1),))

    def outcome(self, value: Value) -> tuple[Value, ...]:
        """Returns the expected output for an element under any schedule.

        The input must not end before the element's last attempt.
        """
        attempt = 1
        while True:
            reply = self.reply(value, attempt)
            if reply.latency_ms is None or (self.timeout_ms > 0 and reply.latency_ms > self.timeout_ms):
                return self.timed_out(value)
            if not self._tries_again(reply, attempt):
                return reply.results
            attempt += 1

    def outcomes(self, values: Counter[Value]) -> Counter[Value]:
        """Returns how often each result is in the expected output, for elements that arrive as often as given."""
        made: Counter[Value] = Counter()
        for value, count in values.items():
            for result in self.outcome(value):
                made[result] += count
        return made

    def _tries_again(self, reply: Reply, attempt: int) -> bool:
        if self.retry is None or attempt > self.retry.max_attempts:
            return False
        return self.retry.on_error if reply.error is not None else self.retry.on_empty and not reply.results

    def timed_out(self, value: Value) -> tuple[Value, ...]:
        """Returns the replacement results of an element that timed out."""
        return (_with(value, -_number(value) - 1),) if self.replaces else ()

    def behind(self, stream: DataStream) -> DataStream:
        """Returns the stream after these calls."""
        calls, timeout = ScriptedCalls(self.reply, self.timed_out), Duration.of_millis(self.timeout_ms)
        ordered = self.mode == "ordered"
        if self.retry is None:
            wait = AsyncDataStream.ordered_wait if ordered else AsyncDataStream.unordered_wait
            return wait(stream, calls, timeout, self.capacity, design=self.design)
        wait_with_retry = (
            AsyncDataStream.ordered_wait_with_retry if ordered else AsyncDataStream.unordered_wait_with_retry
        )
        return wait_with_retry(stream, calls, timeout, self.retry.strategy(), self.capacity, design=self.design)

    def synchronously_behind(self, stream: DataStream) -> DataStream:
        """Returns the stream of the expected output, computed without asynchronous calls."""
        return stream.flat_map(lambda value: iter(self.outcome(value)))


def _number(value: Value) -> int:
    number = value[-1] if isinstance(value, tuple | list) else value
    if not isinstance(number, int):
        raise BadInput(f"async steps process integers, got {value!r:.40}")
    return number


def _with(value: Value, number: int) -> Value:
    """Replaces the number of an element; keeps numbers small for any number of steps."""
    small = number % 1009 if number >= 0 else -(-number % 1009)
    if isinstance(value, list):
        return [*value[:-1], small]
    return (*value[:-1], small) if isinstance(value, tuple) else small
