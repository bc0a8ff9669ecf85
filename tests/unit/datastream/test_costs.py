"""``cost`` of an operator: by subtask and by record (architecture decision D4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import CoFlatMapFunction, DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import ElementKind, Level
from flowsim.recording.memory import MemoryRecorder


class Both(CoFlatMapFunction):
    def flat_map1(self, value: int) -> list[str]:
        return [str(value)]

    def flat_map2(self, value: str) -> list[str]:
        return [value]


START_NS = 1_000_000_000
NS_PER_MS = 1_000_000


def environment() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(1).configure(
        cost_ns=0, buffer_timeout_ms=0, budget_records=1
    )  # fmt: skip


def sent_ms(env: StreamExecutionEnvironment, task: int) -> list[int]:
    """When a task sent its records, in ms after the start."""
    recorder = MemoryRecorder(Level.ELEMENTS)
    MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    rows = sorted(row for row in recorder.rows("sent") if row[1] == task and row[5] == ElementKind.RECORD)
    return [(row[2] - START_NS) // NS_PER_MS for row in rows]


@pytest.mark.parametrize(
    "cost",
    [lambda value: value * NS_PER_MS, lambda value: Duration.of_millis(value), [lambda value: value * NS_PER_MS]],
)
@pytest.mark.parametrize("chained", [True, False])
def test_function_gives_the_cost_of_each_record(cost: Any, chained: bool) -> None:
    env = environment()
    costly = env.from_collection([5, 0, 20]).map(lambda value: value).cost(cost)
    if not chained:
        costly.disable_chaining()
    costly.rebalance().sink_to(CollectSink())
    assert sent_ms(env, 0 if chained else 1) == [5, 5, 25]


def test_source_spends_the_cost_of_a_record_before_it_emits_it() -> None:
    env = environment()
    env.from_collection([5, 0, 20]).cost(lambda value: value * NS_PER_MS).rebalance().sink_to(CollectSink())
    assert sent_ms(env, 0) == [5, 5, 25]


def test_each_input_has_its_own_function() -> None:
    env = environment()
    left, right = env.from_collection([1, 2]), env.from_collection(["a"])
    both = left.connect(right).flat_map(Both()).cost([lambda value: value * NS_PER_MS, lambda value: 10 * NS_PER_MS])
    both.rebalance().sink_to(CollectSink())
    assert sorted(sent_ms(env, 2))[-1] == 13


def test_subtask_without_a_cost_of_its_own_has_the_others() -> None:
    env = environment().set_parallelism(3)
    slow = env.from_collection([1, 2, 3]).rebalance().map(lambda value: value)
    slow.cost(Duration.of_millis(2), subtasks={2: Duration.of_millis(30), 0: lambda value: 7 * NS_PER_MS})
    slow.rebalance().sink_to(CollectSink())
    recorder = MemoryRecorder(Level.ELEMENTS)
    MiniCluster(env.stream_graph(), RunOptions(recorder=recorder)).run()
    at = {row[1]: (row[2] - START_NS) // NS_PER_MS for row in recorder.rows("sent") if row[5] == ElementKind.RECORD}
    assert at == {0: 0, 1: 7, 2: 2, 3: 30}


@pytest.mark.parametrize(
    ("set_cost", "message"),
    [
        (lambda s: s.cost(), "operator 'Map': cost: expected 0 ns or more, or a Duration, got None"),
        (lambda s: s.cost(subtasks={}), "operator 'Map': cost: expected 0 ns or more, or a Duration, got None"),
        (lambda s: s.cost("1 ms"), "operator 'Map': cost: expected 0 ns or more, or a Duration, got '1 ms'"),
        (lambda s: s.cost(True), "operator 'Map': cost: expected 0 ns or more, or a Duration, got True"),
        (lambda s: s.cost([]), "operator 'Map': cost: expected 0 ns or more, or a Duration, got []"),
        (lambda s: s.cost([len, len]), "operator 'Map': cost: expected a function for each input (1), got 2"),
        (lambda s: s.cost(subtasks={-1: 1}), "operator 'Map': cost: expected the index of a subtask, from 0, got -1"),
        (lambda s: s.cost(subtasks={"0": 1}), "operator 'Map': cost: expected the index of a subtask, from 0, got '0'"),
        (
            lambda s: s.cost(subtasks={0: -5}),
            "operator 'Map': cost of subtask 0: expected 0 ns or more, or a Duration, got -5",
        ),
        (
            lambda s: s.cost(subtasks={2: 5}),
            "operator 'Map': cost: there is no subtask 2: the parallelism is 1, and the first subtask is 0",
        ),
    ],
)
def test_invalid_costs_are_refused(set_cost: Callable[[DataStream], object], message: str) -> None:
    env = environment()
    mapped = env.from_collection([1]).map(str)
    with pytest.raises(BadInput) as error:
        set_cost(mapped)
        env.stream_graph()
    assert str(error.value) == message


@pytest.mark.parametrize("cost", [-1, None, 0.5, True])
def test_function_without_a_cost_fails_the_job(cost: object) -> None:
    env = environment()
    env.from_collection([7]).map(str).cost(lambda value: cost).sink_to(CollectSink())  # type: ignore[arg-type]
    with pytest.raises(JobFailed) as error:
        env.execute()
    wrong = (
        f"operator Map, record 7: BadInput: the cost of a record: expected 0 ns or more, or a Duration, got {cost!r}"
    )
    assert str(error.value).endswith(wrong)
