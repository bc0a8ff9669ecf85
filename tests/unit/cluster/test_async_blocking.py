"""A full async operator in a running job: the task yields inside a record (rules 3.21, 11.1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from flowsim.connectors.script import record, watermark
from flowsim.datastream import ResultFutureFunction
from flowsim.facts.kinds import AsyncAction, ElementKind, Level
from flowsim.operators.async_wait.async_wait_operator import AsyncWaitOperator, OutputMode
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS
from tests.support.jobs.small_jobs import SmallJob

Value = Any


class Asked(ResultFutureFunction):
    """Answers after so many ms, and notes when it is asked and when it answers; negative values fail."""

    def __init__(self, notes: list[str], latency_ms: Callable[[Value], int], name: str = "ask") -> None:
        self._notes = notes
        self._latency_ms = latency_ms
        self._name = name

    def open(self, runtime_context: RuntimeContext) -> None:
        self._calls = runtime_context.async_calls

    def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
        def answer() -> None:
            self._notes.append(f"{self._name} {value}: answered")
            if value < 0:
                result_future.complete_exceptionally(ValueError(f"nobody knows {value}"))
            else:
                result_future.complete([value])

        self._notes.append(f"{self._name} {value}")
        self._calls.after(self._latency_ms(value) * NS_PER_MS, answer)


def asks(
    job: SmallJob, before: int, notes: list[str], latency_ms: Callable[[Value], int], *, capacity: int = 1,
    mode: OutputMode = "ordered", name: str = "ask", chain: bool = True,
) -> int:  # fmt: skip
    def make() -> AsyncWaitOperator:
        return AsyncWaitOperator(Asked(notes, latency_ms, name), 0, capacity, mode)

    return job.operator(before, name, "async_wait", make, chain=chain)


def giving(notes: list[str], *values: int) -> Callable[[Value], Iterator[int]]:
    def give(_: Value) -> Iterator[int]:
        for value in values:
            notes.append(f"give {value}")
            yield value

    return give


def ten_ms(_: Value) -> int:
    return 10


def milliseconds(times_ns: Sequence[int]) -> list[int]:
    return [time_ns // NS_PER_MS for time_ns in times_ns]


def test_flat_map_above_full_async_operator_blocks_between_its_records() -> None:
    """It is the yield in the middle of the second record that lets the mail of the first one run."""
    notes: list[str] = []
    job = SmallJob()
    many = job.flat_map(job.values(lambda _: ["x"]), giving(notes, 1, 2, 3))
    sink = job.sink(asks(job, many, notes, ten_ms))
    job.run()
    assert notes == [
        "give 1", "ask 1", "give 2", "ask 1: answered", "ask 2", "give 3", "ask 2: answered", "ask 3", "ask 3: answered",
    ]  # fmt: skip
    assert sink.values == [1, 2, 3]
    assert milliseconds([arrival.at_ns for arrival in sink.records]) == [10, 20, 30]


@pytest.mark.parametrize(("capacity", "behind"), [(1, 2), (2, 3), (3, 4)])
def test_flat_map_stops_one_record_after_queue_is_full(capacity: int, behind: int) -> None:
    """One record more than the capacity is given: it waits for its place."""
    notes: list[str] = []
    job = SmallJob()
    many = job.flat_map(job.values(lambda _: list(range(6))), lambda value: giving(notes, int(value))(value))
    job.sink(asks(job, many, notes, ten_ms, capacity=capacity))
    job.run()
    first_answer = notes.index("ask 0: answered")
    assert sum(note.startswith("give") for note in notes[:first_answer]) == behind


def test_watermark_waits_for_queue_slot() -> None:
    """Rule 11.2."""
    notes: list[str] = []
    recorder = MemoryRecorder(Level.FULL)
    job = SmallJob()
    source = job.script([record(1, 1), watermark(1), record(2, 2)])
    sink = job.sink(asks(job, source, notes, lambda _: 50, capacity=1))
    job.run(recorder=recorder)
    columns = recorder.columns("async_elements")
    action, kind, time = (columns.index(name) for name in ("action", "kind", "time_ns"))
    steps = [
        (AsyncAction(row[action]).name, ElementKind(row[kind]).name)
        for row in sorted(recorder.rows("async_elements"), key=lambda row: row[time])
        if row[action] in (AsyncAction.PUT, AsyncAction.EMIT)
    ]
    assert steps[:6] == [
        ("PUT", "RECORD"), ("EMIT", "RECORD"), ("PUT", "WATERMARK"), ("EMIT", "WATERMARK"), ("PUT", "RECORD"),
        ("EMIT", "RECORD"),
    ]  # fmt: skip
    assert (sink.values, sink.watermarks[0]) == ([1, 2], (0, 1))


def test_first_async_operator_of_chain_blocks_while_second_is_full() -> None:
    """The second one yields inside the mail of the first one's result, and runs its own mails only."""
    notes: list[str] = []
    job = SmallJob()
    first = asks(job, job.values(lambda _: [1, 2, 3]), notes, lambda _: 1, capacity=3, name="first")
    sink = job.sink(asks(job, first, notes, ten_ms, name="second"))
    job.run()
    assert sink.values == [1, 2, 3]
    asked = [note for note in notes if note.startswith("second")]
    assert asked == [
        "second 1", "second 1: answered", "second 2", "second 2: answered", "second 3", "second 3: answered",
    ]  # fmt: skip
    assert milliseconds([arrival.at_ns for arrival in sink.records]) == [11, 21, 31]


def test_end_of_input_waits_for_queued_results() -> None:
    """Rule 11.19."""
    notes: list[str] = []
    job = SmallJob()
    first = asks(
        job, job.values(lambda _: [1, 2, 3]), notes, lambda value: 30 - 10 * value, capacity=9, mode="unordered"
    )
    sink = job.sink(first)
    job.run()
    assert sink.values == [3, 2, 1]


def test_async_error_during_yield_names_the_failed_record() -> None:
    """And not the one that waits for its place, nor the operators above it."""
    notes: list[str] = []
    job = SmallJob()
    many = job.flat_map(job.values(lambda _: ["x"]), giving(notes, -1, 2))
    job.sink(asks(job, many, notes, ten_ms))
    assert str(job.run().error) == (
        "job failed in task source -> flat_map -> ask -> sink (1/1), operator ask, record -1: "
        "ElementFailed: could not complete the element: ValueError: nobody knows -1"
    )
    assert notes == ["give -1", "ask -1", "give 2", "ask -1: answered"]


def test_result_none_fails_job_with_operator_and_record() -> None:
    class Forgetful(ResultFutureFunction):
        def async_invoke(self, value: Value, result_future: ResultFuture) -> None:
            result_future.complete(None)  # type: ignore[arg-type]  # what a user may do all the same

    job = SmallJob()
    job.sink(
        job.operator(
            job.script([record("a", 5)]), "ask", "async_wait", lambda: AsyncWaitOperator(Forgetful(), 0, 1, "ordered")
        )
    )
    failure = str(job.run().error)
    assert "operator ask, record 'a' @ 5: ElementFailed: could not complete the element: TypeError: " in failure
    assert "must be a list, empty to emit nothing: got None" in failure


@pytest.mark.parametrize("chain", [True, False])
def test_results_are_equal_with_and_without_chaining(chain: bool) -> None:
    notes: list[str] = []
    job = SmallJob()
    values = list(range(20))
    first = asks(job, job.values(lambda _: values), notes, lambda value: value % 7, capacity=4, chain=chain)
    sink = job.sink(
        asks(job, first, notes, lambda value: value % 5, capacity=2, name="again", chain=chain), chain=chain
    )
    job.run()
    assert sink.values == values
