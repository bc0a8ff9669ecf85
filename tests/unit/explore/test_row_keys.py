"""The results of a job by key: whose rows have keys, and which results are then the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import (
    AsyncDataStream,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Types
from flowsim.explore.explored_job import ExploredJob
from flowsim.explore.job_exploration import JobExploration, explore_job
from flowsim.explore.outcome import Outcome, View
from flowsim.explore.row_keys import KeyedCollectSink
from flowsim.facts.kinds import Level
from flowsim.recording.memory import MemoryRecorder
from flowsim.sim.choice_token import Recorded
from flowsim.state.descriptors import ValueStateDescriptor
from tests.support.explore.tiny_jobs import explored
from tests.support.jobs.coroutines import asks

Pair = tuple[str, int]


class Count(KeyedProcessFunction):
    """Emits the number of the record of its key, without the key; and the key to a side output."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.seen = runtime_context.get_state(ValueStateDescriptor("seen", Types.LONG()))

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Any:
        seen = (self.seen.value() or 0) + 1
        self.seen.update(seen)
        yield seen
        yield OutputTag("keys"), ctx.get_current_key()


def pairs(env: StreamExecutionEnvironment, *sources: list[Pair]) -> DataStream:
    first, *others = [env.from_collection(source) for source in sources]
    return first.union(*others)


def job(build: Callable[[StreamExecutionEnvironment], object]) -> ExploredJob:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    build(env)
    return ExploredJob(env.stream_graph(), RunOptions(), "")


def keyed(first: list[Pair], second: list[Pair]) -> ExploredJob:
    return job(lambda env: pairs(env, first, second).key_by(lambda pair: pair[0]).sum(1).name("sums"))


def numbers(explored: ExploredJob) -> dict[View, int]:
    views: tuple[View, ...] = ("exact", "keys", "bag")
    return {view: len(explore_job(explored, 200, view).results) for view in views}


def test_order_of_different_keys_is_no_other_result_by_key() -> None:
    assert numbers(keyed([("a", 1)], [("b", 2)])) == {"exact": 2, "keys": 1, "bag": 1}


def test_order_within_a_key_is_another_result_by_key() -> None:
    assert numbers(keyed([("a", 1), ("b", 1)], [("a", 2)])) == {"exact": 3, "keys": 2, "bag": 2}


def test_each_view_counts_as_many_results_as_an_exploration_of_its_own() -> None:
    each = keyed([("a", 1), ("b", 1)], [("a", 2)])
    found: JobExploration = explore_job(each, 200)
    views: tuple[View, ...] = ("exact", "keys", "bag")
    assert {view: found.results_by(view) for view in views} == numbers(each)


def by_key(each: ExploredJob) -> Outcome:
    return each.run(Recorded()).viewed("keys")


def test_rows_have_the_key_with_which_the_operator_wrote_them() -> None:
    """The rows themselves have no key; both are in the same chain, and a map is between them."""
    each = job(
        lambda env: (
            pairs(env, [("b", 1), ("a", 2), ("b", 3)])
            .key_by(lambda pair: pair[0])
            .process(Count())
            .map(str)
            .name("out")
        )
    )
    outcome = by_key(each)
    assert (outcome.shown_keys, outcome.shown_rows) == ({"out": ["a", "b"]}, {"out": [["1"], ["1", "2"]]})


def test_equal_rows_of_other_keys_are_another_result() -> None:
    def of(*rows: Pair) -> ExploredJob:
        return job(lambda env: pairs(env, list(rows)).key_by(lambda pair: pair[0]).process(Count()).name("out"))

    one, other = by_key(of(("a", 1))), by_key(of(("b", 1)))
    assert one.sinks == other.sinks
    assert one.digest != other.digest
    assert one.viewed("bag").digest == other.viewed("bag").digest


def test_parallel_subtasks_have_their_own_current_keys() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        rows = [(key, 1) for key in "abcdefgh" * 2]
        pairs(env, rows).key_by(lambda pair: pair[0]).process(Count()).set_parallelism(3).name("out")

    outcome = by_key(job(build))
    assert (outcome.shown_keys, outcome.shown_rows) == ({"out": list("abcdefgh")}, {"out": [[1, 2]] * 8})


def test_sink_behind_key_by_and_side_output_have_keys() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        of_pairs = pairs(env, [("b", 1), ("a", 2)]).key_by(lambda pair: pair[0])
        of_pairs.sink_to(CollectSink()).name("pairs")
        of_pairs.process(Count()).get_side_output(OutputTag("keys")).sink_to(CollectSink()).name("side")

    outcome = by_key(job(build))
    assert outcome.shown_keys["pairs"] == outcome.shown_keys["side"] == ["a", "b"]
    assert outcome.shown_rows["side"] == [["a"], ["b"]]


def test_operator_whose_side_output_alone_is_read_has_keys_in_both() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        counts = pairs(env, [("b", 1), ("a", 2)]).key_by(lambda pair: pair[0]).process(Count()).name("counts")
        counts.get_side_output(OutputTag("keys")).sink_to(CollectSink()).name("side")

    assert by_key(job(build)).shown_keys == {"side": ["a", "b"], "counts": ["a", "b"]}


def test_window_operator_with_recorded_state_and_one_with_a_fault_have_their_keys() -> None:
    """Both are replaced when the job is deployed."""
    rows = {"fields": {"k": "string", "n": "long"}, "rows": [["b", 1], ["a", 2], ["b", 3]]}
    window = {"input": "t", "key_by": "k", "window": {"tumbling": "5 ms"}, "aggregate": {"n": "sum(n)"}}
    timed = {"input": "s", "watermarks": {"timestamp": "n"}}
    each = explored({
        "flowsim": 1, "name": "windows", "settings": {"record_state": True}, "sources": {"s": {"collection": rows}},
        "operators": {"t": timed, "w": window}, "sinks": {"out": {"input": "w", "collect": {}}},
        "faults": [{"fault": "late_row_kept", "operator": "w"}],
    })  # fmt: skip
    recorder = MemoryRecorder(Level.FULL, records_state=True)
    outcome = each.outcome(each.result(Recorded(), recorder)).viewed("keys")
    assert (outcome.status, outcome.shown_keys) == (JobStatus.FINISHED, {"out": ["a", "b"]})


def test_rows_of_a_job_with_checkpoints_have_keys_when_they_are_committed() -> None:
    def build(env: StreamExecutionEnvironment) -> None:
        env.enable_checkpointing(10)
        of_pairs = (
            pairs(env, [("b", 1), ("a", 2), ("b", 3)]).key_by(lambda pair: pair[0]).process(Count()).name("count")
        )
        of_pairs.sink_to(CollectSink()).name("out")

    outcome = by_key(job(build))
    assert (outcome.shown_keys["out"], outcome.shown_rows["out"]) == (["a", "b"], [[1], [1, 2]])


def other_task(env: StreamExecutionEnvironment) -> None:
    pairs(env, [("a", 1)]).key_by(lambda pair: pair[0]).sum(1).rebalance().map(str).name("out")


def plain_map(env: StreamExecutionEnvironment) -> None:
    pairs(env, [("a", 1)]).key_by(lambda pair: pair[0]).map(str).name("out")


async def call(value: object) -> list[object]:
    return [value]


def behind_async(env: StreamExecutionEnvironment) -> None:
    sums = pairs(env, [("a", 1)]).key_by(lambda pair: pair[0]).sum(1)
    AsyncDataStream.ordered_wait(sums, asks(call), Duration.of_seconds(1), 10).name("out")


def no_key(env: StreamExecutionEnvironment) -> None:
    pairs(env, [("a", 1)]).map(str).name("out")


@pytest.mark.parametrize("build", [other_task, plain_map, behind_async, no_key])
def test_sink_whose_rows_have_no_known_key_is_compared_in_order(
    build: Callable[[StreamExecutionEnvironment], None],
) -> None:
    each = job(build)
    assert (each.has_keys, each.sinks_without_keys) == (False, ["out"])
    exact = each.run(Recorded())
    assert exact.viewed("keys").sinks == exact.sinks


def test_keys_do_not_change_the_results_in_order() -> None:
    """The rows of a claim, and the exact digest, are those without keys."""
    outcome = keyed([("a", 1)], []).run(Recorded())
    assert outcome.rows == {"sums": [[("a", 1)]]}
    assert outcome.keys
    assert Outcome(outcome.status, outcome.cause, outcome.sinks).digest == outcome.digest


def test_windows_of_a_scenario_have_keys() -> None:
    rows = {"fields": {"k": "string", "n": "long"}, "rows": [["b", 1], ["a", 2]]}
    window = {"input": "s", "key_by": "k", "window": {"count": 1}, "aggregate": {"n": "sum(n)"}}
    scenario = {"flowsim": 1, "name": "windows", "sources": {"s": {"collection": rows}}, "operators": {"w": window}}
    outcome = by_key(explored({**scenario, "sinks": {"out": {"input": "w", "collect": {}}}}))
    assert outcome.shown_keys == {"out": ["a", "b"]}


def test_second_run_has_its_own_current_keys() -> None:
    each = keyed([("a", 1)], [("b", 2)])
    assert by_key(each) == by_key(each)
    assert all(isinstance(end, KeyedCollectSink) for end in each._ends.values())
