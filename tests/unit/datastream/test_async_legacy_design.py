"""``design="legacy"``: the operator of Flink 1.8 through the same four methods, on both clocks."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectionSource
from flowsim.datastream import AsyncDataStream, AsyncRetryStrategy, DataStream, StreamExecutionEnvironment
from flowsim.datastream.async_retry_predicates import has_exception_predicate
from flowsim.datastream.common import Duration
from flowsim.errors import BadInput, JobFailed
from flowsim.graph.job_graph import create_job_graph
from flowsim.legacy.source_function import LegacySource
from tests.support.jobs.coroutines import BOTH_CLOCKS, UNMARKED, asks, last_first, nothing_left_behind

pytestmark = UNMARKED
ENV = StreamExecutionEnvironment.get_execution_environment
MINUTE = Duration.of_minutes(1)


@pytest.fixture(autouse=True)
def _nothing_left_behind(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with nothing_left_behind(caplog):
        yield


def asked(function: Any, clock: str, *, wait: Any = AsyncDataStream.ordered_wait, timeout: Duration = MINUTE) -> Any:
    env = ENV().flowsim_settings(clock=clock)
    return wait(env.from_collection([1, 2, 3, 4]), function, timeout, design="legacy")


@BOTH_CLOCKS
def test_results_are_emitted_in_order_of_mode(clock: str) -> None:
    ordered = asked(last_first(4), clock)
    unordered = asked(last_first(4), clock, wait=AsyncDataStream.unordered_wait)
    assert list(ordered.execute_and_collect()) == [10, 20, 30, 40]
    assert list(unordered.execute_and_collect()) == [40, 30, 20, 10]


@BOTH_CLOCKS
def test_exception_of_coroutine_fails_job_with_its_record(clock: str) -> None:
    async def raises(value: int) -> list[int]:
        if value == 2:
            raise KeyError("no such key")
        return [value]

    with pytest.raises(JobFailed, match=r"operator async wait operator, record 2: .*KeyError: 'no such key'"):
        list(asked(asks(raises), clock).execute_and_collect())


def test_unanswered_call_ends_run_and_report_names_element() -> None:
    async def never(value: int) -> list[int]:
        if value == 3:
            await asyncio.Event().wait()
        return [value]

    env = ENV()
    AsyncDataStream.ordered_wait(
        env.from_collection([1, 2, 3, 4]), asks(never), Duration.of_millis(0), design="legacy"
    ).name("asked").print()
    ended = MiniCluster(env.stream_graph(), RunOptions()).run()
    assert ended.status is JobStatus.DEADLOCKED
    assert "operator asked waits for the answer to 1 element" in ended.report
    assert "record 3" in ended.report


def test_legacy_design_refuses_retries() -> None:
    retry = AsyncRetryStrategy.fixed_delay(1, 1, None, has_exception_predicate)
    stream = ENV().from_collection([1])
    with pytest.raises(BadInput, match="ordered_wait_with_retry: design: the legacy design does not retry calls"):
        AsyncDataStream.ordered_wait_with_retry(stream, last_first(1), MINUTE, retry, design="legacy")
    once = AsyncDataStream.ordered_wait_with_retry(
        stream, last_first(1), MINUTE, AsyncRetryStrategy.no_restart(), design="legacy"
    )
    assert list(once.execute_and_collect()) == [10]


@BOTH_CLOCKS
def test_legacy_design_is_chained_behind_legacy_source(clock: str) -> None:
    """It never yields, so rule 1.10 is not about it."""

    def job(env: StreamExecutionEnvironment) -> DataStream:
        numbers = env.add_source(LegacySource(CollectionSource([1, 2, 3, 4])), "numbers")
        return AsyncDataStream.ordered_wait(numbers, last_first(4), MINUTE, 4, design="legacy").name("asked")

    env = ENV()
    job(env).print()
    graph = env.stream_graph()
    (node,) = (node for node in graph.nodes.values() if node.name == "asked")
    assert node.description.params["design"] == "legacy"
    assert [vertex.name for vertex in create_job_graph(graph).vertices] == [
        "Source: numbers -> asked -> Sink: Print to Std. Out"
    ]
    assert list(job(ENV().flowsim_settings(clock=clock)).execute_and_collect()) == [10, 20, 30, 40]
