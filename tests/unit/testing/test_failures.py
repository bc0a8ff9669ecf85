"""What a failed assertion about a run prints."""

from __future__ import annotations

import pytest

from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.connectors.script_entries import Entry
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Time
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.testing import (
    FIFO,
    JobRun,
    Schedule,
    assert_laws,
    assert_same_output_for_all_schedules,
    outputs,
    run_job,
)
from flowsim.testing.failures import MOST_LINES
from tests.support.faults import Fault

IN_TIME: list[Entry] = [record(("a", 1), 1), record(("b", 2), 2), watermark(20)]


def sums(*entries: Entry) -> JobRun:
    """Sums of keys in windows of 10 ms."""
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.add_source(ScriptedSource(list(entries))).key_by(lambda pair: pair[0])
    windows = keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windows.reduce(lambda one, other: (one[0], one[1] + other[1])).name("sums")
    return run_job(env)


def numbers(count: int = 10) -> StreamExecutionEnvironment:
    """Round robin over two subtasks, and back to one."""
    env = StreamExecutionEnvironment.get_execution_environment()
    spread = env.from_collection(range(count)).rebalance().map(lambda n: n).set_parallelism(2)
    spread.map(lambda n: n).set_parallelism(1).name("collected")
    return env


def failed(run: JobRun, expected: object, found: object, *evidence: object) -> list[str]:
    """The lines of a claim that is false."""
    with pytest.raises(AssertionError) as error:
        run.claim("it is so", None, *evidence, expected=expected, found=found)
    lines = str(error.value).splitlines()
    assert len(lines) <= MOST_LINES
    return lines


def test_changed_order_is_explained() -> None:
    run = run_job(numbers(2), schedule=Schedule(seed=1))
    lines = failed(run, [0, 1], run.values())
    assert lines[:3] == ["claim is false: it is so", "  expected: [0, 1]", "  found:    [1, 0]"]
    why = run.why("order", 0, 1)
    assert lines[3] == f"  why order 0 1: {why.statement}"
    assert why.statement.endswith("and after it at collected (1/1).")
    assert lines[4] == "    1. Source: Collection Source (1/1) sent 0 at 1 us, and 1 after it. [I2.d]"
    assert lines[5:7] == [f"    2. {why.causes[1]} [2.1, I2.d]", f"    3. {why.causes[2]} [7.3, 7.16, I2.d]"]
    assert lines[7:] == [
        "  reproduce: run_job(job, schedule=Schedule(policy='fifo', seed=1, budget_records=4096))",
        "  data: CollectionSource([0, 1])",
    ]


def test_late_record_of_a_key_explains_its_result() -> None:
    run = sums(*IN_TIME, record(("a", 4), 5))
    lines = failed(run, [("a", 5), ("b", 2)], run.values())
    assert lines[1:3] == ["  expected: [('a', 5), ('b', 2)]", "  found:    [('a', 1), ('b', 2)]"]
    assert lines[3].startswith(
        """  why late '["a",4]': Record ["a",4] (timestamp 5 ms), key "a", is late at sums (1/1)"""
    )
    assert [line[:6] for line in lines[4:8]] == ["    1.", "    2.", "    3.", "    4."]
    assert lines[-1] == (
        "  data: ScriptedSource([record(('a', 1), 1), record(('b', 2), 2), watermark(20), record(('a', 4), 5)], gap_ms=10)"
    )


def test_key_without_result_is_explained() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    script = ScriptedSource([record(("b", 2), 12), watermark(15), sleep(1000)])
    keyed = (
        env.add_source(script).key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    )
    keyed.reduce(lambda one, other: (one[0], one[1] + other[1])).name("sums")
    run = run_job(env, until_ms=100)
    found = run.per_key(lambda result: result[0])
    assert found == {}
    lines = failed(run, {"b": [("b", 2)]}, found)
    assert lines[1:4] == [
        "  expected ['b']: [('b', 2)]",
        "  found ['b']:    nothing",
        '  why no-output b: Window [10, 20) of key "b" has not fired at sums (1/1): it has 1 record.',
    ]


def test_long_chain_has_its_nearest_causes_and_its_first() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    ahead = ScriptedSource([record(("b", 1), 30), watermark(20), record(("a", 4), 5)])
    passed = env.add_source(ahead).rebalance().map(lambda pair: pair).set_parallelism(2)
    again = passed.rebalance().map(lambda pair: pair).set_parallelism(1).disable_chaining()
    windows = again.key_by(lambda pair: pair[0]).window(TumblingEventTimeWindows.of(Time.milliseconds(10)))
    windows.reduce(lambda one, other: one).name("firsts")
    run = run_job(env)
    causes = run.why("late").causes
    assert len(causes) > 4
    shown = [line.strip() for line in failed(run, [("a", 4), ("b", 1)], run.values())[4:8]]
    assert [text.partition(".")[0] for text in shown] == ["1", "2", "3", str(len(causes))]
    assert causes[-1] in shown[-1]


def test_record_that_never_was_in_the_input_has_no_cause() -> None:
    run = sums(*IN_TIME)
    lines = failed(run, [("a", 1), ("b", 2), ("c", 3)], run.values())
    assert [line.split()[0] for line in lines[1:]] == ["expected:", "found:", "reproduce:", "data:"]


def test_order_that_no_record_has_is_not_explained() -> None:
    """The test sorted its values; the records kept their order."""
    run = run_job(numbers(1))
    assert not any("why" in line for line in failed(run, [0, 5], [5, 0]))
    of_subtask = run_job(numbers(4), schedule=Schedule(seed=1))
    first, second, *_ = of_subtask.values()
    assert not any("why" in line for line in failed(of_subtask, [first, second], [second, first]))


def test_run_without_facts_has_no_cause() -> None:
    run = run_job(numbers(2), schedule=Schedule(seed=1), level=Level.OFF)
    assert failed(run, [0, 1], run.values())[3] == (
        "  the cause is not known: BadInput: the run has no facts: run_job(..., level=Level.FULL) records them"
    )


def test_claim_takes_a_condition_or_two_values() -> None:
    run = run_job(numbers(3))
    run.claim("all are there", expected=[0, 1, 2], found=sorted(run.values()))  # type: ignore[type-var]
    run.claim("the first is there", True, expected=[0], found=run.values())
    with pytest.raises(BadInput, match=r"claim 'nothing': give a condition, or both expected=\.\.\. and found=\.\.\."):
        run.claim("nothing", found=run.values())
    with pytest.raises(AssertionError, match=r"claim is false: fewer\n  7\n  'seen'\n"):
        run.claim("fewer", False, "seen", found=7)


def test_long_evidence_is_cut_to_twelve_lines() -> None:
    run = run_job(numbers(400), schedule=Schedule(seed=1))
    lines = failed(run, list(range(400)), run.values(), *range(20), "one\ntwo")
    assert len(lines) == MOST_LINES
    assert lines[1].startswith("  expected: [0, 1, 2, 3, 4, 5, 6, 7, ...] (400 values, from position 0)")
    assert lines[3:6] == ["  0", "  1", "  ... and 19 more"]
    assert lines[6].startswith("  why order ")
    assert lines[-1].startswith("  data: CollectionSource([0, 1, 2, ")
    assert not any(line.startswith("  data") for line in failed(run_job(numbers(4_000)), 1, 2))


def test_violated_law_has_evidence_in_words() -> None:
    with pytest.raises(AssertionError) as error:
        assert_laws(numbers(40), faults=[Fault("drop_element"), Fault("lose_record_in_chain")])
    lines = str(error.value).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0] == "law violated: channel-fifo"
    assert lines[3] == "  also: law violated: conservation"
    assert lines[4].startswith("  the element at position 0 of channel 0, record 1, was sent and never received: ")
    assert lines[2].startswith(f"  {len(lines[4:-2])} violations, ")
    assert lines[-2].startswith("  reproduce: run_job(job, schedule=Schedule(policy='fifo', seed=0, ")
    assert lines[-1].startswith("  data: CollectionSource([0, 1, 2, ")


def test_order_that_depends_on_the_schedule_is_explained() -> None:
    with pytest.raises(AssertionError) as error:
        assert_same_output_for_all_schedules(numbers, schedules=[FIFO, Schedule(seed=1)], view=outputs)
    lines = str(error.value).splitlines()
    assert lines[1].startswith("  first ['collected'][0]: [")
    assert lines[2].startswith("  other ['collected'][0]: [")
    assert lines[3].startswith("  why order ")
    assert lines[-3:] == [
        f"  first: run_job(job, schedule={FIFO!r})",
        f"  other: run_job(job, schedule={Schedule(seed=1)!r})",
        "  data: CollectionSource([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])",
    ]


def test_job_that_failed_has_notes_how_to_repeat_it() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 0]).map(lambda n: 1 // n)
    with pytest.raises(Exception, match="ZeroDivisionError") as error:
        assert_laws(env)
    assert error.value.__notes__ == [f"reproduce: run_job(job, schedule={FIFO!r})", "data: CollectionSource([1, 0])"]
