"""Windows beyond the smallest or largest timestamp wrap around as Java's longs do, and the laws hold for them."""

from __future__ import annotations

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, record, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Types
from flowsim.datastream.window import DynamicEventTimeSessionWindows, SessionWindowTimeGapExtractor
from flowsim.facts.kinds import Level
from flowsim.facts.schema import TABLES
from flowsim.testing import assert_laws, run_job
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from tests.support.jobs.window_forms import Damaged, by_definition, by_machines, by_machines_in_epochs
from tests.support.jobs.window_scenarios import ASSIGNERS, EVICTORS, TRIGGERS, accepted, window_scenario

LAST, FIRST = MAX_WATERMARK, NO_TIMESTAMP + 1
ENDS: dict[str, tuple[Entry, ...]] = {
    "the greatest": (
        record(("a", 1), LAST - 30), record(("b", 5), LAST - 3), watermark(LAST - 20), record(("a", 3), LAST - 2),
        record(("b", 1), LAST), record(("a", 6), LAST - 25), record(("a", 0), LAST - 4), watermark(LAST - 3),
        record(("b", 2), LAST), record(("b", 2), LAST - 30),
    ),
    "the least": (
        record(("a", 1), FIRST), record(("b", 5), FIRST + 2), watermark(FIRST + 1), record(("a", 3), FIRST),
        record(("b", 1), FIRST + 9), record(("a", 6), FIRST + 25), watermark(FIRST + 7), record(("b", 2), FIRST + 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("assigner", [name for name in ASSIGNERS if "clock" not in name])
def test_laws_hold_at_both_ends_of_time_for_every_trigger(assigner: str, end: str) -> None:
    # One that fires every few ms of a window whose last ms is the greatest of all begins again at the least, as in Flink.
    triggers = [name for name in TRIGGERS if accepted(assigner, name) and not name.startswith("every 4 ms")]
    jobs = [window_scenario(assigner, trigger, [ENDS[end]], late_output=True) for trigger in triggers]
    jobs += [
        window_scenario(assigner, triggers[0], [ENDS[end]], evictor=evictor, lateness_ms=9) for evictor in EVICTORS
    ]
    for job in jobs:
        facts = Damaged(assert_laws(job, must_examine=("conservation",)).facts)
        expected = by_definition(facts, True)
        assert not any(violations for _, violations in expected.values())
        assert by_machines(facts, True) == by_machines_in_epochs(facts, True, 4, seed=1) == expected


class _GreatGap(SessionWindowTimeGapExtractor):
    def __init__(self, gap_ms: int) -> None:
        self.gap_ms = gap_ms

    def extract(self, element: object) -> int:
        return self.gap_ms


def _sessions_of(gap_ms: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    numbers = env.add_source(ScriptedSource((record(3, 30), record(4, 31))))
    windows = numbers.key_by(str, Types.STRING()).window(DynamicEventTimeSessionWindows(_GreatGap(gap_ms)))
    windows.reduce(lambda one, other: one).sink_to(CollectSink())
    return env


def test_largest_gap_is_recorded_and_its_session_wraps_around() -> None:
    run = assert_laws(_sessions_of(MAX_WATERMARK).stream_graph("sessions"))
    gap = TABLES["window_intake"].names.index("gap")
    assert {row[gap] for row in run.facts.rows("window_intake")} == {MAX_WATERMARK}


@pytest.mark.parametrize("level", [Level.OFF, Level.FULL])
def test_gap_beyond_64_bits_is_refused_at_every_level(level: Level) -> None:
    result = run_job(_sessions_of(MAX_WATERMARK + 1).stream_graph("sessions"), level=level).result
    assert "expected the gap extractor to return 1 to 2**63 - 1 ms" in str(result.error)
