"""Running a job inside a test: its outputs, and that the job is unchanged."""

from __future__ import annotations

import pytest

from flowsim.cluster.mini_cluster import JobStatus
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput, Deadlock, JobFailed
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.laws.law import Verdict
from flowsim.testing import JobRun, Schedule, assert_laws, outputs, per_key_order, run_job, some_schedules


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_outputs_of_last_operator_are_collected_per_subtask(env: StreamExecutionEnvironment) -> None:
    env.from_collection(["a", "b", "a"]).key_by(lambda word: word).map(str.upper).set_parallelism(2).name("upper")
    run = run_job(env)
    assert outputs(run) == {"upper": [["B"], ["A", "A"]]}
    assert run.values() == ["B", "A", "A"]
    assert run.values("upper", 1) == ["A", "A"]
    assert per_key_order(run, lambda word: word) == {"B": ["B"], "A": ["A", "A"]}


def test_existing_sink_keeps_its_records_and_is_an_output(env: StreamExecutionEnvironment) -> None:
    sink = CollectSink()
    numbers = env.from_collection(range(3))
    numbers.sink_to(sink).name("numbers")
    numbers.map(lambda n: n * 10).name("tens")
    run = run_job(env)
    assert sink.values() == [0, 1, 2]
    assert run.outputs() == {"numbers": [[0, 1, 2]], "tens": [[0, 10, 20]]}


def test_ends_of_same_name_are_numbered(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    numbers.map(lambda n: n)
    numbers.map(lambda n: -n)
    assert run_job(env).outputs() == {"Map": [[1]], "Map 2": [[-1]]}


def test_unknown_end_is_refused_with_known_ones(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1])
    numbers.map(lambda n: n).name("one")
    numbers.map(lambda n: n).name("other")
    run = run_job(env)
    with pytest.raises(BadInput, match=r"the job has several ends.* there are: 'one', 'other'"):
        run.values()
    with pytest.raises(BadInput, match="the job has no end 'third'; there are: 'one', 'other'"):
        run.values("third")


def test_key_at_two_subtasks_has_no_order(env: StreamExecutionEnvironment) -> None:
    env.from_collection(["a", "a"]).rebalance().map(str).set_parallelism(2)
    with pytest.raises(BadInput, match="key 'a' arrived at subtasks 0 and 1: their values have no common order"):
        run_job(env).per_key(lambda word: word)


def test_job_is_unchanged_by_run_and_can_run_again(env: StreamExecutionEnvironment) -> None:
    env.from_collection(range(20)).rebalance().map(lambda n: n).set_parallelism(3)
    plan = env.get_execution_plan()
    first, second = run_job(env, schedule=Schedule("random", 3, 1)), run_job(env, schedule=Schedule("random", 3, 1))
    assert env.get_execution_plan() == plan
    assert env.settings.budget_records == 4096
    assert first.outputs() == second.outputs()
    assert first.facts.facts_digest() == second.facts.facts_digest()
    graph = env.stream_graph()
    assert run_job(graph, schedule=Schedule("random", 3, 1)).facts.facts_digest() == first.facts.facts_digest()


def test_schedules_give_different_facts(env: StreamExecutionEnvironment) -> None:
    env.from_collection(range(20)).rebalance().map(lambda n: n).set_parallelism(2).rebalance().map(lambda n: n)
    digests = [run_job(env, schedule=schedule).facts.facts_digest() for schedule in some_schedules(6)]
    assert len(set(digests)) == len(digests)


def test_reproduce_line_gives_same_run(env: StreamExecutionEnvironment) -> None:
    env.from_collection(range(20)).rebalance().map(lambda n: n).set_parallelism(2)
    run = run_job(env, schedule=Schedule("random", 5, 2), faults=[Fault("drop_element", at=3)])
    again = eval(run.reproduce, {"run_job": run_job, "job": env, "Schedule": Schedule, "Fault": Fault})
    assert isinstance(again, JobRun)
    assert again.facts.facts_digest() == run.facts.facts_digest()


def test_false_claim_raises_with_evidence_and_schedule(env: StreamExecutionEnvironment) -> None:
    env.from_collection([2, 1]).map(lambda n: n)
    run = run_job(env, schedule=Schedule("random", 11, 1))
    run.claim("there are two", len(run.values()) == 2)
    with pytest.raises(AssertionError) as failed:
        run.claim("they rise", False, run.values())
    assert str(failed.value) == (
        "claim is false: they rise\n  [2, 1]\n"
        "  reproduce: run_job(job, schedule=Schedule(policy='random', seed=11, budget_records=1))\n"
        "  data: CollectionSource([2, 1])"
    )


def test_until_stops_job_and_facts_are_checked_as_prefix(env: StreamExecutionEnvironment) -> None:
    env.add_source(ScriptedSource([record(1), sleep(500), record(2)])).rebalance().map(lambda n: n)
    run = run_job(env, until_ms=300)
    assert run.result.status is JobStatus.STOPPED
    assert run.values() == [1]
    assert [o.law for o in run.outcomes if o.verdict is Verdict.VIOLATED] == []


def test_without_facts_no_law_applies(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(lambda n: n)
    assert {outcome.verdict for outcome in run_job(env, level=Level.OFF).outcomes} == {Verdict.NOT_APPLICABLE}


def test_failed_job_is_a_result_and_raised_by_assert_laws(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 0]).rebalance().map(lambda n: 1 // n).name("divide")
    run = run_job(env, schedule=Schedule(seed=4))
    assert run.result.status is JobStatus.FAILED
    with pytest.raises(JobFailed, match="divide") as failed:
        assert_laws(run)
    assert failed.value.__notes__ == [f"reproduce: {run.reproduce}", "data: CollectionSource([1, 0])"]


def test_deadlock_is_raised_by_assert_laws(env: StreamExecutionEnvironment) -> None:
    env.configure(segment_size_bytes=16, exclusive_buffers_per_channel=1, floating_buffers_per_gate=1)
    env.from_collection(range(200)).rebalance().map(lambda n: n)
    with pytest.raises(Deadlock, match="waits for"):
        assert_laws(deadlocked(env))


def deadlocked(env: StreamExecutionEnvironment) -> JobRun:
    """The sender never learns of credits that it was granted, which only the law of credits would tell."""
    run = run_job(env, level=Level.ELEMENTS, faults=[Fault("lose_credit", at=n) for n in range(40)])
    assert run.result.status is JobStatus.DEADLOCKED
    return run
