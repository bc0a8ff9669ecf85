"""Simulated asynchronous calls with written answers: each call takes the first answer that fits its record and attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flowsim.operators.async_wait.latency import FixedLatency, Latency
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.async_wait.simulated_calls import (
    OnTimeout,
    SimulatedAsyncFunction,
    SimulatedCallFailed,
    attempt_of,
)
from flowsim.operators.stream_operator import Value

Call = tuple[Any, ...]
"""The fields of a record, then the number of the call for it, from 1."""


@dataclass(frozen=True, slots=True)
class CallAnswer:
    """The answer of the calls for which ``when`` is true, or of all: results or an error; with neither it never comes.

    An answer after 0 ns comes before the function returns (rule 11.4).
    """

    latency: Latency
    when: Callable[[Call], object] | None = None
    results: Callable[[Call], Sequence[Value]] | None = None
    error: str | None = None


class AnsweredAsyncFunction(SimulatedAsyncFunction):
    """A simulated function whose calls are answered as written, for records that are tuples.

    A call that no answer fits completes with an error.
    """

    __slots__ = ("_answers",)

    def __init__(self, answers: Sequence[CallAnswer], on_timeout: OnTimeout = "fail") -> None:
        super().__init__(lambda value: (), FixedLatency(0), on_timeout=on_timeout)
        self._answers = tuple(answers)

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        call: Call = (*value, attempt_of(result_future))
        chosen = next((each for each in self._answers if each.when is None or each.when(call)), None)
        if chosen is None:
            result_future.complete_exceptionally(SimulatedCallFailed(f"no answer fits attempt {call[-1]}"))
            return
        given, error = chosen.results, chosen.error
        if given is None and error is None:
            return

        def answer() -> None:
            try:
                if given is None:
                    raise SimulatedCallFailed(error)
                results = given(call)
            except Exception as raised:
                result_future.complete_exceptionally(raised)
                return
            result_future.complete(results)

        delay_ns = chosen.latency.draw_ns(call, self._random)
        if delay_ns == 0:
            answer()
        else:
            self._calls.after(delay_ns, answer)
