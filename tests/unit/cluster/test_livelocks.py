"""A job whose tasks take turns without end and process nothing ends with a message, and law progress names it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import AsyncDataStream, AsyncFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.errors import RunTooLong
from flowsim.facts.kinds import Level, LifeEvent
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim import standstill, virtual_time_loop
from flowsim.tasks import batches


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "_MOST_ACTIONS", 1_000)
    monkeypatch.setattr(standstill, "_STANDSTILL_TURNS", 1_000)
    monkeypatch.setattr(virtual_time_loop, "_LIVELOCK_CALLBACKS", 10_000)


def run(graph: StreamGraph, *faults: Fault, **options: Any) -> tuple[JobExecutionResult, MemoryRecorder]:
    facts = MemoryRecorder(Level.FULL)
    return MiniCluster(graph, with_faults(RunOptions(recorder=facts, **options), faults)).run(), facts


def livelocked(facts: MemoryRecorder) -> set[int]:
    """The tasks with a row; law progress has a violation for each of them."""
    tasks = {row[1] for row in facts.rows("lifecycle") if row[4] == LifeEvent.LIVELOCKED}
    outcomes = {each.law: each for each in check_all(facts, "failed")}
    progress = outcomes["progress"]
    named = {row["task"] for row in progress.evidence if row["what"] == "livelocked"}
    assert named == tasks
    assert progress.verdict is (Verdict.VIOLATED if tasks else Verdict.HOLDS)
    return tasks


def numbers(change: Callable[[Any], Any] = lambda stream: stream) -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    change(env.from_collection(list(range(10))).rebalance()).map(lambda value: value).name("map").sink_to(CollectSink())
    return env.stream_graph()


def test_task_that_polls_an_empty_input_without_end_is_a_livelock() -> None:
    result, facts = run(numbers(), Fault("input_never_empty", operator="map"))
    assert result.status is JobStatus.FAILED
    assert isinstance(result.error, RunTooLong)
    message = str(result.error)
    assert message.startswith("the job is livelocked: at 0 ms its tasks take turns without end, and process no element")
    assert "map -> Sink: Unnamed (1/1) waits for its next turn" in message
    assert livelocked(facts) == {0, 1}


class Posts(AsyncFunction):
    """Never answers; polls an event of asyncio instead."""

    async def async_invoke(self, value: object) -> list[object]:
        while True:
            await asyncio.sleep(0)


def test_call_that_polls_without_end_is_a_livelock() -> None:
    graph = numbers(lambda stream: AsyncDataStream.ordered_wait(stream, Posts(), Time.seconds(10), 3))
    result, facts = run(graph)
    assert "callbacks ran while virtual time stood still" in str(result.error)
    assert livelocked(facts) == {1}


def test_job_without_a_cost_that_processes_elements_is_no_livelock() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection(list(range(20_000))).rebalance()
    stream.map(lambda value: value).sink_to(CollectSink())
    result, facts = run(env.stream_graph(), budget_records=1)
    assert result.status is JobStatus.FINISHED
    assert livelocked(facts) == set()
