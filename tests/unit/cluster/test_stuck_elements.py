"""Elements whose calls are never answered: the report of the run names them (rule 11.17)."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import AsyncDataStream, AsyncFunction, ResultFutureFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.errors import Deadlock
from flowsim.operators.async_wait.result_future import ResultFuture
from flowsim.units import NS_PER_MS
from tests.support.jobs.coroutines import UNMARKED

pytestmark = UNMARKED
NO_TIMEOUT = Duration.of_millis(0)


class Odd(AsyncFunction):
    """Only odd numbers are answered."""

    async def async_invoke(self, value: Any) -> list[Any]:
        if value % 2 == 0:
            await asyncio.Event().wait()
        return [value]


class Silent(ResultFutureFunction):
    """Does nothing about a timeout, as Flink lets a function do."""

    def async_invoke(self, value: Any, result_future: ResultFuture) -> None:
        if value % 2:
            result_future.complete([value])

    def timeout(self, value: Any, result_future: ResultFuture) -> None:
        return


def run(
    function: Any, entries: Any, *, mode: str = "ordered", capacity: int = 100, timeout: Duration = NO_TIMEOUT,
    chaining: bool = True, **options: Any,
) -> JobExecutionResult:  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment()
    wait = AsyncDataStream.ordered_wait if mode == "ordered" else AsyncDataStream.unordered_wait
    stream = wait(env.add_source(ScriptedSource(entries)), function, timeout, capacity).name("asked")
    (stream if chaining else stream.disable_chaining()).print()
    return MiniCluster(env.stream_graph(), RunOptions(**options)).run()


def pending_text(report: str) -> str:
    """What the report says of operators."""
    return "\n".join(line.partition("; operator ")[2] for line in report.splitlines() if "; operator " in line)


def test_unanswered_call_ends_run_and_report_names_element() -> None:
    """The other place is the last watermark's, which has to wait too."""
    ended = run(Odd(), [record(1, 10), record(2, 20), record(3, 30)], mode="unordered")
    assert ended.status is JobStatus.DEADLOCKED
    assert pending_text(ended.report) == (
        "asked waits for the answer to 1 element (2 of 100 places taken): number 1, record 2 @ 20"
    )
    assert isinstance(ended.error, Deadlock)
    assert "asked waits for the answer to 1 element" in str(ended.error)


def test_report_counts_unanswered_elements_and_names_the_first() -> None:
    """Number 3 is a watermark: it takes a slot, and needs no answer."""
    entries = [record(2, 10), record(4, 20), record(1, 30), watermark(35), *(record(2 * n, 40) for n in range(3, 8))]
    ended = run(Odd(), entries)
    assert pending_text(ended.report) == (
        "asked waits for the answers to 7 elements (10 of 100 places taken): number 0, record 2 @ 10, number 1, record 4 "
        "@ 20, number 4, record 6 @ 40, number 5, record 8 @ 40, number 6, record 10 @ 40 and 2 more"
    )


def test_report_of_full_queue_names_yield_and_element() -> None:
    ended = run(Odd(), [record(2, 10), record(1, 20), record(4, 30)], capacity=2)
    task, _, rest = ended.report.partition(" waits for ")
    assert task == "Source: Custom Source -> asked -> Sink: Print to Std. Out (1/1)"
    assert rest.startswith("a mail of priority 2 or above; ")
    assert (
        pending_text(ended.report)
        == "asked waits for the answer to 1 element (2 of 2 places taken): number 0, record 2 @ 10"
    )


def test_report_names_element_whose_timeout_did_nothing() -> None:
    """Rule 11.17: the element stays in the queue for ever."""
    ended = run(Silent(), [record(1, 10), record(2, 20), record(3, 30)], timeout=Duration.of_millis(50))
    assert ended.status is JobStatus.DEADLOCKED
    assert pending_text(ended.report) == (
        "asked waits for the answer to 1 element (3 of 100 places taken): number 1, record 2 @ 20, whose timeout passed"
    )


def test_report_lists_operators_of_each_task() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    first = AsyncDataStream.ordered_wait(env.from_collection([1, 3]), Odd(), NO_TIMEOUT).name("first")
    second = AsyncDataStream.ordered_wait(first.map(lambda v: v - 1), Odd(), NO_TIMEOUT).name("second")
    AsyncDataStream.ordered_wait(second.rebalance(), Odd(), NO_TIMEOUT).name("third").print()
    ended = MiniCluster(env.stream_graph(), RunOptions()).run()
    assert [line.partition(" waits for ")[0] for line in ended.report.splitlines()] == [
        "Source: Collection Source -> first -> Map -> second (1/1)",
        "third -> Sink: Print to Std. Out (1/1)",
    ]
    assert pending_text(ended.report) == (
        "second waits for the answers to 2 elements (3 of 100 places taken): number 0, record 0, number 1, record 2"
    )


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_report_of_run_ended_by_until_names_unanswered_element(clock: str) -> None:
    """On the real clock an answer may still come: only the limit ends the run."""
    ended = run(Odd(), [record(2, 10), sleep(1000)], clock=clock, until_ns=300 * NS_PER_MS, chaining=False)
    assert ended.status is JobStatus.STOPPED
    assert "asked (1/1) waits for input; " in ended.report
    assert (
        pending_text(ended.report)
        == "asked waits for the answer to 1 element (1 of 100 places taken): number 0, record 2 @ 10"
    )


def test_report_truncates_long_record() -> None:
    class Never(AsyncFunction):
        async def async_invoke(self, value: Any) -> list[Any]:
            await asyncio.Event().wait()
            return []

    ended = run(Never(), [record("x" * 500, 10)])
    assert pending_text(ended.report).endswith(f"number 0, record '{'x' * 99}... @ 10")


def test_report_is_empty_when_every_call_is_answered() -> None:
    ended = run(Odd(), [record(1, 10), record(3, 20)])
    assert (ended.status, ended.report) == (JobStatus.FINISHED, "")
