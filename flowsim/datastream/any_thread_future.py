"""The future of one record, as functions in the shape of Java get it: any thread may answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.stream_operator import Value

OnLoop = Callable[[Callable[[], None], str, object], None]
"""``AsyncCalls.on_loop``."""


class AnyThreadFuture:
    """Brings each answer to the loop of the job, where the operator takes it. Two of the same future are equal."""

    __slots__ = ("_future", "_on_loop", "_operator", "_value")

    def __init__(self, future: ResultFuture, on_loop: OnLoop, operator: str, value: Value) -> None:
        self._future = future
        self._on_loop = on_loop
        self._operator = operator
        self._value = value

    @property
    def attempts(self) -> int:
        """How often the record was asked for by now; 1 where nothing is tried again."""
        attempts: int = getattr(self._future, "attempts", 1)
        return attempts

    def complete(self, results: Sequence[Value]) -> None:
        self._bring(lambda: self._future.complete(results))

    def complete_from(self, supplier: Callable[[], Sequence[Value]]) -> None:
        self._bring(lambda: self._future.complete_from(supplier))

    def complete_exceptionally(self, error: BaseException) -> None:
        self._bring(lambda: self._future.complete_exceptionally(error))

    def _bring(self, answer: Callable[[], None]) -> None:
        self._on_loop(answer, self._operator, self._value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyThreadFuture) and other._future is self._future

    def __hash__(self) -> int:
        return hash(self._future)
