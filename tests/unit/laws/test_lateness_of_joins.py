"""Law lateness over interval joins that ran: late records are recorded, and one without a trace violates the law."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from flowsim.cluster.job_execution import JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import OutputTag, ProcessJoinFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.facts.kinds import Level
from flowsim.faults.faulty_components import with_faults
from flowsim.graph.stream_graph import StreamGraph
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.recording.memory import MemoryRecorder
from tests.support.faults import Fault


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Any, right: Any, ctx: ProcessJoinFunction.Context) -> Iterable[Any]:
        yield left, right


def job(keeps_left: bool) -> StreamGraph:
    """Two records of each side are behind the watermark 10 of both; what is at 10 is not."""
    env = StreamExecutionEnvironment.get_execution_environment()

    def side(name: str) -> Any:
        entries = [record(("a", 1), 4), watermark(10), sleep(200), *(record(("a", at), at) for at in (9, 10, 3))]
        return env.add_source(ScriptedSource(entries), name).key_by(lambda pair: pair[0], Types.STRING())

    joined = side("left").interval_join(side("right")).between(Duration.of_millis(-2), Duration.of_millis(2))
    late = OutputTag("late")
    if keeps_left:
        joined = joined.side_output_left_late_data(late)
    pairs = joined.process(Pairs()).name("pairs")
    pairs.sink_to(CollectSink()).name("sink")
    if keeps_left:
        pairs.get_side_output(late).sink_to(CollectSink()).name("late sink")
    return env.stream_graph("join")


def judged(keeps_left: bool, *faults: Fault) -> tuple[MemoryRecorder, dict[str, Outcome]]:
    recorder = MemoryRecorder(Level.ELEMENTS)
    result = MiniCluster(job(keeps_left), with_faults(RunOptions(recorder=recorder), faults)).run()
    assert result.status is JobStatus.FINISHED
    return recorder, {outcome.law: outcome for outcome in check_all(recorder, "complete")}


@pytest.mark.parametrize("keeps_left", [False, True])
def test_every_late_record_is_counted_or_sent_to_side_output(keeps_left: bool) -> None:
    recorder, outcomes = judged(keeps_left)
    intakes, drops = list(recorder.rows("window_intake")), list(recorder.rows("late_drop"))
    assert (len(intakes), sorted(row[6] for row in drops)) == (8, [3, 3, 9, 9])
    assert [row[:9] for row in intakes if row[6] < row[8]] == [(row[0] - 1, *row[1:9]) for row in drops]
    assert (outcomes["lateness"].verdict, outcomes["lateness"].rows_examined) == (Verdict.HOLDS, 12)


@pytest.mark.parametrize("keeps_left", [False, True])
def test_late_record_without_trace_violates_lateness(keeps_left: bool) -> None:
    _, outcomes = judged(keeps_left, Fault("late_row_vanishes", operator="pairs"))
    assert {law for law, outcome in outcomes.items() if outcome.verdict is Verdict.VIOLATED} == {"lateness"}
    assert outcomes["lateness"].violations == 1
    assert [(row["what"], row["late"], row["drops"]) for row in outcomes["lateness"].evidence] == [
        ("fewer records were dropped than were late", 4, 3)
    ]
