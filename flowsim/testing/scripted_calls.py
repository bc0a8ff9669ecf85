"""Asynchronous functions whose every answer is told beforehand: how long it takes, and what it is.

>>> calls = ScriptedCalls(lambda value, attempt: Reply(5, error=OSError()) if attempt == 1 else Reply(2, (value,)))
>>> calls.reply("a", 2)
Reply(latency_ms=2, results=('a',), error=None)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from flowsim.datastream.functions.async_functions import ResultFutureFunction
from flowsim.errors import BadInput
from flowsim.operators.async_calls import AsyncCalls
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.stream_operator import Value
from flowsim.operators.user_functions import RuntimeContext
from flowsim.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class Reply:
    """What one call answers: after ``latency_ms``, ``error`` if there is one, else ``results``.

    0 ms: before the call of the function returns (rule 11.4). None: never.
    """

    latency_ms: float | None
    results: tuple[Value, ...] = ()
    error: BaseException | None = None

    def __post_init__(self) -> None:
        if self.latency_ms is not None and self.latency_ms < 0:
            raise BadInput(f"a reply comes after 0 ms or more, or never (None), got {self.latency_ms}")


TimeoutReply = Literal["fail", "nothing"] | Callable[[Value], Sequence[Value]]
"""What the function does about an element whose time ran out: fails the job, as Flink's default, does not answer at
all (rule 11.17), or the results in its place."""

CallNote = tuple[Literal["invoke", "timeout"], Value, int]
"""What was called with which value; the attempt from 1 (0 for ``timeout``)."""


class ScriptedCalls(ResultFutureFunction):
    """Answers each call as ``reply(value, attempt)`` says; ``attempt`` counts the calls for one element from 1.

    No chance is in it, so a test knows what must come out. Each subtask needs one of its own. Flink: AsyncFunction.
    """

    _calls: AsyncCalls

    def __init__(self, reply: Callable[[Value, int], Reply], on_timeout: TimeoutReply = "fail") -> None:
        self.reply = reply
        self.log: list[CallNote] = []
        """All calls, as they came."""
        self._on_timeout = on_timeout
        # All calls for one element get the same future, and no other element does.
        self._attempts: dict[ResultFuture, int] = {}

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.async_calls

    def close(self) -> None:
        self._attempts.clear()

    def noted(self, call: CallNote) -> None:
        """May be overridden, to keep it elsewhere."""
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
