"""Asynchronous functions of the user on the real Flink: their calls are answered in its virtual time."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from flowsim.conform.flink_contexts import FlinkSide
from flowsim.errors import BadInput
from flowsim.operators.async_wait.result_future import checked_error, wrong_results
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import OperatorContext, StreamOperator


class FlinkResultFuture:
    """Completes a future of Java. It calls Flink's ResultFuture."""

    def __init__(self, side: FlinkSide, future: int, attempts: int) -> None:
        self._side = side
        self._future = future
        self.attempts = attempts
        """The number of calls for the record so far."""

    def complete(self, results: Sequence[object]) -> None:
        wrong = wrong_results(results)
        if wrong is not None:
            self.complete_exceptionally(wrong)
        else:
            self._side.java.complete(self._future, ",".join(map(self._side.number, results)))

    def complete_from(self, supplier: Callable[[], Sequence[object]]) -> None:
        self.complete(supplier())

    def complete_exceptionally(self, error: BaseException) -> None:
        error = checked_error(error)
        text = f"{type(error).__name__}: {error}"
        self._side.java.completeExceptionally(self._future, text, self._side.objects.add(error))


class FlinkAsyncCalls:
    """Answers simulated calls when their time has come on Flink's clock. The interface is ``AsyncCalls``."""

    def __init__(self, side: FlinkSide) -> None:
        self._side = side

    def after(self, delay_ns: int, answer: Callable[[], None]) -> FlinkAsyncCalls:
        number = self._side.objects.add(_Answer(answer))
        self._side.java.after(delay_ns, number)
        return self

    def cancel(self) -> None:
        """Answers of a task that has ended are ignored by Flink."""

    def run(
        self,
        call: Coroutine[Any, Any, object],
        answer: Callable[[object, BaseException | None], None],
        check: Callable[[object], None] | None = None,
    ) -> FlinkAsyncCalls:
        call.close()
        raise BadInput("coroutines run on the loop of flowsim only: the real Flink cannot await them")

    def on_loop(self, answer: Callable[[], None], operator: str, value: object) -> None:
        answer()

    def run_at_end(self, closing: Coroutine[Any, Any, object]) -> None:
        closing.close()


class _Answer:
    def __init__(self, answer: Callable[[], None]) -> None:
        self._answer = answer

    def answer(self, *_: object) -> str:
        self._answer()
        return ""


class CalledAsync:
    """An asynchronous function of one subtask."""

    def __init__(self, side: FlinkSide, operator: StreamOperator, ctx: OperatorContext, tags: list[str]) -> None:
        self._side = side
        function: Any = operator.user_function
        self._function = function
        ctx.async_calls = FlinkAsyncCalls(side)
        self._function.open(RuntimeContext(ctx, None))

    def close(self, *_: object) -> str:
        self._function.close()
        return ""

    def async_invoke(self, record: int, future: int, attempt: str) -> str:
        value = self._side.values.value(record)
        self._function.async_invoke(value, FlinkResultFuture(self._side, future, int(attempt)))
        return ""

    def timeout(self, record: int, future: int, attempt: str) -> str:
        value = self._side.values.value(record)
        self._function.timeout(value, FlinkResultFuture(self._side, future, int(attempt)))
        return ""


class RetryPredicates:
    """The predicates of a retry strategy, for Java."""

    def __init__(self, side: FlinkSide, predicate: Any) -> None:
        self._side = side
        self._result = predicate.result_predicate()
        self._exception = predicate.exception_predicate()

    @property
    def kinds(self) -> list[str]:
        """The names of the predicates that there are."""
        both = {"result_predicate": self._result, "exception_predicate": self._exception}
        return [name for name, predicate in both.items() if predicate is not None]

    def result_predicate(self, _: int, __: int, results: str) -> str:
        values = self._side.values.values(results.split(",") if results else ())
        return str(bool(self._result(values))).lower()

    def exception_predicate(self, error: int, _: int, timeout: str) -> str:
        raised = self._side.objects.get(error) if error else TimeoutError(timeout)
        return str(bool(self._exception(raised))).lower()
