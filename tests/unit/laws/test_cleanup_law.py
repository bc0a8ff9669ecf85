"""Law cleanup over windows that ran: missing timers, timers left by merges, and timers that Flink deletes."""

from __future__ import annotations

from typing import Any

import pytest

from flowsim.connectors.script import Entry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    ProcessingTimeoutTrigger,
    TumblingEventTimeWindows,
)
from flowsim.facts.kinds import TimerAction
from flowsim.laws.judge import check_all
from flowsim.laws.law import Outcome, Verdict
from flowsim.testing import run_job
from flowsim.testing.runs import JobRun
from tests.support.faults import Fault

SCRIPT: list[Entry] = [record(("k", at), at) for at in (1, 4, 7)]
TEN = TumblingEventTimeWindows.of(Duration.of_millis(10))
SESSIONS = EventTimeSessionWindows.with_gap(Duration.of_millis(4))


def run(assigner: Any, lateness_ms: int, *faults: Fault, trigger: Any = None, script: list[Entry] = SCRIPT) -> JobRun:
    env = StreamExecutionEnvironment.get_execution_environment()
    keyed = env.add_source(ScriptedSource([*script, watermark(30)])).key_by(lambda pair: pair[0], Types.STRING())
    windows = keyed.window(assigner).allowed_lateness(lateness_ms)
    if trigger is not None:
        windows = windows.trigger(trigger)
    windows.reduce(lambda one, other: other).name("window")
    return run_job(env, faults=faults)


def judged(job: JobRun) -> Outcome:
    (found,) = (outcome for outcome in check_all(job.facts) if outcome.law == "cleanup")
    return found


@pytest.mark.parametrize("assigner", [TEN, SESSIONS])
@pytest.mark.parametrize("lateness_ms", [0, 3])
def test_windows_with_cleanup_timers_satisfy_law(assigner: Any, lateness_ms: int) -> None:
    job = run(assigner, lateness_ms)
    outcome = judged(job)
    assert (outcome.verdict, outcome.violations) == (Verdict.HOLDS, 0)
    assert outcome.rows_examined == 3 + len(job.facts.rows("timers"))


def test_window_without_cleanup_timer_violates_once() -> None:
    outcome = judged(run(TEN, 3, Fault("cleanup_not_registered", operator="window")))
    assert [(row["what"], row["window_start"]) for row in outcome.evidence] == [
        ("state has no timer that removes it", 0)
    ]


def test_each_timer_left_by_merge_violates() -> None:
    outcome = judged(run(SESSIONS, 3, Fault("cleanup_left_at_merge", operator="window")))
    assert [(row["what"], row["window_start"], row["window_end"]) for row in outcome.evidence] == [
        ("a window was merged into another one, but its cleanup timer is still registered", 1, 5),
        ("a window was merged into another one, but its cleanup timer is still registered", 1, 8),
    ]


def test_timeout_trigger_deleting_the_cleanup_timer_does_not_violate() -> None:
    """Rules 10.15 and 10.23: without lateness the nested trigger's timer, which is cleared, is that of the cleanup."""
    script: list[Entry] = [record(("k", 1), 1), sleep(200), record(("k", 2), 2)]
    trigger = ProcessingTimeoutTrigger.of(EventTimeTrigger.create(), Duration.of_millis(5), False, True)
    job = run(TEN, 0, trigger=trigger, script=script)
    assert TimerAction.DELETE in {row[4] for row in job.facts.rows("timers")}
    assert judged(job).verdict is Verdict.HOLDS
