"""Simulated asynchronous calls: a call may be late, fail, fail in its first attempts, or never complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final, Literal

from flowsim.errors import BadInput
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.latency import Latency
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value

Results = Callable[[Value], Sequence[Value]]
Predicate = Callable[[Value], object]
OnTimeout = Literal["fail", "nothing"] | Results


class SimulatedCallFailed(Exception):
    """The error of a simulated call that fails."""


@dataclass(frozen=True, slots=True)
class SomeCalls:
    """Selects calls: a ``share`` of the calls that meet ``when``, limited to the first attempts.

    ``when`` None selects every record, ``first_attempts`` None every attempt. Raises BadInput for an invalid share.
    """

    share: float = 1.0
    when: Predicate | None = None
    first_attempts: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise BadInput(f"a share of calls: expected a number from 0 to 1, got {self.share}")
        if self.first_attempts is not None and self.first_attempts < 1:
            raise BadInput(f"the first attempts of a call: expected at least 1, got {self.first_attempts}")

    def selects(self, value: Value, attempt: int, random: Random) -> bool:
        """Returns True if this call is selected; attempts count from 1."""
        if self.share <= 0 or (self.first_attempts is not None and attempt > self.first_attempts):
            return False
        if self.when is not None and not self.when(value):
            return False
        return self.share >= 1 or random.random() < self.share


NO_CALLS: Final = SomeCalls(share=0.0)


class SimulatedAsyncFunction:
    """An asynchronous function whose calls are simulated, on both clocks.

    ``result`` computes the results of a record after ``latency``; if it raises, the error is the answer. ``failure``
    selects the calls that fail and ``silence`` the calls that never complete. Each of the two is a share of all calls,
    a condition on the record, or ``SomeCalls``. ``on_timeout``: fail the job as Flink does, do nothing (the record
    stays in the queue until an answer comes), or a function that returns replacement results (rule 11.17). Each subtask
    draws from its own random stream of the run's seed, in the order of the calls.
    """

    __slots__ = ("_result", "_latency", "_failure", "_silence", "_on_timeout", "_calls", "_random")

    _calls: AsyncCalls
    _random: Random

    def __init__(
        self,
        result: Results,
        latency: Latency,
        failure: float | Predicate | SomeCalls = NO_CALLS,
        on_timeout: OnTimeout = "fail",
        silence: float | Predicate | SomeCalls = NO_CALLS,
    ) -> None:
        self._result = result
        self._latency = latency
        self._failure = _some_calls(failure)
        self._silence = _some_calls(silence)
        self._on_timeout = on_timeout

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.async_calls
        self._random = runtime_context.random

    def close(self) -> None:
        return

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        attempt = attempt_of(result_future)
        if self._silence.selects(value, attempt, self._random):
            return
        fails = self._failure.selects(value, attempt, self._random)

        def answer() -> None:
            if fails:
                result_future.complete_exceptionally(
                    SimulatedCallFailed(f"the simulated call failed (attempt {attempt})")
                )
                return
            try:
                results = self._result(value)
            except Exception as error:
                result_future.complete_exceptionally(error)
                return
            result_future.complete(results)

        self._calls.after(self._latency.draw_ns(value, self._random), answer)

    def timeout(self, value: Value, result_future: ResultFuture) -> None:
        if self._on_timeout == "fail":
            result_future.complete_exceptionally(TimeoutError("Async function call has timed out."))
        elif self._on_timeout != "nothing":
            result_future.complete(self._on_timeout(value))


def _some_calls(calls: float | Predicate | SomeCalls) -> SomeCalls:
    if isinstance(calls, SomeCalls):
        return calls
    return SomeCalls(when=calls) if callable(calls) else SomeCalls(share=calls)


def attempt_of(result_future: ResultFuture) -> int:
    """Returns the attempt of a call, from 1; only an operator with retries makes more than one attempt."""
    attempts: int = getattr(result_future, "attempts", 1)
    return attempts
