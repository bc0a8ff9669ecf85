"""Changes of state in whole jobs: the facts of keyed functions and windows, and that the run is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import (
    AggregateFunction,
    DataStream,
    KeyedProcessFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    WindowFunction,
)
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.state import StateTtlConfig, ValueStateDescriptor
from flowsim.datastream.window import (
    CountEvictor,
    CountTrigger,
    EventTimeSessionWindows,
    EventTimeTrigger,
    PurgingTrigger,
    SlidingEventTimeWindows,
    TriggerResult,
    TumblingEventTimeWindows,
)
from flowsim.errors import BadInput
from flowsim.facts.kinds import Level, StateAction
from flowsim.facts.schema import FACT_TABLES, RECORD_VALUES, STATE_CHANGES, STATES
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.reader import Recording

PUT, ADD, REMOVE, CLEAR, EXPIRE, *_ = StateAction
TEN_MS = TumblingEventTimeWindows.of(Duration.of_millis(10))
ROWS = [(("a", 1), 1), (("b", 2), 3), (("a", 4), 5), (("a", 8), 12), (("b", 16), 31)]

Job = Callable[[DataStream], DataStream]
Fact = tuple[StateAction, int, int, int, str]


class Sum(AggregateFunction):
    def create_accumulator(self) -> object:
        return 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value[1]

    def get_result(self, accumulator: Any) -> object:
        return accumulator

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Rows(WindowFunction[Any, Any, Any, Any]):
    def apply(self, key: Any, window: Any, inputs: Iterable[Any]) -> Iterable[Any]:
        yield key, window.start, len(list(inputs))


class Boxes(AggregateFunction):
    """Its accumulator is an object that no record could hold."""

    class Box:
        def __init__(self) -> None:
            self.total = 0
            self.unnamed = lambda: None

    def create_accumulator(self) -> object:
        return self.Box()

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.total += value[1]
        return accumulator

    def get_result(self, accumulator: Any) -> object:
        return accumulator.total

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        raise NotImplementedError


class Latest(KeyedProcessFunction):
    """Emits what it kept of the key before, sets a timer, and forgets when it fires."""

    def __init__(self, lives_ms: int | None = None) -> None:
        self.descriptor = ValueStateDescriptor("latest", Types.LONG())
        if lives_ms is not None:
            self.descriptor.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_millis(lives_ms)).build())

    def open(self, runtime_context: RuntimeContext) -> None:
        self.latest = runtime_context.get_state(self.descriptor)

    def process_element(self, value: Any, ctx: KeyedProcessFunction.Context) -> Iterable[Any]:
        yield value[0], self.latest.value()
        self.latest.update(value[1])
        ctx.timer_service().register_event_time_timer(ctx.timestamp() + 15)

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[Any]:
        self.latest.clear()
        return ()


def keyed(stream: DataStream) -> Any:
    return stream.key_by(lambda row: row[0], Types.STRING())


JOBS: dict[str, Job] = {
    "function": lambda s: keyed(s).process(Latest()),
    "expiring": lambda s: keyed(s).process(Latest(1)),
    "reduce": lambda s: keyed(s).reduce(lambda one, other: (one[0], one[1] + other[1])),
    "tumbling": lambda s: keyed(s).window(TEN_MS).aggregate(Sum()),
    "reduced": lambda s: keyed(s).window(TEN_MS).reduce(lambda one, other: (one[0], one[1] + other[1])),
    "sliding": lambda s: (
        keyed(s).window(SlidingEventTimeWindows.of(Duration.of_millis(10), Duration.of_millis(5))).apply(Rows())
    ),
    "sessions": lambda s: keyed(s).window(EventTimeSessionWindows.with_gap(Duration.of_millis(5))).apply(Rows()),
    "evicted": lambda s: keyed(s).window(TEN_MS).evictor(CountEvictor.of(1)).apply(Rows()),
    "purged": lambda s: keyed(s).window(TEN_MS).trigger(PurgingTrigger.of(CountTrigger.of(2))).apply(Rows()),
    "boxes": lambda s: keyed(s).window(TEN_MS).aggregate(Boxes()),
}


def run(job: Job, records_state: bool, policy: str = "fifo") -> tuple[list[Any], MemoryRecorder]:
    recorder = MemoryRecorder(Level.FULL, records_state=records_state)
    env = StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)
    env.flowsim_settings(recorder=recorder, seed=3, policy=policy)
    source = ScriptedSource([record(value, timestamp) for value, timestamp in ROWS])
    stream = env.add_source(source).set_parallelism(1)
    return list(job(stream).execute_and_collect()), recorder


def changes(recorder: MemoryRecorder, key: str, state: int = 0) -> list[Fact]:
    """Of a key and a state: action, entries left, window, and the value behind the fingerprint."""
    keys = {row[1]: str(row[4]) for row in recorder.static_rows("keys")}
    values = {row[0]: str(row[2]) for row in recorder.static_rows(RECORD_VALUES.name)}
    rows = [dict(zip(STATE_CHANGES.names, row, strict=True)) for row in recorder.rows(STATE_CHANGES.name)]
    return [
        (
            StateAction(row["action"]),
            row["entries"],
            row["window_start"],
            row["window_end"],
            values[row["fingerprint"]] if row["fingerprint"] else "",
        )
        for row in rows
        if keys[row["key"]] == f'"{key}"' and row["state"] == state
    ]


def kinds(recorder: MemoryRecorder) -> list[tuple[object, object]]:
    return sorted({(row[3], row[4]) for row in recorder.static_rows(STATES.name)}, key=str)


@pytest.mark.parametrize("name", JOBS)
def test_recording_state_changes_no_other_fact(name: str) -> None:
    plain, without = run(JOBS[name], records_state=False)
    observed, recorder = run(JOBS[name], records_state=True)
    assert observed == plain
    assert without.rows(STATE_CHANGES.name) == without.static_rows(STATES.name) == []
    assert len(recorder.rows(STATE_CHANGES.name)) > 0
    for table in FACT_TABLES:
        if table is not STATE_CHANGES:
            first = 1 if "seq" in table.names else 0  # these facts count, too
            one, other = without.rows(table.name), recorder.rows(table.name)
            assert [row[first:] for row in other] == [row[first:] for row in one], table.name


@pytest.mark.parametrize("name", JOBS)
def test_every_law_holds_with_recorded_state(name: str) -> None:
    _, recorder = run(JOBS[name], records_state=True, policy="random")
    assert {o.law for o in check_all(recorder) if o.verdict is Verdict.VIOLATED} == set()


@pytest.mark.parametrize("name", JOBS)
def test_equal_runs_have_equal_digest_with_recorded_state(name: str) -> None:
    digests = {run(JOBS[name], records_state=True, policy="random")[1].facts_digest() for _ in range(2)}
    assert len(digests) == 1


def test_function_puts_and_timer_clears_state_of_key() -> None:
    _, recorder = run(JOBS["function"], records_state=True)
    assert kinds(recorder) == [("latest", "value")]
    assert changes(recorder, "a") == [
        (PUT, 1, 0, 0, "1"),
        (PUT, 1, 0, 0, "4"),
        (PUT, 1, 0, 0, "8"),
        (CLEAR, 0, 0, 0, ""),
    ]


def test_rolling_reduce_puts_value() -> None:
    _, recorder = run(JOBS["reduce"], records_state=True)
    assert changes(recorder, "b") == [(PUT, 1, 0, 0, '["b",2]'), (PUT, 1, 0, 0, '["b",18]')]


def test_window_adds_to_accumulator_and_clears_it_after_firing() -> None:
    _, recorder = run(JOBS["tumbling"], records_state=True)
    assert kinds(recorder) == [("window-contents", "window_value")]
    first = [(ADD, 1, 0, 10, "1"), (ADD, 1, 0, 10, "5"), (CLEAR, 0, 0, 10, "")]
    second = [(ADD, 1, 10, 20, "8"), (CLEAR, 0, 10, 20, "")]
    assert sorted(changes(recorder, "a"), key=lambda fact: fact[2]) == first + second


def test_sliding_windows_record_element_in_each_window() -> None:
    _, recorder = run(JOBS["sliding"], records_state=True)
    assert kinds(recorder) == [("window-contents", "window_records")]
    found = changes(recorder, "a")
    assert [fact for fact in found if fact[2] == 0] == [
        (ADD, 1, 0, 10, '["a",1]'),
        (ADD, 2, 0, 10, '["a",4]'),
        (CLEAR, 0, 0, 10, ""),
    ]
    assert [fact for fact in found if fact[2] == -5] == [(ADD, 1, -5, 5, '["a",1]'), (CLEAR, 0, -5, 5, "")]


def test_session_merge_moves_contents_to_state_window() -> None:
    rows = [(("a", 1), 1), (("a", 2), 9), (("a", 3), 5)]
    recorder = MemoryRecorder(Level.FULL, records_state=True)
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(recorder=recorder)
    stream = env.add_source(ScriptedSource([record(*row) for row in rows])).set_parallelism(1)
    assert list(JOBS["sessions"](stream).execute_and_collect()) == [("a", 1, 3)]
    added = [(ADD, 1, 1, 6, '["a",1]'), (ADD, 1, 9, 14, '["a",2]')]
    found = changes(recorder, "a")
    kept, absorbed = sorted(found[2:4], key=lambda fact: -fact[0])
    assert found[:2] == added
    assert (kept[0], kept[1], absorbed[0], absorbed[1]) == (CLEAR, 0, PUT, 2)
    assert {kept[2:4], absorbed[2:4]} == {(1, 6), (9, 14)}
    assert [fact[:2] for fact in found[4:]] == [(ADD, 3), (CLEAR, 0)]


def test_evictor_puts_remaining_records() -> None:
    _, recorder = run(JOBS["evicted"], records_state=True)
    assert [fact for fact in changes(recorder, "a") if fact[2] == 0] == [
        (ADD, 1, 0, 10, '["a",1]'),
        (ADD, 2, 0, 10, '["a",4]'),
        (PUT, 1, 0, 10, '[["a",4]]'),
        (CLEAR, 0, 0, 10, ""),
    ]


def test_purge_clears_contents_once() -> None:
    _, recorder = run(JOBS["purged"], records_state=True)
    facts = [fact[:2] for fact in changes(recorder, "a") if fact[2] == 0]
    assert facts == [(ADD, 1), (ADD, 2), (CLEAR, 0)]


class AlwaysPurges(EventTimeTrigger):
    """Purges at every element and once more at the end of the window, when nothing is left."""

    def on_element(self, element: Any, timestamp: int | None, window: Any, ctx: Any) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.PURGE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.PURGE


def test_purge_of_empty_window_records_no_change() -> None:
    _, recorder = run(
        lambda stream: keyed(stream).window(TEN_MS).trigger(AlwaysPurges()).apply(Rows()), records_state=True
    )
    facts = [fact[:2] for fact in changes(recorder, "a") if fact[2] == 0]
    assert facts == [(ADD, 1), (CLEAR, 0)] * 2


def test_trigger_state_is_recorded_with_its_window() -> None:
    _, recorder = run(JOBS["purged"], records_state=True)
    assert kinds(recorder) == [("count", "reducing"), ("window-contents", "window_records")]
    facts = [fact for fact in changes(recorder, "a", state=1) if fact[2] == 0]
    assert facts == [(ADD, 1, 0, 10, "1"), (ADD, 1, 0, 10, "2"), (CLEAR, 0, 0, 10, "")]


def test_accumulator_that_is_no_record_value_has_no_fingerprint() -> None:
    result, recorder = run(JOBS["boxes"], records_state=True)
    assert 5 in result
    assert [fact for fact in changes(recorder, "a") if fact[2] == 0] == [
        (ADD, 1, 0, 10, ""),
        (ADD, 1, 0, 10, ""),
        (CLEAR, 0, 0, 10, ""),
    ]


def test_expired_state_is_recorded_when_read() -> None:
    recorder = MemoryRecorder(Level.FULL, records_state=True)
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    env.flowsim_settings(recorder=recorder)
    script = [record(("a", 1), 1), sleep(2), record(("a", 2), 2)]
    stream = env.add_source(ScriptedSource(script)).set_parallelism(1)
    assert list(JOBS["expiring"](stream).execute_and_collect()) == [("a", None), ("a", None)]
    assert [fact[0] for fact in changes(recorder, "a")][:3] == [PUT, EXPIRE, PUT]


def test_below_level_full_no_state_is_recorded() -> None:
    recorder = MemoryRecorder(Level.ELEMENTS, records_state=True)
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(recorder=recorder)
    stream = env.add_source(ScriptedSource([record(("a", 1), 1)])).set_parallelism(1)
    assert list(JOBS["function"](stream).execute_and_collect()) == [("a", None)]
    assert recorder.rows(STATE_CHANGES.name) == recorder.static_rows(STATES.name) == []


def test_record_state_of_environment_adds_state_changes(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    with pytest.raises(BadInput, match="record_state: state changes are recorded at level full only"):
        env.flowsim_recording(tmp_path / "r", "elements", record_state=True)
    for asked in (True, False):
        env.flowsim_recording(tmp_path / "r", record_state=asked)
        stream = env.add_source(ScriptedSource([record(("a", 1), 1), record(("a", 2), 2)])).set_parallelism(1)
        assert len(list(JOBS["reduce"](stream).execute_and_collect())) == 2
        recording = Recording.open(tmp_path / "r")
        assert len(list(recording.rows(STATE_CHANGES.name))) == (2 if asked else 0)
        assert [row[3] for row in recording.static_rows(STATES.name)] == (["_op_state"] if asked else [])
