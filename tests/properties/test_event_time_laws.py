"""Random strategies, splits, two inputs and timers: the laws of event time hold for every job, schedule and end."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.run_actions import CancelJob, StopJob
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import Entry, ScriptedSource, end, record, sleep
from flowsim.datastream import KeyedCoProcessFunction, KeyedProcessFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.data_stream import DataStream
from flowsim.laws.law import Verdict
from flowsim.testing import JobRun, Schedule, job_settings, run_job, schedules
from tests.support.examples import examples

pytestmark = pytest.mark.property

LAWS = ("task-watermark", "idle", "timers")
Pair = tuple[str, int]


def first_field(pair: Any) -> object:
    return pair[0]


def remind(value: Pair, ctx: KeyedProcessFunction.Context) -> None:
    """Timers of both domains, now and then one that is due already, one that is deleted, one that is there."""
    timers, (_, number) = ctx.timer_service(), value
    now = ctx.timestamp() or 0
    timers.register_event_time_timer(now + number % 7)
    if number % 3 == 0:
        timers.register_event_time_timer(now - 20)
    if number % 4 == 0:
        timers.delete_event_time_timer(now + (number + 1) % 7)
    if number % 5 == 0:
        timers.register_processing_time_timer(timers.current_processing_time() + number % 11 - 3)
    if number % 6 == 0:
        timers.delete_processing_time_timer(timers.current_processing_time() + 1)


class Reminders(KeyedProcessFunction):
    """What a timer says may ask for another, due or not."""

    def __init__(self, interruptible: bool) -> None:
        self.interruptible = interruptible

    def use_interruptible_timers(self) -> bool:
        return self.interruptible

    def process_element(self, value: Pair, ctx: KeyedProcessFunction.Context) -> Iterable[Pair]:
        remind(value, ctx)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Pair]:
        if timestamp % 4 == 1:
            ctx.timer_service().register_event_time_timer(timestamp + 1 + timestamp % 3)
        yield str(ctx.get_current_key()), timestamp


class RemindersOfTwo(KeyedCoProcessFunction):
    """The same over two inputs."""

    def process_element1(self, value: Pair, ctx: KeyedCoProcessFunction.Context) -> Iterable[Pair]:
        remind(value, ctx)  # type: ignore[arg-type]
        yield value

    def process_element2(self, value: Pair, ctx: KeyedCoProcessFunction.Context) -> Iterable[Pair]:
        remind(value, ctx)  # type: ignore[arg-type]
        return ()

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[Pair]:
        yield str(ctx.get_current_key()), timestamp


@dataclass(frozen=True)
class Strategy:
    kind: str
    bound_ms: int
    idle_ms: int | None

    def build(self) -> WatermarkStrategy:
        made = {
            "monotonous": WatermarkStrategy.for_monotonous_timestamps,
            "bounded": lambda: WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(self.bound_ms)),
            "none": WatermarkStrategy.no_watermarks,
        }[self.kind]()
        return made if self.idle_ms is None else made.with_idleness(Duration.of_millis(self.idle_ms))


STRATEGIES = st.builds(
    Strategy, st.sampled_from(["bounded", "monotonous", "bounded", "none"]), st.integers(0, 12),
    st.sampled_from([None, None, 15, 60]),
)  # fmt: skip


@st.composite
def scripts(draw: st.DrawFn) -> ScriptedSource:
    """Records, pauses longer and shorter than a timeout, and perhaps splits of which some end early."""
    made = []
    for _ in range(draw(st.integers(1, 2))):
        splits = draw(st.sampled_from([(None,), (None,), ("p0", "p1"), ("p0", "p1", "p2")]))
        script: list[Entry] = []
        gone: set[str | None] = set()
        for number in range(draw(st.integers(0, 12))):
            split = draw(st.sampled_from(splits))
            what = draw(st.sampled_from(["record", "record", "record", "sleep", "end"]))
            if what == "sleep":
                script.append(sleep(draw(st.sampled_from([1, 7, 40, 200]))))
            elif what == "end" and split is not None and split not in gone and len(gone) < len(splits) - 1:
                gone.add(split)
                script.append(end(split=split))
            elif split not in gone:
                value = (draw(st.sampled_from("abcd")), number)
                script.append(record(value, draw(st.integers(-5, 60)) + 3 * number, split=split))
        made.append(script)
    return ScriptedSource(*made, gap_ms=5)


@dataclass(frozen=True)
class Job:
    first: ScriptedSource
    second: ScriptedSource | None
    strategies: tuple[Strategy, Strategy]
    between: Strategy | None
    narrow: str
    interruptible: bool
    interval_ms: int
    settings: dict[str, int]

    def build(self) -> StreamExecutionEnvironment:
        env = StreamExecutionEnvironment.get_execution_environment().configure(
            **self.settings, auto_watermark_interval_ms=self.interval_ms, interruptible_timers=self.interruptible
        )
        first = self._stream(env, self.first, self.strategies[0]).key_by(first_field, Types.STRING())
        if self.second is None:
            made = first.process(Reminders(self.interruptible))
        else:
            second = self._stream(env, self.second, self.strategies[1]).key_by(first_field, Types.STRING())
            made = first.connect(second).process(RemindersOfTwo())
        made.name("reminders").rebalance().sink_to(CollectSink()).name("sink")
        return env

    def _stream(self, env: StreamExecutionEnvironment, source: ScriptedSource, strategy: Strategy) -> DataStream:
        stream = env.from_source(source, strategy.build(), "source")
        if self.narrow == "map":
            stream = stream.map(lambda pair: pair)
        elif self.narrow == "filter":
            stream = stream.filter(lambda pair: int(pair[1]) % 3 != 1)
        if self.between is not None:
            stream = stream.rebalance().map(lambda pair: pair)
            stream = stream.assign_timestamps_and_watermarks(self.between.build())
        return stream


JOBS = st.builds(
    Job, scripts(), st.none() | scripts(), st.tuples(STRATEGIES, STRATEGIES), st.none() | STRATEGIES,
    st.sampled_from(["", "map", "filter"]), st.booleans(), st.sampled_from([4, 10, 50]), job_settings(),
)  # fmt: skip


SPLIT_THAT_ENDS_EARLY = Job(
    first=ScriptedSource([end(split="p0"), sleep(40), record(("a", 4), 12, split="p1"), sleep(40)], gap_ms=5),
    second=None,
    strategies=(Strategy("none", 0, 60), Strategy("none", 0, None)),
    between=None,
    narrow="",
    interruptible=False,
    interval_ms=4,
    settings={},
)
"""The source is idle 28 ms after the only record: its split had ended, and the operator itself had no record."""


def violated(run: JobRun) -> list[object]:
    return [outcome for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED]


@settings(max_examples=examples(80), deadline=None)
@given(JOBS, schedules())
@example(SPLIT_THAT_ENDS_EARLY, Schedule("fifo", 0, 4096))
def test_event_time_laws_hold(job: Job, schedule: Schedule) -> None:
    run = run_job(job.build(), schedule=schedule)
    assert run.result.status is JobStatus.FINISHED, run.result.report
    assert violated(run) == []
    verdicts = {outcome.law: outcome.verdict for outcome in run.outcomes}
    assert {verdicts[law] for law in LAWS} == {Verdict.HOLDS}


@settings(max_examples=examples(50), deadline=None)
@given(JOBS, schedules(), st.integers(0, 1000), st.sampled_from(["stop", "drain", "cancel"]))
def test_event_time_laws_hold_for_every_end_of_job(job: Job, schedule: Schedule, moment: int, how: str) -> None:
    whole = run_job(job.build(), schedule=schedule)
    at_ns = whole.result.elapsed_ns * moment // 1000
    actions = {"stop": StopJob(at_ns), "drain": StopJob(at_ns, True), "cancel": CancelJob(at_ns)}
    run = run_job(job.build(), schedule=schedule, actions=[actions[how]])
    assert violated(run) == []
