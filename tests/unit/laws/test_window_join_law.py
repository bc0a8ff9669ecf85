"""Law window-joins over joins and coGroups that ran: the calls of their functions, and violations by faults."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import FlatJoinFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.window import DeltaEvictor, TimeEvictor, TumblingEventTimeWindows
from flowsim.facts.kinds import Level
from flowsim.faults.faulty_components import with_faults
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.operators.windowing.window_joins import Pairs
from flowsim.recording.memory import MemoryRecorder
from flowsim.values.encoding import fingerprint
from flowsim.values.java_long import wrapped
from tests.support.facts.fact_builder import recorded
from tests.support.facts.slicing import BuiltFacts
from tests.support.faults import Fault

END = [sleep(100), watermark(30), sleep(300)]
LEFT: list[Entry] = [record(("k", 1), 1), record(("k", 2), 2), record(("k", 11), 11), *END]
RIGHT: list[Entry] = [record(("k", 5), 5), record(("k", 6), 6), record(("k", 7), 7), *END]
"""Two left and three right records in the window [0, 10), one left one in [10, 20)."""


def joined(
    function: Any, *faults: Fault, evictor: Any = None, grouped: bool = False
) -> tuple[list[Any], MemoryRecorder]:
    """What the sink gets, and the recording."""
    env = StreamExecutionEnvironment.get_execution_environment()
    left, right = env.add_source(ScriptedSource(LEFT), "left"), env.add_source(ScriptedSource(RIGHT), "right")
    both = left.co_group(right) if grouped else left.join(right)
    keyed = both.where(lambda pair: pair[0], Types.STRING()).equal_to(lambda pair: pair[0])
    windows: Any = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(10)))
    sink = CollectSink()
    windows = windows if evictor is None else windows.evictor(evictor)
    windows.apply(function).name("pairs").sink_to(sink).name("sink")
    recorder = MemoryRecorder(Level.ELEMENTS)
    result = MiniCluster(env.stream_graph("join"), with_faults(RunOptions(recorder=recorder), faults)).run()
    assert result.status is JobStatus.FINISHED
    return list(sink.values()), recorder


def outcome(recorder: MemoryRecorder) -> Outcome:
    (found,) = (outcome for outcome in check_all(recorder) if outcome.law == "window-joins")
    return found


def calls(recorder: MemoryRecorder) -> list[tuple[int, ...]]:
    """Window, rows and sums of both sides, calls and sum of products of each row."""
    return [row[6:] for row in recorder.rows("window_joins")]


def pair(left: Any, right: Any) -> tuple[int, int]:
    return left[1], right[1]


def sum_of(*numbers: int) -> int:
    return sum(fingerprint(None, ("k", number)) for number in numbers)


def test_join_records_sides_and_calls() -> None:
    """Rule 10.37: every pair, the left records outside; nothing where one side has no records."""
    pairs, recorder = joined(pair)
    assert pairs == [(1, 5), (1, 6), (1, 7), (2, 5), (2, 6), (2, 7)]
    left, right = sum_of(1, 2), sum_of(5, 6, 7)
    assert calls(recorder) == [
        (0, 10, 2, 3, wrapped(left), wrapped(right), 6, wrapped(left * right)),
        (10, 20, 1, 0, sum_of(11), 0, 0, 0),
    ]
    assert [row[-1] for row in recorder.rows("window_intake") if row[7] == fingerprint(None, ("k", 7))] == [1]
    assert (outcome(recorder).verdict, outcome(recorder).rows_examined) == (Verdict.HOLDS, 6 + 2)


def test_co_group_is_called_once_even_with_empty_side() -> None:
    groups, recorder = joined(lambda left, right: [(len(left), len(right))], grouped=True)
    assert groups == [(2, 3), (1, 0)]
    assert [row[6] for row in calls(recorder)] == [1, 1]
    assert outcome(recorder).verdict is Verdict.HOLDS


def test_flat_join_is_called_once_per_pair() -> None:
    class Odd(FlatJoinFunction):
        def join(self, first: Any, second: Any) -> Any:
            return [second[1]] * first[1] if second[1] % 2 else None

    values, recorder = joined(Odd())
    assert values == [5, 7, 5, 5, 7, 7]
    assert [row[6] for row in calls(recorder)] == [6, 0]
    assert outcome(recorder).verdict is Verdict.HOLDS


def test_sides_are_the_records_left_by_evictor() -> None:
    pairs, recorder = joined(pair, evictor=TimeEvictor.of(Duration.of_millis(6)))
    assert pairs == [(2, 5), (2, 6), (2, 7)]
    assert [row[2:4] for row in calls(recorder)] == [(1, 3), (1, 0)]
    assert outcome(recorder).verdict is Verdict.HOLDS


def test_join_with_delta_evictor_is_not_applicable() -> None:
    evictor = DeltaEvictor.of(100.0, lambda one, other: float(abs(one[1][1] - other[1][1])), False)
    _, recorder = joined(pair, evictor=evictor)
    assert (outcome(recorder).verdict, outcome(recorder).reason) == (
        Verdict.NOT_APPLICABLE,
        "the job has no window join or coGroup that this law checks",
    )


@pytest.mark.parametrize(("fault", "called"), [("window_join_forgets_pair", 5), ("window_join_repeats_pair", 7)])
def test_faulty_join_violates_law(fault: str, called: int) -> None:
    pairs, recorder = joined(pair, Fault(fault, operator="pairs"))
    assert len(pairs) == called
    found = outcome(recorder)
    assert found.verdict is Verdict.VIOLATED
    assert [(row["what"], row["expected_calls"], row["calls"]) for row in found.evidence] == [
        ("a join called its function for other pairs", 6, called)
    ]


def test_wrong_pair_with_correct_number_of_calls_violates(monkeypatch: pytest.MonkeyPatch) -> None:
    """The number of calls is right then; the sum of products is not."""

    def of(self: Pairs, first: Any, second: Any) -> Any:
        found = list(product(first, second))
        return [found[0], *found[:-1]] if found else []

    monkeypatch.setattr(Pairs, "of", of)
    _, recorder = joined(pair)
    assert [row[6] for row in calls(recorder)] == [6, 0]
    assert (outcome(recorder).verdict, outcome(recorder).violations) == (Verdict.VIOLATED, 1)


def test_calls_after_last_cause_may_be_missing_in_prefix() -> None:
    _, recorder = joined(pair)
    facts = recorded(recorder)
    last = facts.rows("window_joins")[-1]
    for table, row in list(facts.facts):
        if "seq" in row and row["task"] == last["task"] and int(row["seq"]) >= int(last["seq"]):
            facts.remove(table, row)
    verdicts = {
        status: next(o for o in check_all(BuiltFacts(facts), status) if o.law == "window-joins").verdict
        for status in ("stopped", "complete")
    }
    assert verdicts == {"stopped": Verdict.HOLDS, "complete": Verdict.VIOLATED}
