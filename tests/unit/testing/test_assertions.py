"""The messages of failed assertions."""

from __future__ import annotations

import pytest

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.testing import (
    FIFO,
    Schedule,
    assert_laws,
    assert_same_output_for_all_schedules,
    outputs,
    run_job,
    some_schedules,
)
from tests.support.faults import Fault


def numbers(count: int = 10) -> StreamExecutionEnvironment:
    """Round robin over two subtasks, and back to one."""
    env = StreamExecutionEnvironment.get_execution_environment()
    spread = env.from_collection(range(count)).rebalance().map(lambda n: n).set_parallelism(2)
    spread.map(lambda n: n).set_parallelism(1).name("collected")
    return env


def test_job_that_satisfies_laws_returns_its_run() -> None:
    run = assert_laws(numbers(3), must_examine=["channel-fifo", "actions"])
    assert sorted(run.values()) == [0, 1, 2]  # type: ignore[type-var]


def test_violated_law_is_reported_with_sentence_evidence_and_reproduce_line() -> None:
    schedule = Schedule("random", 7, 1)
    with pytest.raises(AssertionError) as failed:
        assert_laws(numbers(), schedule=schedule, faults=[Fault("corrupt_element", channel=0, at=2)])
    law, sentence, count, evidence, reproduce, data = str(failed.value).splitlines()
    assert law == "law violated: channel-fifo"
    assert sentence.startswith("  A receiver decodes exactly the elements that the sender wrote to the channel")
    assert sentence.endswith("(rules 5.11, 6.14, 7.16)")
    assert count.startswith("  1 violation, ")
    assert evidence.startswith("  the element at position 2 of channel 0 was changed: sent record ")
    assert evidence.endswith("channel: Source: Collection Source (1/1) -> Map (1/2) #0")
    assert reproduce.startswith(
        "  reproduce: run_job(job, schedule=Schedule(policy='random', seed=7, budget_records=1)"
    )
    assert data == "  data: CollectionSource([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])"


def test_report_shows_first_rows_of_evidence() -> None:
    with pytest.raises(
        AssertionError, match=r"the element at position 4 of channel 0 was changed: .*\n  \.\.\. and \d+ more\n"
    ):
        assert_laws(numbers(40), faults=[Fault("corrupt_element", at=at) for at in range(20)])


def test_expected_violation_passes_and_its_absence_fails() -> None:
    faults = [Fault("drop_element"), Fault("lose_record_in_chain")]
    assert_laws(numbers(), faults=faults, expect_violated=["channel-fifo", "conservation"])
    with pytest.raises(AssertionError, match="law channel-fifo was expected to be violated, but: holds, "):
        assert_laws(numbers(), expect_violated=["channel-fifo"])


def test_must_examine_refuses_vacuous_and_not_applicable_law() -> None:
    with pytest.raises(AssertionError, match="law window-fire must examine rows, but: not applicable, 0 rows"):
        assert_laws(numbers(), must_examine=["window-fire"])
    with pytest.raises(AssertionError, match="needs recording level full, the run was recorded at level elements"):
        assert_laws(numbers(), must_examine=["credits"], level=Level.ELEMENTS)
    keyed = StreamExecutionEnvironment.get_execution_environment()
    keyed.from_collection([]).key_by(lambda n: n).map(lambda n: n)
    assert_laws(keyed)
    with pytest.raises(AssertionError, match="law key-routing must examine rows, but: vacuous, 0 rows"):
        assert_laws(keyed, must_examine=["key-routing"])


def test_unknown_law_is_refused() -> None:
    with pytest.raises(BadInput, match="there is no law 'fifo'; there are: distribution, channel-end, channel-fifo, "):
        assert_laws(numbers(), must_examine=["fifo"])


def test_finished_run_is_checked_with_its_own_schedule() -> None:
    run = run_job(numbers())
    assert assert_laws(run) is run
    with pytest.raises(BadInput, match="a finished run already has its schedule"):
        assert_laws(run, schedule=FIFO)


def test_same_multiset_of_outputs_passes_for_all_schedules() -> None:
    runs = assert_same_output_for_all_schedules(numbers)
    assert [run.schedule for run in runs] == list(some_schedules())


def test_schedule_dependent_order_is_reported_with_both_runs() -> None:
    with pytest.raises(AssertionError) as failed:
        assert_same_output_for_all_schedules(numbers, view=outputs)
    message = str(failed.value)
    assert message.startswith("the output depends on the schedule:\n  first ['collected'][0]: [")
    assert f"  first: run_job(job, schedule={FIFO!r})\n  other: run_job(job, schedule=Schedule(" in message


def test_schedule_dependent_values_are_named() -> None:
    """Where each subtask numbers its records, the seed of rebalance decides who gets which number."""

    def job() -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment()
        spread = env.from_collection(["x", "y", "z"]).rebalance().map(lambda word: word).set_parallelism(2)
        spread.key_by(lambda word: 0).reduce(lambda a, b: a + b).name("joined")
        return env

    with pytest.raises(
        AssertionError, match=r"only in the first, at 'joined': 'y', .*\n  only in the other, at 'joined': 'x', "
    ):
        assert_same_output_for_all_schedules(job)


def test_equal_values_of_different_types_differ() -> None:
    results = iter([1, True])

    def job() -> StreamExecutionEnvironment:
        env, result = StreamExecutionEnvironment.get_execution_environment(), next(results)
        env.from_collection([0]).map(lambda n: result)
        return env

    with pytest.raises(AssertionError, match="only in the first, at 'Map': 1\n  only in the other, at 'Map': True\n"):
        assert_same_output_for_all_schedules(job, schedules=some_schedules(1))


def test_empty_list_of_schedules_is_refused() -> None:
    with pytest.raises(BadInput, match="no schedule was given"):
        assert_same_output_for_all_schedules(numbers, schedules=[])
