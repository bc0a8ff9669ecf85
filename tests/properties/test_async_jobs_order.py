"""Pipelines with an async operator equal the same pipelines with immediate results: order, windows, timers, the end.

The scripts have one subtask, so its records and watermarks reach the operator in one order under every schedule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from flowsim.cluster.job_execution import JobStatus
from flowsim.connectors.script import IdleEntry, ScriptedSource, record, sleep, watermark
from flowsim.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Time
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.facts.kinds import AsyncAction
from flowsim.laws.law import Verdict
from flowsim.operators.stream_operator import StreamOperator
from flowsim.testing import JobRun, Schedule, job_settings, run_job, schedules, scripted_sources
from flowsim.testing.async_calls import Answer, AsyncStep, Retry
from flowsim.testing.async_strategies import async_steps
from flowsim.units import MAX_WATERMARK
from tests.support.examples import examples
from tests.support.faults import Fault
from tests.support.jobs.async_facts import calls_of, facts_of

pytestmark = pytest.mark.property

UNTIL_ALL_IS_ANSWERED_MS = 3_000_000
"""A pause before the end of the input, because there are no retries after the end (rule 11.27)."""
SCRIPTS = scripted_sources(max_subtasks=1, min_entries=4, max_entries=20, max_sleep_ms=60)
STEPS = (
    st.lists(async_steps(silent_retries=True), min_size=1, max_size=1)
    | st.lists(async_steps(tries_again=False), min_size=2, max_size=3)
    | st.lists(async_steps(designs=("legacy",)), min_size=1, max_size=2)
)
"""One that may try again without an answer, or several in a row, of one design, in which no element waits long."""

Seen = list[tuple[object, ...]]
Shape = Callable[[DataStream, list[AsyncStep], bool], DataStream]


def called(stream: DataStream, steps: list[AsyncStep], at_once: bool, parallelism: int | None = None) -> DataStream:
    """Behind ``steps``, or behind what they come to."""
    for step in steps:
        stream = step.synchronously_behind(stream) if at_once else step.behind(stream)
        if parallelism is not None:
            stream.set_parallelism(parallelism)
    return stream


def with_last_pause(source: ScriptedSource, steps: list[AsyncStep]) -> ScriptedSource:
    """Where calls are tried again the input stays open until all is answered, and all timers have fired before."""
    if all(step.retry is None for step in steps):
        return source
    last = (watermark(1_000_000), sleep(UNTIL_ALL_IS_ANSWERED_MS))
    return ScriptedSource(*([*script, *last] for script in source.scripts))


def settings_for(steps: list[AsyncStep], conf: dict[str, int], **others: int) -> dict[str, int]:
    """Buffers that are not flushed would arrive only at the end of the input."""
    flushed = {"buffer_timeout_ms": 100} if any(step.retry is not None for step in steps) else {}
    return {**conf, **flushed, **others}


def without_idleness(source: ScriptedSource) -> ScriptedSource:
    """A status overtakes what is queued (rule 11.3), and then a watermark is not heard that comes behind IDLE."""
    return ScriptedSource(
        *([entry for entry in script if not isinstance(entry, IdleEntry)] for script in source.scripts)
    )


class Probe(StreamOperator):
    """Notes records and watermarks."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        self.seen.append(("rec", value, timestamp))
        self.output.collect(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.seen.append(("wm", timestamp))
        self.output.emit_watermark(timestamp)


def probed(
    source: ScriptedSource, steps: list[AsyncStep], conf: dict[str, int], schedule: Schedule, at_once: bool,
    faults: Iterable[str] = (),
) -> tuple[JobRun, Seen]:  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment().configure(
        None, **settings_for(steps, conf, parallelism=1)
    )
    seen: Seen = []
    behind = called(env.add_source(with_last_pause(without_idleness(source), steps)), steps, at_once)
    behind.transform("probe", lambda: Probe(seen))
    run = run_job(env, schedule=schedule, faults=[Fault(name) for name in faults])
    return run, seen


def between_watermarks(seen: Seen) -> list[object]:
    """The watermarks in order, and how often which record comes between two of them."""
    parts: list[object] = [Counter()]
    for element in seen:
        if element[0] == "wm":
            parts += [element, Counter()]
        else:
            parts[-1][element] += 1  # type: ignore[index]
    return parts


def check_order(
    source: ScriptedSource, steps: list[AsyncStep], conf: dict[str, int], schedule: Schedule,
    faults: Iterable[str] = (),
) -> None:  # fmt: skip
    run, seen = probed(source, steps, conf, schedule, at_once=False, faults=faults)
    _, expected = probed(source, steps, conf, schedule, at_once=True)
    run.claim("the job finishes", run.result.status is JobStatus.FINISHED, run.result.report)
    if all(step.mode == "ordered" for step in steps):
        run.claim("everything comes out in the order of the input", seen == expected, seen, expected)
    run.claim(
        "between two watermarks comes what must come there", between_watermarks(seen) == between_watermarks(expected),
        seen, expected,
    )  # fmt: skip
    check_laws(run)


def check_laws(run: JobRun) -> None:
    violated = [outcome.law for outcome in run.outcomes if outcome.verdict is Verdict.VIOLATED]
    run.claim("every law holds", not violated, violated)


@settings(max_examples=examples(60), deadline=None)
@given(source=SCRIPTS, steps=STEPS, conf=job_settings(), schedule=schedules())
def test_output_keeps_order_or_order_between_watermarks(
    source: ScriptedSource, steps: list[AsyncStep], conf: dict[str, int], schedule: Schedule
) -> None:
    check_order(source, steps, conf, schedule)


SLOW_THEN_FAST = (Answer(9_000), Answer(30), Answer(2_000, "two"), Answer(0), Answer(500, "none"))
BUSY = ScriptedSource(
    [
        entry
        for number in range(6)
        for entry in (
            record(("a", number), 10 * number),
            record(("b", number + 50), 10 * number),
            watermark(10 * number),
        )
    ]
)


@pytest.mark.parametrize(
    ("mode", "fault"),
    [
        ("unordered", "async_watermark_overtakes"), ("ordered", "async_watermark_overtakes"),
        ("ordered", "async_out_of_order"), ("ordered", "async_head_lost"), ("unordered", "async_head_lost"),
        ("unordered", "async_emits_twice"), ("unordered", "async_results_swapped"), ("ordered", "async_emits_unfinished"),
        ("ordered", "async_emits_after_end"), ("unordered", "async_segment_dropped"),
        ("unordered", "async_outcome_forgotten"), ("ordered", "async_element_not_put"),
        ("ordered", "async_watermark_withheld"),
    ],
)  # fmt: skip
def test_fault_makes_the_order_property_fail(mode: Any, fault: str) -> None:
    steps = [AsyncStep(mode, 4, SLOW_THEN_FAST)]
    check_order(BUSY, steps, {}, Schedule())
    with pytest.raises(AssertionError, match=f"reproduce: .*{fault}"):
        check_order(BUSY, steps, {}, Schedule(), [fault])


# Windows and timers.

LATE = OutputTag("late")


class Contents(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[object]:
        yield (key, context.window().start, tuple(element[1] for element in elements), context.current_watermark())


class Later(KeyedProcessFunction):
    """A record, and another one 5 ms of event time later."""

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[object]:
        ctx.timer_service().register_event_time_timer((ctx.timestamp() or 0) + 5)
        yield value

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[object]:
        yield (ctx.get_current_key(), timestamp % 1000)


def first(value: Any) -> Any:
    return value[0]


def windows(stream: DataStream, steps: list[AsyncStep], at_once: bool) -> DataStream:
    """An async operator, an exchange, windows."""
    windowed = called(stream, steps, at_once, parallelism=1).key_by(first).window(TumblingEventTimeWindows.of(Time(10)))
    out = windowed.side_output_late_data(LATE).process(Contents()).name("windows")
    out.get_side_output(LATE).map(lambda value: value).name("late")
    return out.map(lambda value: value).name("out")


def timers(stream: DataStream, steps: list[AsyncStep], at_once: bool) -> DataStream:
    """An exchange, timers, an async operator in the same chain, and another exchange."""
    timed = stream.key_by(first).process(Later())
    behind = called(timed, steps, at_once).name("late")
    return behind.rebalance().map(lambda value: value).name("out")


def ends(
    source: ScriptedSource, steps: list[AsyncStep], conf: dict[str, int], schedule: Schedule, shape: Shape, at_once: bool
) -> JobRun:  # fmt: skip
    env = StreamExecutionEnvironment.get_execution_environment().configure(None, **settings_for(steps, conf))
    stream = env.add_source(with_last_pause(without_idleness(source), steps))
    shape(stream, steps, at_once)
    return run_job(env, schedule=schedule)


def rows(run: JobRun, *, ordered: bool) -> dict[str, Counter[object]]:
    """How often each came; of an unordered operator it is not determined in which order windows hold their rows."""
    found: dict[str, Counter[object]] = {}
    for end in run.ends:
        values: list[Any] = run.values(end)
        if not ordered:
            values = [(*value[:2], tuple(sorted(value[2])), value[3]) if len(value) == 4 else value for value in values]
        found[end] = Counter(values)
    return found


@pytest.mark.parametrize("shape", [windows, timers])
@settings(max_examples=examples(40), deadline=None)
@given(source=SCRIPTS, steps=STEPS, conf=job_settings(max_parallelism=2), schedule=schedules())
def test_windows_and_timers_equal_those_of_immediate_results(
    shape: Shape, source: ScriptedSource, steps: list[AsyncStep], conf: dict[str, int], schedule: Schedule
) -> None:
    """Late rows too: a record passes no watermark, so it is late for a window exactly where it would have been."""
    run = ends(source, steps, conf, schedule, shape, at_once=False)
    expected = ends(source, steps, conf, schedule, shape, at_once=True)
    run.claim("the job finishes", run.result.status is JobStatus.FINISHED, run.result.report)
    ordered = all(step.mode == "ordered" for step in steps)
    mine, theirs = rows(run, ordered=ordered), rows(expected, ordered=ordered)
    run.claim("all windows and late rows are what they must be", mine == theirs, mine, theirs)
    check_laws(run)


# The end of the input, while calls wait to be tried again.


def check_end(pauses_ms: list[int], step: AsyncStep, schedule: Schedule, faults: Iterable[str] = ()) -> None:
    """One result or none for each number, so a result tells of which number and which attempt it is."""
    env = StreamExecutionEnvironment.get_execution_environment()
    script = [entry for number, ms in enumerate(pauses_ms) for entry in (sleep(ms), record(number, None))]
    step.behind(env.add_source(ScriptedSource(script))).name("asked")
    run = run_job(env, schedule=schedule, faults=[Fault(name) for name in faults])
    run.claim("the job finishes", run.result.status is JobStatus.FINISHED, run.result.report)
    assert step.retry is not None
    came = Counter(run.values("asked"))
    timed_out = {fact.element for fact in facts_of(run) if fact.action is AsyncAction.TIMEOUT}
    for number, (element, attempts) in enumerate(calls_of(run).items()):
        run.claim("calls are numbered", attempts == list(range(1, len(attempts) + 1)), attempts)
        # One more at the end, even beside the last one that is under way, or for nothing (rules 11.27, 11.28).
        most = step.retry.max_attempts + 2
        run.claim("no more are made than allowed", len(attempts) <= most, attempts)
        # At the end a call is made beside one that is under way, and whichever is answered first counts.
        possible = [step.timed_out(number)] if element in timed_out else []
        possible += [step.reply(number, attempt).results for attempt in attempts if element not in timed_out]
        found = [result for results in possible for result in results if came[result] > 0]
        run.claim(f"{number} has the answer of one of its calls", found[:1] in map(list, possible), possible, came)
        came -= Counter(found[:1])
    run.claim("nothing else comes out", not came, came)
    check_laws(run)


PATIENT = Retry(2, 45, on_empty=True, on_error=False)
SOME_EMPTY = AsyncStep(
    "unordered", 5, (Answer(900, "none"), Answer(30_000), Answer(20)), timeout_ms=20_000, retry=PATIENT
)
PAUSES_MS = [1, 1, 1, 1, 40, 1, 1, 1, 1]


@settings(max_examples=examples(40), deadline=None)
@given(
    pauses_ms=st.lists(st.sampled_from([1, 10, 50]), max_size=14),
    step=async_steps(tries_again=True, silent_retries=True),
    schedule=schedules(),
)
@example(pauses_ms=PAUSES_MS, step=SOME_EMPTY, schedule=Schedule())
def test_end_of_input_calls_waiting_elements_once_more(
    pauses_ms: list[int], step: AsyncStep, schedule: Schedule
) -> None:
    """No errors: one that would have been tried again is final now, and fails the job."""
    outcomes = {"error": "none", "two": "one"}
    answers = tuple(replace(answer, outcome=outcomes.get(answer.outcome, answer.outcome)) for answer in step.answers)
    assert step.retry is not None
    retry = replace(step.retry, on_empty=True, on_error=False)
    check_end(pauses_ms, replace(step, answers=answers, retry=retry), schedule)


@pytest.mark.parametrize(
    "fault", ["async_calls_again", "async_head_lost", "async_results_swapped", "async_emits_twice"]
)
def test_fault_makes_the_end_property_fail(fault: str) -> None:
    check_end(PAUSES_MS, SOME_EMPTY, Schedule())
    with pytest.raises(AssertionError, match=f"reproduce: .*{fault}"):
        check_end(PAUSES_MS, SOME_EMPTY, Schedule(), [fault])


def test_last_watermark_is_emitted_last() -> None:
    run, seen = probed(BUSY, [AsyncStep("unordered", 3, SLOW_THEN_FAST)], {}, Schedule(), at_once=False)
    assert seen[-1] == ("wm", MAX_WATERMARK), run.reproduce
