"""Random jobs, stopped or cancelled at random moments: a stop loses nothing, drain flushes, a cancellation is a prefix."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import CancelJob, StopJob
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.facts.kinds import ElementKind, LifeEvent
from flowsim.laws.law import Verdict
from flowsim.legacy.source_function import LegacySource
from flowsim.testing import (
    DrawnScenario,
    JobRun,
    Schedule,
    job_settings,
    run_job,
    scenarios,
    schedules,
    scripted_sources,
)
from flowsim.units import MAX_WATERMARK
from tests.support.examples import examples
from tests.support.jobs.fixed_jobs import WINDOW_MS, Contents, environment, exchange

pytestmark = pytest.mark.property

MOMENTS = st.integers(0, 1000)
"""In thousandths of the time that the job takes when it is left alone."""


def windows(source: ScriptedSource, given_settings: dict[str, int]) -> StreamExecutionEnvironment:
    """Windows per key, behind an exchange."""
    env = environment(given_settings)
    keyed = env.add_source(source).key_by(lambda pair: pair[0], Types.STRING())
    fired = keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(WINDOW_MS))).process(Contents())
    fired.sink_to(CollectSink()).name("fired")
    return env


def moment_ns(whole: JobRun, moment: int) -> int:
    return whole.result.elapsed_ns * moment // 1000


def holds(run: JobRun) -> None:
    assert [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED] == []


def read_by_sources(run: JobRun) -> dict[tuple[str, int], int]:
    """Records that each source subtask read, by name and subtask."""
    tasks = {row[0]: (row[1], row[4]) for row in run.facts.static_rows("tasks")}
    names = {(row[0], row[1]): str(row[2]) for row in run.facts.static_rows("operators")}
    read = {}
    for _, task, operator, _, records_in, *_ in run.facts.rows("operator_counts"):
        vertex, subtask = tasks[task]
        if operator == 0:
            read[names[vertex, 0].removeprefix("Source: "), int(subtask)] = records_in
    return read


def undisturbed(job: DrawnScenario) -> DrawnScenario:
    """The same job without what happens to it."""
    return DrawnScenario({key: part for key, part in job.data.items() if key not in ("actions", "failures", "pauses")})


def is_read_in_order(job: DrawnScenario) -> bool:
    """Whether each source subtask reads its own script from the beginning, and no operator reads one input first."""
    words = ("assignment: dynamic", "alignment:", "read: ", "generator:", "collection:")
    return not any(word in job.yaml for word in words)


JOBS = scenarios(["plain"]).map(undisturbed).filter(lambda job: bool(job.expected) and is_read_in_order(job))


def cut_short(job: DrawnScenario, run: JobRun) -> DrawnScenario:
    """The same job over what its sources had read."""
    read, data = read_by_sources(run), deepcopy(dict(job.data))
    sources: dict[str, Any] = data["sources"]  # type: ignore[assignment]
    for name, block in sources.items():
        for subtask, entries in enumerate(block["script"]["subtasks"]):
            records = [at for at, entry in enumerate(entries) if "record" in entry]
            del entries[[*records, len(entries)][read.get((name, subtask), 0)] :]
    return DrawnScenario(data)


def windows_before(job: DrawnScenario, sink: str) -> bool:
    """Whether a sink is behind a window, which fires at the end of its input."""
    nodes: dict[str, Any] = job.data["operators"] | job.data["sinks"]  # type: ignore[operator]
    if sink not in nodes:
        return False
    block = nodes[sink]
    names = [block["input"], block.get("connect", {}).get("to", [])]
    before = [name for each in names for name in (each if isinstance(each, list) else [each])]
    return "window" in block or any(windows_before(job, name) for name in before)


@settings(max_examples=examples(25), deadline=None)
@given(JOBS, schedules(), MOMENTS, st.booleans())
def test_stopped_job_computes_records_read_by_sources(
    job: DrawnScenario, schedule: Schedule, moment: int, drain: bool
) -> None:
    whole = run_job(job.build(), schedule=schedule)
    run = run_job(job.build(), schedule=schedule, actions=[StopJob(moment_ns(whole, moment), drain)])
    assert run.result.status is JobStatus.FINISHED, run.result.report
    for sink, expected in cut_short(job, run).expected.items():
        if drain or not windows_before(job, sink):
            assert Counter(run.values(sink)) == expected
    holds(run)


@settings(max_examples=examples(25), deadline=None)
@given(JOBS, schedules(), MOMENTS)
def test_cancelled_job_has_part_of_expected_output(job: DrawnScenario, schedule: Schedule, moment: int) -> None:
    whole = run_job(job.build(), schedule=schedule)
    run = run_job(job.build(), schedule=schedule, actions=[CancelJob(moment_ns(whole, moment))])
    if run.result.status is JobStatus.FINISHED:
        assert moment == 1000, "only a job that ends at that very moment outruns it"
    else:
        assert run.result.status is JobStatus.CANCELED
        for sink, expected in job.expected.items():
            assert Counter(run.values(sink)) <= expected
    holds(run)


@settings(max_examples=examples(25), deadline=None)
@given(scripted_sources(), job_settings(), schedules(), MOMENTS, st.booleans())
def test_only_drained_job_flushes_windows(
    source: ScriptedSource, given_settings: dict[str, int], schedule: Schedule, moment: int, drain: bool
) -> None:
    """Rule 4.10. A task whose sources had all ended before the stop was drained like any other."""
    whole = run_job(windows(source, given_settings), schedule=schedule)
    run = run_job(
        windows(source, given_settings), schedule=schedule, actions=[StopJob(moment_ns(whole, moment), drain)]
    )
    holds(run)
    stopped = {row[1] for row in run.facts.rows("lifecycle") if row[4] == LifeEvent.STOP_NO_DRAIN}
    flushed = {row[1] for row in run.facts.rows("sent") if row[5] == ElementKind.WATERMARK and row[6] == MAX_WATERMARK}
    assert not stopped & flushed
    if stopped:
        finished = {row[1] for row in run.facts.rows("lifecycle") if row[4] == LifeEvent.FINISH}
        assert not stopped & finished
        # Rule 8.10: behind an idle channel the last watermark of a source that had ended fires windows.
        if not any(row[5] == ElementKind.STATUS for row in run.facts.rows("sent")):
            assert all(row[8] != MAX_WATERMARK for row in run.facts.rows("window_fire")), "no window fires for the end"


@settings(max_examples=examples(25), deadline=None)
@given(
    scripted_sources(min_entries=3, max_entries=14), job_settings(), schedules(),
    st.sampled_from(["hash", "rebalance", "broadcast"]), MOMENTS, st.sampled_from(["input", "stop", "drain", "cancel"]),
)  # fmt: skip
def test_legacy_source_satisfies_laws_for_every_end_of_job(
    source: ScriptedSource, given_settings: dict[str, int], schedule: Schedule, how: str, moment: int, end: str
) -> None:
    def job() -> StreamExecutionEnvironment:
        return exchange(LegacySource(source), how, given_settings)  # type: ignore[arg-type]

    whole = run_job(job(), schedule=schedule)
    holds(whole)
    at_ns = moment_ns(whole, moment)
    actions = {"input": (), "stop": (StopJob(at_ns),), "drain": (StopJob(at_ns, True),), "cancel": (CancelJob(at_ns),)}
    run = run_job(job(), schedule=schedule, actions=actions[end])  # type: ignore[arg-type]
    holds(run)
    arrived = Counter(map(repr, run.values("arrived")))
    assert arrived <= Counter(map(repr, whole.values("arrived")))
    if end == "input":
        assert run.facts.facts_digest() == whole.facts.facts_digest()
