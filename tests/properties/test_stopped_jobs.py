"""Random jobs, stopped or cancelled at random moments: a stop loses nothing, drain flushes, a cancellation is a prefix."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

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
    JobRun,
    RandomJob,
    Schedule,
    SourceStage,
    job_settings,
    random_jobs,
    run_job,
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
            read[names[vertex, 0], int(subtask)] = records_in
    return read


def cut_short(job: RandomJob, run: JobRun) -> RandomJob:
    """The same job over what its sources had read."""
    read = read_by_sources(run)
    sources = tuple(
        SourceStage(
            tuple(numbers[: read.get((f"s{position}", subtask), 0)] for subtask, numbers in enumerate(source.numbers)),
            source.gap_ms,
        )
        for position, source in enumerate(job.sources)
    )
    return replace(job, sources=sources)


@settings(max_examples=examples(25), deadline=None)
@given(random_jobs(parts=st.just(())), schedules(), MOMENTS, st.booleans())
def test_stopped_job_computes_records_read_by_sources(
    job: RandomJob, schedule: Schedule, moment: int, drain: bool
) -> None:
    whole = run_job(job.build(), schedule=schedule)
    run = run_job(job.build(), schedule=schedule, actions=[StopJob(moment_ns(whole, moment), drain)])
    assert run.result.status is JobStatus.FINISHED, run.result.report
    assert {end: Counter(run.values(end)) for end in job.ends} == cut_short(job, run).expected()
    holds(run)


@settings(max_examples=examples(25), deadline=None)
@given(random_jobs(parts=st.just(())), schedules(), MOMENTS)
def test_cancelled_job_has_part_of_expected_output(job: RandomJob, schedule: Schedule, moment: int) -> None:
    whole = run_job(job.build(), schedule=schedule)
    run = run_job(job.build(), schedule=schedule, actions=[CancelJob(moment_ns(whole, moment))])
    if run.result.status is JobStatus.FINISHED:
        assert moment == 1000, "only a job that ends at that very moment outruns it"
    else:
        assert run.result.status is JobStatus.CANCELED
        for end, expected in job.expected().items():
            assert Counter(run.values(end)) <= expected
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
