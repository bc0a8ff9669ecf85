"""When a Completion calls back."""

from __future__ import annotations

from flowsim.network.completion import Completion
from flowsim.network.errors import IllegalState


def test_completion_calls_back_once_and_newest_first() -> None:
    completion: Completion[int] = Completion()
    calls: list[tuple[str, int | None, Exception | None]] = []
    completion.when_complete(lambda result, error: calls.append(("first", result, error)))
    completion.when_complete(lambda result, error: calls.append(("second", result, error)))
    assert completion.complete(7)
    assert not completion.complete_exceptionally(IllegalState("late"))
    completion.when_complete(lambda result, error: calls.append(("third", result, error)))
    assert calls == [("second", 7, None), ("first", 7, None), ("third", 7, None)]
    assert completion.error is None


def test_error_is_forwarded_and_is_final() -> None:
    completion: Completion[int] = Completion()
    other: Completion[int] = Completion()
    completion.forward_to(other)
    error = ValueError("first")
    assert completion.complete_exceptionally(error)
    assert not completion.complete(1)
    assert (other.is_done, other.error, other.result) == (True, error, None)
