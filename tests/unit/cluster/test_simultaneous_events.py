"""Several events at one time: policy ``random`` chooses their order where Flink leaves it open (decision D4)."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest

from flowsim.cluster.failures import FailTask, RunFailure
from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import AsyncDataStream, AsyncFunction, ResultFutureFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.errors import JobFailed
from flowsim.facts.kinds import Level
from flowsim.facts.schema import CHOICES
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.policy import ScriptedPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams
from flowsim.units import NS_PER_MS

SEEDS = range(60)
WAIT_MS = 10
"""A timer fires one millisecond after its time (rule 9.10): the timeout is one millisecond less."""


class TwoClients(ResultFutureFunction):
    """Two clients answer a call at the time of its timeout: one with an error, one with a result."""

    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.async_calls

    def async_invoke(self, value: object, result_future: Any) -> None:
        self.calls.after(WAIT_MS * NS_PER_MS, lambda: result_future.complete_exceptionally(ValueError("client failed")))
        self.calls.after(WAIT_MS * NS_PER_MS, lambda: result_future.complete([value]))


class Coroutines(AsyncFunction):
    """Every call ends at the time of its timeout, after several callbacks of its coroutine."""

    async def async_invoke(self, value: object) -> list[object]:
        await asyncio.wait_for(asyncio.sleep(WAIT_MS / 1000), 60)
        if value == "error":
            raise ValueError("client failed")
        return [value]


class NeverAnswered(ResultFutureFunction):
    """The result of a call is its timeout."""

    def async_invoke(self, value: object, result_future: Any) -> None:
        """Nothing."""

    def timeout(self, value: object, result_future: Any) -> None:
        result_future.complete([value])


def run(
    function: AsyncFunction | ResultFutureFunction,
    values: tuple[str, ...],
    policy: Any,
    seed: int = 0,
    failures: tuple[RunFailure, ...] = (),
    recorder: MemoryRecorder | None = None,
) -> tuple[JobExecutionResult, list[object]]:
    """Runs a job that calls the function for all values at one time."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(cost_ns=0)
    stream = env.add_source(ScriptedSource([*(record(value, 0) for value in values), sleep(1000)]))
    sink = CollectSink()
    AsyncDataStream.unordered_wait(stream, function, Time.milliseconds(WAIT_MS - 1), 20).sink_to(sink)
    options = RunOptions(policy=policy, seed=seed, failures=failures, recorder=recorder)
    return MiniCluster(env.stream_graph(), options).run(), sink.values()


def first_event(result: JobExecutionResult, values: list[object]) -> str:
    """Returns what reached the operator first: the value of an answer, or the error."""
    if isinstance(result.error, JobFailed) and not values:
        return str(result.error.cause).split(": ")[-1]
    return str(values[0])


def first_events(
    policy: str,
    function: AsyncFunction | ResultFutureFunction,
    *values: str,
    failures: tuple[RunFailure, ...] = (),
) -> Counter[str]:
    """Returns how many seeds begin with which event."""
    return Counter(first_event(*run(function, values, policy, seed, failures)) for seed in SEEDS)


TIMED_OUT = "Async function call has timed out."


def test_random_policy_reaches_timeout_error_and_answer_of_one_call() -> None:
    """The timeout comes first only if the task runs its mail before the clients complete the call."""
    counts = first_events("random", TwoClients(), "answer")
    assert set(counts) == {TIMED_OUT, "client failed", "answer"}
    assert min(counts.values()) > 5


def test_random_policy_reaches_every_first_event_of_three_calls() -> None:
    """A coroutine needs more callbacks than a timer until its answer is a mail: that must not decide."""
    assert set(first_events("random", Coroutines(), "error", "a", "b")) == {TIMED_OUT, "client failed", "a", "b"}


def test_random_policy_lets_a_failure_come_before_or_after_an_answer_of_its_time() -> None:
    failure = FailTask("Source: Custom Source", at_ns=WAIT_MS * NS_PER_MS)
    counts = first_events("random", Coroutines(), "a", failures=(failure,))
    by_request = {event for event in counts if "as the run asks for" in event}
    assert len(by_request) == 1
    assert set(counts) - by_request == {TIMED_OUT, "a"}


def test_fifo_policy_keeps_the_order_of_creation() -> None:
    """All events run before the next turn of the task, so its mail of the timeout finds the call completed."""
    assert first_events("fifo", TwoClients(), "answer") == {"client failed": 60}


class FirstIsAnswered(ResultFutureFunction):
    """Only the first call has an answer."""

    def open(self, runtime_context: Any) -> None:
        self.clients = runtime_context.async_calls
        self.calls = 0
        opened.append(self)

    def async_invoke(self, value: object, result_future: Any) -> None:
        self.calls += 1
        if value == 0:
            self.clients.after(12 * NS_PER_MS, lambda: result_future.complete([value]))

    def timeout(self, value: object, result_future: Any) -> None:
        result_future.complete([])


opened: list[FirstIsAnswered] = []


def records_before_the_result(policy: Any) -> int:
    """Returns how many records the task has read when it emits the result of the first call."""
    counts: list[int] = []

    def note(value: object) -> object:
        counts.append(opened[-1].calls)
        return value

    env = StreamExecutionEnvironment.get_execution_environment().configure(cost_ns=NS_PER_MS)
    stream = env.from_collection(list(range(200)))
    AsyncDataStream.unordered_wait(stream, FirstIsAnswered(), Time.seconds(9), 300).map(note).sink_to(CollectSink())
    MiniCluster(env.stream_graph(), RunOptions(policy=policy)).run()
    (count,) = counts
    return count


def test_task_reads_at_most_one_record_before_the_mail_of_an_event() -> None:
    """Flink's task looks for a mail after each record. Costs are not scaled, so a record ends when the answer is due."""
    due = records_before_the_result("fifo")
    policies = [SeededRandomPolicy(RandomStreams(seed), (1.0, 1.0)) for seed in range(20)]
    assert {records_before_the_result(policy) for policy in policies} == {due, due + 1}


@pytest.mark.parametrize("policy", ["fifo", "random"])
def test_timers_of_one_task_keep_their_order(policy: str) -> None:
    """One thread of the task fires them, and a ScheduledThreadPoolExecutor keeps the order of equal times."""
    for seed in SEEDS:
        _, values = run(NeverAnswered(), ("a", "b", "c"), policy, seed)
        assert values == ["a", "b", "c"]


@pytest.mark.parametrize("seed", range(10))
def test_recorded_choices_replay_the_order_of_events(seed: int) -> None:
    recorded, replayed = MemoryRecorder(Level.FULL), MemoryRecorder(Level.FULL)
    _, values = run(Coroutines(), ("error", "a", "b"), "random", seed, recorder=recorded)
    choices = [row[1] for row in recorded.rows(CHOICES.name)]
    script = ScriptedPolicy(choices, SeededRandomPolicy(RandomStreams(seed)))
    assert run(Coroutines(), ("error", "a", "b"), script, seed, recorder=replayed)[1] == values
    assert replayed.facts_digest() == recorded.facts_digest()
