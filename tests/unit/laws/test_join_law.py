"""Law joins over interval joins that ran: records at the bounds, removed records, and violations by faults."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import ProcessJoinFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.facts.kinds import Level
from flowsim.faults.faulty_components import with_faults
from flowsim.laws.catalogue import LAWS
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.facts.fact_builder import recorded
from tests.support.facts.slicing import BuiltFacts, judged_in_slices
from tests.support.faults import Fault

PAUSE = sleep(300)
LEFT: list[Entry] = [record(("k", 10), 10), watermark(10), PAUSE, watermark(14), PAUSE, PAUSE]
"""A left record at 10; the watermark is at 10, then at 14."""


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        yield left[1], right[1]


class Interruptible(Pairs):
    def use_interruptible_timers(self) -> bool:
        return True


def run(
    left: list[Entry], right: list[Entry], upper_ms: int, *faults: Fault, function: ProcessJoinFunction | None = None
) -> tuple[list[Any], MemoryRecorder]:
    """What is joined from 1 ms before to ``upper_ms`` behind a left record, and the facts."""
    env = StreamExecutionEnvironment.get_execution_environment().configure(interruptible_timers=True)
    one, other = (
        env.add_source(ScriptedSource(entries), name).key_by(lambda pair: pair[0], Types.STRING())
        for name, entries in (("left", left), ("right", right))
    )
    between = one.interval_join(other).between(Duration.of_millis(-1), Duration.of_millis(upper_ms))
    sink = CollectSink()
    between.process(function or Pairs()).name("pairs").sink_to(sink).name("sink")
    recorder = MemoryRecorder(Level.ELEMENTS)
    result = MiniCluster(env.stream_graph("join"), with_faults(RunOptions(recorder=recorder), faults)).run()
    assert result.status is JobStatus.FINISHED
    return list(sink.values()), recorder


def judged(
    left: list[Entry], right: list[Entry], upper_ms: int, *faults: Fault, function: ProcessJoinFunction | None = None
) -> tuple[list[Any], Outcome]:
    """What is joined, and what the law finds."""
    pairs, recorder = run(left, right, upper_ms, *faults, function=function)
    (found,) = (outcome for outcome in check_all(recorder) if outcome.law == "joins")
    return pairs, found


def right(*times: int) -> list[Entry]:
    """Right records while the watermark is at 10."""
    return [watermark(10), sleep(100), *(record(("k", at), at) for at in times), PAUSE, watermark(14), PAUSE, PAUSE]


def test_records_at_bounds_are_joined() -> None:
    pairs, outcome = judged(LEFT, right(10, 14, 15), 4)
    assert pairs == [(10, 10), (10, 14)]
    assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, 4 + 2)


def test_record_at_its_bound_is_removed_when_watermark_arrives() -> None:
    """Rule 10.36: the right record at 14 is not late, but the left one has left its buffer."""
    late = [watermark(14), sleep(600), record(("k", 14), 14)]
    pairs, outcome = judged(LEFT, late, 4)
    assert pairs == []
    assert (outcome.verdict, outcome.rows_examined) == (Verdict.HOLDS, 2)


@pytest.mark.parametrize(
    ("fault", "what"),
    [
        ("join_forgets_bound", "a pair was not joined"),
        ("join_repeats_pair", "a pair was joined again, or should not be joined"),
    ],
)
def test_faulty_join_violates_law(fault: str, what: str) -> None:
    _, outcome = judged(LEFT, right(14), 4, Fault(fault, operator="pairs"))
    assert (outcome.verdict, outcome.violations) == (Verdict.VIOLATED, 1)
    assert (outcome.evidence[0]["what"], outcome.evidence[0]["timestamp"]) == (what, 14)


def test_other_recorded_watermark_violates_law() -> None:
    facts = recorded(run(LEFT, right(14), 4)[1])
    facts.rows("window_intake")[-1]["watermark"] = 9
    outcome = judged_in_slices(BuiltFacts(facts), LAWS)["joins"]
    assert [row["what"] for row in outcome.evidence] == ["the recorded watermark is not the watermark of the task"]


def test_join_with_interruptible_timers_is_not_applicable() -> None:
    pairs, outcome = judged(LEFT, right(14), 4, function=Interruptible())
    assert pairs == [(10, 14)]
    assert (outcome.verdict, outcome.reason) == (
        Verdict.NOT_APPLICABLE,
        "the job has no interval join that this law checks",
    )
