"""The same failure under the names of both sides."""

from __future__ import annotations

import pytest

from flowsim.conform.failure_names import same_failure
from flowsim.conform.seen import Answer


def failed(task: str | None, cause: str | None) -> Answer:
    return Answer("failed", {}, cause, task)


@pytest.mark.parametrize(
    ("ours", "flink"),
    [
        ("ValueError: a", "ValueError: a"),
        ("ValueError: a", "IllegalStateException: a"),
        ("TimeoutError: Async function call has timed out.", "TimeoutException: Async function call has timed out."),
        (
            "BadInput: the record has no timestamp, so no event-time window can be assigned",
            "RuntimeException: Record has Long.MIN_VALUE timestamp (= no timestamp marker).",
        ),
        (
            "StopWithSavepointStopping: A savepoint has been created at: memory:savepoint-1, but the job failed",
            "StopWithSavepointStoppingException: A savepoint has been created at: file:/s, but the job 1 failed",
        ),
    ],
)
def test_causes_with_other_names_are_the_same(ours: str, flink: str) -> None:
    assert same_failure(failed("a (1/1)", ours), failed("a (1/1)", flink))


@pytest.mark.parametrize(
    ("ours", "flink"),
    [
        ("ValueError: a", "ValueError: b"),
        ("ValueError: a", None),
        ("ValueError: ", "TypeError: "),
        (None, "ValueError: a"),
    ],
)
def test_other_causes_differ(ours: str | None, flink: str | None) -> None:
    assert not same_failure(failed("a (1/1)", ours), failed("a (1/1)", flink))


def test_branches_of_a_chain_may_be_written_in_any_order() -> None:
    ours, flink = failed("s -> (a -> x, b) (2/3)", "E: e"), failed("s -> (b, a -> x) (2/3)", "E: e")
    assert same_failure(ours, flink)
    assert not same_failure(ours, failed("s -> (b, a -> x) (1/3)", "E: e"))
    assert not same_failure(ours, failed("s -> (b, a, y) (2/3)", "E: e"))


def test_a_chain_of_flink_may_begin_behind_the_source() -> None:
    assert same_failure(failed("s -> a -> b (1/1)", "E: e"), failed("a -> b (1/1)", "E: e"))
    assert not same_failure(failed("a -> b (1/1)", "E: e"), failed("s -> a -> b (1/1)", "E: e"))


def test_a_failure_without_a_task_is_one_of_any_task() -> None:
    assert same_failure(failed(None, "E: e"), failed("a (1/1)", "E: e"))
