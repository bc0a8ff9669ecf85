"""Which question of ``flowsim why`` fits what a test expected and found."""

from __future__ import annotations

import pytest

from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.testing import JobRun, run_job
from flowsim.testing.differences import Difference, difference_of
from flowsim.testing.questions import fitting_explanation


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def asked(run: JobRun, difference: Difference) -> tuple[tuple[str, ...], str]:
    """The question with its words, and the statement of its answer."""
    found = fitting_explanation(run.recording, difference)
    return ((), "") if found is None else ((found.question, *found.about), found.statement)


def test_nothing_found_asks_for_the_first_end_without_output(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2]).filter(lambda n: n > 5).name("big")
    run = run_job(env)
    assert asked(run, Difference([1, 2], run.values())) == (("no-output",), "Collect: big has received no row.")


def test_result_of_an_open_window_asks_what_is_open(env: StreamExecutionEnvironment) -> None:
    source = ScriptedSource([record(("a", 1), 1), watermark(9), record(("a", 2), 11), sleep(1000)])
    windows = (
        env.add_source(source).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    windows.reduce(lambda one, other: one).name("firsts")
    run = run_job(env, until_ms=100)
    assert run.values() == [("a", 1)]
    difference = Difference([("a", 1), ("a", 2)], run.values())
    assert asked(run, difference) == (("no-output",), "Collect: firsts has received 1 row.")
    found = fitting_explanation(run.recording, difference)
    assert found is not None
    assert found.causes[1] == 'Window [10, 20) of key "a" has not fired at firsts (1/1); it has 1 record.'


def test_value_behind_a_failure_asks_for_the_failure(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 0, 2]).rebalance().map(lambda n: 1 // n).name("divided")
    run = run_job(env)
    found = fitting_explanation(run.recording, Difference([1, 0], run.values()))
    assert found is not None
    assert found.causes[0].startswith("The job failed in divided -> Collect: divided (1/1): ZeroDivisionError")


def test_key_of_a_missing_entry_is_asked_for(env: StreamExecutionEnvironment) -> None:
    source = ScriptedSource([record(("a", 1), 1), record(("b", 1), 12), watermark(15), sleep(1000)])
    windows = (
        env.add_source(source).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    windows.reduce(lambda one, other: one).name("firsts")
    run = run_job(env, until_ms=100)
    per_key = run.per_key(lambda pair: pair[0])
    question = asked(run, difference_of({"a": [("a", 1)], "b": [0]}, per_key))
    assert question[0] == ("no-output", "b")
    assert question == asked(run, Difference([("a", 1), ("b", 1)], run.values()))


def test_late_record_is_asked_for_with_its_timestamp_if_its_value_has_several(env: StreamExecutionEnvironment) -> None:
    source = ScriptedSource([record(("a", 1), 1), watermark(20), record(("a", 1), 5)])
    windows = (
        env.add_source(source).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    windows.reduce(lambda one, other: one).name("firsts")
    run = run_job(env)
    assert asked(run, Difference([("a", 1)] * 2, run.values()))[0] == ("late", '["a",1]@5')


def test_no_question_fits_where_the_facts_show_no_cause(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2, 3]).key_by(lambda n: n % 2).filter(lambda n: n > 1).name("big")
    run = run_job(env)
    for expected, found in [([1, 2, 3], run.values()), ([2], [2, 2]), (3, 2), ("ab", "ba"), ([object()], [])]:
        assert asked(run, Difference(expected, found)) == ((), "")
