"""The window operators beside the real WindowOperator and EvictingWindowOperator, as both builders make them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flowsim.datastream.building.window_operator_builder import WindowOperatorBuilder
from flowsim.datastream.common.time import Duration
from flowsim.datastream.functions import AggregateFunction, ProcessWindowFunction, ReduceFunction
from flowsim.datastream.output_tag import OutputTag
from flowsim.datastream.window import (
    AnyOfTrigger,
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountEvictor,
    CountTrigger,
    DeltaEvictor,
    DeltaTrigger,
    DynamicEventTimeSessionWindows,
    DynamicProcessingTimeSessionWindows,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeoutTrigger,
    ProcessingTimeSessionWindows,
    ProcessingTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    SlidingProcessingTimeWindows,
    TimeEvictor,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flowsim.errors import BadInput, InvariantViolation
from flowsim.facts.kinds import Level
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.windowing.assigners.tumbling_windows import WindowStagger
from flowsim.operators.windowing.assigners.window_assigner import WindowAssigner, is_merging
from flowsim.operators.windowing.evictors import Evictor
from flowsim.operators.windowing.triggers.trigger import OnMergeContext, Trigger, TriggerContext, TriggerResult
from flowsim.operators.windowing.window_operator import WindowOperator
from flowsim.operators.windowing.windows import MergeCallback, TimeWindow, Window
from flowsim.recording.memory import MemoryRecorder
from flowsim.state.descriptors import ReducingStateDescriptor, ValueStateDescriptor
from flowsim.streamrecord.output import Output
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP
from flowsim.values.types import Types
from tests.support.flink.machine import Differential

Described = list[Any]
Case = dict[str, Any]

ERRORS = {
    "UnsupportedOperationException": BadInput,
    "RuntimeException": BadInput,
    "IllegalStateException": InvariantViolation,
}
"""A time evictor that finds a record without timestamp among others with one raises BadInput instead."""
LATE, SIDE = OutputTag("late", Types.LONG()), OutputTag("side", Types.STRING())
FIRED = ValueStateDescriptor("fired", Types.LONG())
SEEN = ReducingStateDescriptor("seen", lambda a, b: a + b, Types.LONG())  # type: ignore[operator]
RESULTS = (TriggerResult.CONTINUE, TriggerResult.FIRE_AND_PURGE, TriggerResult.FIRE, TriggerResult.PURGE)
"""In the order of Java's enum."""


class Gap:
    def extract(self, element: Any) -> int:
        return int(element % 7 + 1)


def delta(older: Any, newer: Any) -> float:
    return float(newer - older)


class Shrinking(EventTimeSessionWindows):
    """Sessions whose merge ends where the first of them ended."""

    def merge_windows(self, windows: Iterable[Window], callback: MergeCallback) -> None:  # type: ignore[override]
        class Ending:
            def merge(self, merged: Any, result: Window) -> None:
                callback.merge(merged, TimeWindow(result.start, min(window.end for window in merged)))

        super().merge_windows(list(windows), Ending())


class ByValue(Trigger):
    """Does everything that a trigger can, as the records and times say, and never clears its timers."""

    def on_element(self, element: Any, timestamp: int | None, window: Window, ctx: TriggerContext) -> TriggerResult:
        ctx.get_partitioned_state(SEEN).add(element)
        if element % 5 == 0:
            watermark = ctx.get_current_watermark()
            half = watermark // 2 if watermark >= 0 else -(-watermark // 2)
            ctx.register_event_time_timer(half + element % 40)
        if element % 7 == 0:
            ctx.register_processing_time_timer(ctx.get_current_processing_time() + element % 20 + 1)
        return RESULTS[element // 3 % 4]

    def on_event_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        seen = ctx.get_partitioned_state(SEEN).get()
        assert seen is None or isinstance(seen, int)
        return RESULTS[(seen or 0) % 4]

    def on_processing_time(self, time: int, window: Window, ctx: TriggerContext) -> TriggerResult:
        return self.on_event_time(time, window, ctx)

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Window, ctx: OnMergeContext) -> None:
        ctx.merge_partitioned_state(SEEN)

    def clear(self, window: Window, ctx: TriggerContext) -> None:
        ctx.get_partitioned_state(SEEN).clear()


class Ordered(AggregateFunction):
    def create_accumulator(self) -> object:
        return [-1]

    def add(self, value: Any, accumulator: Any) -> Any:
        return [*accumulator, value]

    def get_result(self, accumulator: Any) -> object:
        return str(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> object:
        return [*acc_a, *acc_b]


class Reducing(ReduceFunction):
    def __init__(self, nulls: bool) -> None:
        self.nulls = nulls

    def reduce(self, value1: Any, value2: Any) -> object:
        result = (value1 * 31 + value2) % 1_000_003
        return None if self.nulls and result % 4 == 0 else result


class Log(list[str]):
    """Shared by all copies."""

    def __deepcopy__(self, memo: object) -> Log:
        return self


def shown(window: Window) -> str:
    return f"TimeWindow{{start={window.start}, end={window.end}}}" if isinstance(window, TimeWindow) else "GlobalWindow"


def java_text(value: object) -> str:
    return str(value).replace("None", "null")


class Describing(ProcessWindowFunction[Any, Any, Any, Any]):
    def __init__(self, log: Log, has_state: bool) -> None:
        self.log = log
        self.has_state = has_state

    def process(self, key: Any, context: Any, elements: Iterable[Any]) -> Iterable[object]:
        given_elements = list(elements)
        fired = 0
        if self.has_state:
            state = context.window_state().get_state(FIRED)
            fired = (state.value() or 0) + 1
            state.update(fired)
        shown_elements = ", ".join(map(java_text, given_elements))
        window, watermark, now = shown(context.window()), context.current_watermark(), context.current_processing_time()
        yield f"{key} {window} [{shown_elements}] {fired} {watermark} {now}"
        yield SIDE, f"side {len(given_elements)}"

    def clear(self, context: Any) -> None:
        self.log.append(f"clear {shown(context.window())}")
        if self.has_state:
            context.window_state().get_state(FIRED).clear()


class LogOutput(Output):
    """Writes down what is emitted as the Java side does."""

    def __init__(self, log: Log) -> None:
        self.log = log

    def collect(self, value: object, timestamp: int | None) -> None:
        self.log.append(f"rec {java_text(value)} {java_text(timestamp)}")

    def collect_side(self, tag: OutputTag, value: object, timestamp: int | None) -> None:
        self.log.append(f"{tag.tag_id} {java_text(value)} {java_text(timestamp)}")

    def emit_watermark(self, timestamp: int) -> None:
        self.log.append(f"wm {timestamp}")


def assigner_of(described: Described) -> WindowAssigner:
    kind, *numbers = described
    match kind:
        case "tumbling_event":
            return TumblingEventTimeWindows(numbers[0], numbers[1], WindowStagger[numbers[2]])
        case "tumbling_processing":
            return TumblingProcessingTimeWindows(numbers[0], numbers[1], WindowStagger[numbers[2]])
        case "sliding_event":
            return SlidingEventTimeWindows(*numbers)
        case "sliding_processing":
            return SlidingProcessingTimeWindows(*numbers)
        case "session_event":
            return EventTimeSessionWindows(*numbers)
        case "session_processing":
            return ProcessingTimeSessionWindows(*numbers)
        case "dynamic_event":
            return DynamicEventTimeSessionWindows(Gap())
        case "dynamic_processing":
            return DynamicProcessingTimeSessionWindows(Gap())
        case "shrinking_event":
            return Shrinking(*numbers)
    return GlobalWindows(end_of_stream=kind == "global_end")


def trigger_of(described: Described) -> Trigger:
    match described:
        case ["event"]:
            return EventTimeTrigger()
        case ["processing"]:
            return ProcessingTimeTrigger()
        case ["count", count]:
            return CountTrigger(count)
        case ["purging", nested]:
            return PurgingTrigger(trigger_of(nested))
        case ["continuous_event", interval]:
            return ContinuousEventTimeTrigger(interval)
        case ["continuous_processing", interval]:
            return ContinuousProcessingTimeTrigger(interval)
        case ["delta", threshold]:
            return DeltaTrigger(threshold, delta, Types.LONG())
        case ["timeout", interval, resets, clears, nested]:
            return ProcessingTimeoutTrigger(trigger_of(nested), interval, resets, clears)
        case ["any_of", parts]:
            return AnyOfTrigger.of(*map(trigger_of, parts))
    return ByValue()


def evictor_of(described: Described) -> Evictor:
    kind, number, after = described
    match kind:
        case "count":
            return CountEvictor(number, after)
        case "time":
            return TimeEvictor(number, after)
    return DeltaEvictor(number, delta, after)


def operator_of(case: Case, log: Log) -> WindowOperator:
    assigner = assigner_of(case["assigner"])
    builder = WindowOperatorBuilder(assigner)
    if case["trigger"] is not None:
        builder = builder.trigger(trigger_of(case["trigger"]))
    if case["evictor"] is not None:
        builder = builder.evictor(evictor_of(case["evictor"]))
    builder = builder.allowed_lateness(Duration.of_millis(case["lateness"]))
    if case["late_output"]:
        builder = builder.side_output_late_data(LATE)
    describing = Describing(log, not is_merging(assigner))
    reducing = Reducing(case["nulls"])
    fold, function = {
        "process": (None, describing),
        "reduce": (reducing, None),
        "reduce_process": (reducing, describing),
        "aggregate": (Ordered(), None),
        "aggregate_process": (Ordered(), describing),
    }[case["function"]]
    operator = builder.build("window", fold, function)("window")
    assert isinstance(operator, WindowOperator)
    return operator


def play(case: Case) -> list[list[str]]:
    """What our operator does with each command; an error is the last, as its class."""
    log = Log()
    operator = operator_of(case, log)
    recorder = MemoryRecorder(Level.FULL)
    harness = OneInputOperatorHarness(
        operator, key_selector=lambda value: value % 3, key_type="LONG",  # type: ignore[operator]
        trace=(lambda clock: TaskTrace(0, clock, recorder)) if case["recorded"] else None,
    )  # fmt: skip
    operator.output = LogOutput(log)  # type: ignore[assignment]
    answers: list[list[str]] = []
    with harness:
        for command in case["commands"]:
            try:
                match command:
                    case ["r", value, timestamp]:
                        harness.process_element(value, timestamp)
                    case ["w", timestamp]:
                        harness.process_watermark(timestamp)
                    case ["p", now_ms]:
                        harness.set_processing_time(now_ms)
                    case ["lateness", lateness_ms]:
                        operator.lifetime.allowed_lateness_ms = lateness_ms
            except (BadInput, InvariantViolation) as error:
                kind = BadInput if isinstance(error, BadInput) else InvariantViolation
                answers.append([*log, f"throws {kind.__name__}"])
                break
            timers = operator.timers
            log.append(
                f"timers {timers.num_event_time_timers} {timers.num_processing_time_timers}, "
                f"late {operator.records_dropped}, state {entries(operator)}"
            )
            answers.append(list(log))
            log.clear()
    return answers


def entries(operator: WindowOperator) -> int:
    """How many entries of state there are: contents, merging sets, and what triggers and functions keep."""
    panes = sum(map(len, operator.panes.by_window.values()))
    sets = 0 if operator.merging is None else len(operator.merging.pairs)
    return panes + sets + sum(len(operator.state.entries_of_key_group(g)) for g in operator.state.key_groups())


SMALL = st.integers(1, 12)
STAGGERS = st.sampled_from(["ALIGNED", "ALIGNED", "NATURAL"])


def _tumbling(kind: str) -> st.SearchStrategy[Described]:
    return st.integers(1, 20).flatmap(
        lambda size: st.tuples(st.just(kind), st.just(size), st.integers(1 - size, size - 1), STAGGERS).map(list)
    )


def _sliding(kind: str) -> st.SearchStrategy[Described]:
    return st.tuples(st.integers(1, 20), st.integers(1, 12)).flatmap(
        lambda both: st.tuples(
            st.just(kind), st.just(both[0]), st.just(both[1]), st.integers(1 - both[1], both[1] - 1)
        ).map(list)
    )


def _of(*parts: Any) -> st.SearchStrategy[Described]:
    return st.tuples(*(part if isinstance(part, st.SearchStrategy) else st.just(part) for part in parts)).map(list)


ASSIGNERS = st.one_of(
    _tumbling("tumbling_event"), _tumbling("tumbling_processing"), _sliding("sliding_event"), _sliding("sliding_processing"),
    _of("session_event", SMALL), _of("session_event", SMALL), _of("session_processing", SMALL), _of("dynamic_event"),
    _of("dynamic_processing"), _of("shrinking_event", SMALL), _of("global"), _of("global_end"),
)  # fmt: skip
ANY_WINDOW = st.one_of(
    _of("count", st.integers(1, 4)),
    _of("continuous_event", SMALL),
    _of("continuous_processing", SMALL),
    _of("by_value"),
)
TIME_WINDOW = st.one_of(_of("event"), _of("event"), _of("processing"), ANY_WINDOW)


def _any_of(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    return _of("any_of", st.lists(inner, min_size=1, max_size=3))


def _purging(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    outer = st.one_of(inner, inner, _any_of(st.one_of(inner, _of("purging", inner))))
    return st.one_of(outer, _of("purging", outer))


def _anything(inner: st.SearchStrategy[Described]) -> st.SearchStrategy[Described]:
    """Triggers for windows that do not merge."""
    unmergeable = st.one_of(inner, _of("delta", st.integers(0, 40)))
    timeout = _of("timeout", SMALL, st.booleans(), st.booleans(), _purging(unmergeable))
    return _purging(st.one_of(inner, unmergeable, timeout))


EVICTORS = st.one_of(
    _of("count", st.integers(0, 4), st.booleans()), _of("time", SMALL, st.booleans()),
    _of("delta", st.integers(-10, 60), st.booleans()),
)  # fmt: skip
LAST = st.integers(MAX_WATERMARK - 30, MAX_WATERMARK)
EXTREMES = st.one_of(LAST, st.integers(NO_TIMESTAMP, NO_TIMESTAMP + 30))


def _is_endless(case: Case) -> bool:
    """Whether a watermark far away keeps a continuous trigger at work for ages."""
    return "continuous" in json.dumps(case["trigger"])


def _overflows(case: Case) -> bool:
    """Whether the end of a session plus the lateness may be beyond the greatest timestamp."""
    timestamps = [command[2] for command in case["commands"] if command[0] == "r" and command[2] is not None]
    return bool(max(timestamps, default=0) > MAX_WATERMARK - case["lateness"] - 1000)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    assigner = draw(ASSIGNERS)
    merges = any(kind in assigner[0] for kind in ("session", "dynamic", "shrinking"))
    of_window = ANY_WINDOW if assigner[0].startswith("global") else TIME_WINDOW
    triggers_for = _purging(of_window) if merges else _anything(of_window)
    case: Case = {
        "assigner": assigner,
        "trigger": draw(st.none() | triggers_for),
        "evictor": draw(st.none() | st.none() | EVICTORS),
        "lateness": draw(st.sampled_from([0, 0, 3, 15, MAX_WATERMARK])),
        "late_output": draw(st.booleans()),
        "function": draw(st.sampled_from(["process", "reduce", "reduce_process", "aggregate", "aggregate_process"])),
        "nulls": draw(st.booleans()),
        "recorded": draw(st.booleans()),
    }
    far = not _is_endless(case) and draw(st.integers(0, 5)) == 0
    # Flink may never come to an end where a sliding window would begin before the least timestamp.
    extremes = LAST if assigner[0].startswith("sliding") else EXTREMES
    watermark, now, commands = -20, 1, []
    for _ in range(draw(st.integers(1, 45))):
        kind = draw(st.sampled_from("rrrrrrrwwwp"))
        if kind == "r":
            timestamp = draw(st.integers(watermark - 25, watermark + 40))
            if far or draw(st.integers(0, 40)) == 0:
                timestamp = draw(st.one_of(extremes, st.none())) if far else None
            if timestamp is None and _is_endless(case):
                timestamp = watermark
            commands.append(["r", draw(st.integers(0, 200)), timestamp])
        elif kind == "w":
            watermark += draw(st.integers(0, 14))
            commands.append(["w", watermark])
        else:
            now += draw(st.integers(0, 12))
            commands.append(["p", now])
    if far:
        commands.append(["w", draw(EXTREMES.filter(lambda timestamp: timestamp > 0))])
    if not _is_endless(case) or assigner[0] not in ("global", "global_end"):
        commands.append(["w", MAX_WATERMARK])
    return {**case, "commands": commands}


def agrees(differential: Differential, case: Case) -> list[list[str]]:
    """What both operators do with each command."""
    run = differential.flink.java.org.apache.flink.streaming.api.operators.WindowOperators.run
    theirs: list[list[str]] = json.loads(run(json.dumps(case)))
    with differential.comparing(
        "WindowOperator" if case["evictor"] is None else "EvictingWindowOperator", commands=len(theirs)
    ):
        if theirs[-1][-1].startswith("throws "):
            name = theirs[-1][-1].removeprefix("throws ")
            is_evictors = name == "IllegalStateException" and case["evictor"] is not None
            theirs[-1][-1] = f"throws {(BadInput if is_evictors else ERRORS[name]).__name__}"
        assert play(case) == theirs
    return theirs


def test_window_operator_equals_flinks(differential: Differential) -> None:
    """Rules 10.7 to 10.31: output in order, calls of clear, timers of both kinds, late records, entries of state."""

    @differential.settings(200)
    @given(case=cases())
    def compare(case: Case) -> None:
        answers = agrees(differential, case)
        if case["assigner"][0] in ("session_event", "dynamic_event") and not _overflows(case):
            # Rule 10.26: no record makes a merge fail.
            assert answers[-1][-1] != "throws BadInput" or case["evictor"] is not None

    compare()


def test_merge_into_session_with_timer_of_longer_lateness_fails(differential: Differential) -> None:
    """Rule 10.26."""
    records = [["r", 0, 0], ["r", 3, 5], ["w", 20], ["lateness", 0], ["w", 21], ["r", 6, 12]]
    case: Case = {
        "assigner": ["session_event", 10], "trigger": None, "evictor": None, "lateness": 60_000, "late_output": False,
        "function": "process", "nulls": False, "recorded": False, "commands": records,
    }  # fmt: skip
    assert agrees(differential, case)[-1] == ["throws BadInput"]
