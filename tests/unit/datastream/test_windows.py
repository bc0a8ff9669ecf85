"""Windows of jobs: with and without keys, by count, and of two streams."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, watermark
from flowsim.datastream import (
    AggregateFunction,
    AllWindowFunction,
    CoGroupFunction,
    DataStream,
    FlatJoinFunction,
    JoinFunction,
    NullByteKeySelector,
    OutputTag,
    PassThroughAllWindowFunction,
    PassThroughWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
    WindowedStream,
)
from flowsim.datastream.common import Duration, Types
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.window import (
    CountEvictor,
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    CountWindow,
    DeltaTrigger,
    EventTimeSessionWindows,
    TimeWindow,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
    Window,
)
from flowsim.errors import BadInput

TEN_MS = TumblingEventTimeWindows.of(Duration.of_millis(10))
GAP_5 = EventTimeSessionWindows.with_gap(Duration.of_millis(5))


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_max_parallelism(8)


def scripted(env: StreamExecutionEnvironment, *rows: tuple[object, int]) -> DataStream:
    """One subtask that emits these rows; the end of the stream is the end of event time."""
    return env.add_source(ScriptedSource([record(value, timestamp) for value, timestamp in rows])).set_parallelism(1)


def results(stream: DataStream) -> list[object]:
    return list(stream.execute_and_collect())


class Spans(ProcessWindowFunction[Any, Any, Any, TimeWindow]):
    def process(
        self, key: object, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[Any]
    ) -> Iterable[Any]:
        yield key, context.window().start, context.window().end, list(elements)


class Joined(AggregateFunction):
    def create_accumulator(self) -> object:
        return ""

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator + value

    def get_result(self, accumulator: Any) -> object:
        return f"<{accumulator}>"

    def merge(self, acc_a: Any, acc_b: Any) -> object:
        return acc_a + acc_b


def test_session_windows_merge_and_fire_once(env: StreamExecutionEnvironment) -> None:
    stream = scripted(env, ("a1", 0), ("b1", 2), ("a2", 4), ("a3", 20)).key_by(lambda row: row[0], Types.STRING())  # type: ignore[index]
    assert sorted(results(stream.window(GAP_5).process(Spans()))) == [  # type: ignore[type-var]
        ("a", 0, 9, ["a1", "a2"]), ("a", 20, 25, ["a3"]), ("b", 2, 7, ["b1"]),
    ]  # fmt: skip


def test_count_window_holds_n_records_of_key(env: StreamExecutionEnvironment) -> None:
    stream = scripted(env, *((letter, number) for number, letter in enumerate("abababa"))).key_by(lambda row: row)
    assert results(stream.count_window(2).reduce(lambda one, two: one + two)) == ["aa", "bb", "aa"]  # type: ignore[operator]


def test_sliding_count_window_holds_last_n_records_of_key(env: StreamExecutionEnvironment) -> None:
    stream = scripted(env, *((f"a{number}", number) for number in range(6))).key_by(lambda row: row[0])  # type: ignore[index]
    assert results(stream.count_window(3, 2).aggregate(Joined())) == ["<a0a1>", "<a1a2a3>", "<a3a4a5>"]


def test_reduce_after_evictor_sees_remaining_records(env: StreamExecutionEnvironment) -> None:
    stream = scripted(env, ("a1", 0), ("a2", 4), ("a3", 5)).key_by(lambda row: row[0])  # type: ignore[index]
    windows = stream.window(TEN_MS).evictor(CountEvictor.of(2))
    assert results(windows.reduce(lambda one, two: one + two, Spans())) == [("a", 0, 10, ["a2a3"])]  # type: ignore[operator]


class Total(ProcessAllWindowFunction[Any, Any, TimeWindow]):
    """Counts its windows in global state, and its firings in window state."""

    def process(self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Any]) -> Iterable[Any]:
        fired = context.window_state().get_state(ValueStateDescriptor("fired", Types.LONG()))
        total = context.global_state().get_state(ValueStateDescriptor("total", Types.LONG()))
        fired.update((fired.value() or 0) + 1)  # type: ignore[operator]
        total.update((total.value() or 0) + 1)  # type: ignore[operator]
        yield context.window().start, list(elements), fired.value(), total.value()

    def clear(self, context: ProcessAllWindowFunction.Context[TimeWindow]) -> None:
        context.window_state().get_state(ValueStateDescriptor("fired", Types.LONG())).clear()


class Whole(AllWindowFunction[Any, Any, TimeWindow]):
    def apply(self, window: TimeWindow, inputs: Iterable[Any]) -> Iterable[Any]:
        yield window.start, list(inputs)


def test_window_all_collects_all_records_in_one_subtask(env: StreamExecutionEnvironment) -> None:
    stream = scripted(env, ("a", 1), ("b", 12), ("c", 5)).rebalance().map(lambda row: row).set_parallelism(1)
    windows = stream.window_all(TEN_MS)
    assert results(windows.process(Total())) == [(0, ["a", "c"], 1, 1), (10, ["b"], 1, 2)]
    assert results(stream.window_all(TEN_MS).apply(Whole())) == [(0, ["a", "c"]), (10, ["b"])]
    assert results(stream.window_all(TEN_MS).aggregate(Joined(), Whole())) == [(0, ["<ac>"]), (10, ["<b>"])]
    assert results(stream.count_window_all(2).reduce(lambda one, two: one + two)) == ["ab"]  # type: ignore[operator]
    assert results(stream.count_window_all(2, 1).reduce(lambda one, two: one + two)) == ["a", "ab", "bc"]  # type: ignore[operator]


def test_window_all_with_parallelism_above_one_is_refused(env: StreamExecutionEnvironment) -> None:
    windows = scripted(env, ("a", 1)).window_all(TEN_MS).apply(Whole())
    windows.sink_to(CollectSink())
    with pytest.raises(BadInput, match="parallelism must be 1, got 2: windows of a stream without keys run in"):
        windows.set_parallelism(2)
    (node,) = [node for node in env.stream_graph().nodes.values() if node.description.kind == "window"]
    assert (node.parallelism, node.max_parallelism, node.description.params["all"]) == (1, 1, True)


def test_late_records_of_window_all_go_to_side_output(env: StreamExecutionEnvironment) -> None:
    script = [record("a", 1), watermark(20), record("b", 2), record("c", 21)]
    stream, late = env.add_source(ScriptedSource(script)).set_parallelism(1), OutputTag("late")
    fired = stream.window_all(TEN_MS).side_output_late_data(late).apply(Whole())
    assert results(fired.get_side_output(late)) == ["b"]


LEFT = (("a1", 1), ("b1", 2), ("a2", 3), ("a3", 15))
RIGHT = (("aX", 4), ("aY", 5), ("cX", 6), ("bX", 12))


def pair(env: StreamExecutionEnvironment) -> tuple[DataStream, DataStream]:
    return scripted(env, *LEFT), scripted(env, *RIGHT)


def first_letter(row: Any) -> object:
    return row[0]


class Pairing(JoinFunction):
    def open(self, runtime_context: RuntimeContext) -> None:
        self.sign = "&"

    def join(self, first: Any, second: Any) -> object:
        return first + self.sign + second


class Doubling(FlatJoinFunction):
    def join(self, first: Any, second: Any) -> Iterable[object] | None:
        return None if first == "a1" else (first + second, second + first)


def test_join_calls_function_for_each_pair_of_key_and_window(env: StreamExecutionEnvironment) -> None:
    left, right = pair(env)
    windows = left.join(right).where(first_letter, Types.STRING()).equal_to(first_letter).window(TEN_MS)
    assert results(windows.apply(Pairing())) == ["a1&aX", "a1&aY", "a2&aX", "a2&aY"]
    windows = left.join(right).where(first_letter).equal_to(first_letter).window(TEN_MS)
    assert results(windows.apply(Doubling())) == ["a2aX", "aXa2", "a2aY", "aYa2"]
    windows = left.join(right).where(first_letter).equal_to(first_letter).window(GAP_5)
    assert results(windows.apply(lambda first, second: (first, second)))[0] == ("a1", "aX")


class Sides(CoGroupFunction):
    def co_group(self, first: list[Any], second: list[Any]) -> Iterable[object]:
        yield first, second


def test_co_group_passes_both_sides_even_if_one_is_empty(
    env: StreamExecutionEnvironment,
) -> None:
    left, right = pair(env)
    for function in (Sides(), lambda first, second: [(first, second)]):
        windows = left.co_group(right).where(first_letter).equal_to(first_letter, Types.STRING()).window(TEN_MS)
        assert sorted(results(windows.apply(function))) == [  # type: ignore[type-var]
            ([], ["bX"]), ([], ["cX"]), (["a1", "a2"], ["aX", "aY"]), (["a3"], []), (["b1"], []),
        ]  # fmt: skip


def test_join_accepts_trigger_evictor_and_lateness(env: StreamExecutionEnvironment) -> None:
    left, right = pair(env)
    windows = left.join(right).where(first_letter).equal_to(first_letter).window(TEN_MS)
    windows.trigger(CountTrigger.of(4)).evictor(CountEvictor.of(3)).allowed_lateness(Duration.of_millis(7))
    stream = windows.apply(Pairing())
    assert results(stream) == ["a2&aX", "a2&aY"]
    stream.sink_to(CollectSink())
    (node,) = [node for node in env.stream_graph().nodes.values() if node.description.kind == "window"]
    assert json.dumps(dict(node.description.params)) == json.dumps(
        {
            "assigner": "tumbling_event_time", "size_ms": 10, "offset_ms": 0, "stagger": "aligned",
            "trigger": {"kind": "count", "count": 4}, "lateness_ms": 7, "late_output": False,
            "evictor": {"kind": "count", "count": 3, "after": False}, "join": "join",
        }
    )  # fmt: skip


def test_windowed_stream_accepts_second_function_with_other_trigger(env: StreamExecutionEnvironment) -> None:
    windows = scripted(env, ("a1", 1), ("a2", 2)).key_by(first_letter).window(TEN_MS)
    at_the_end = windows.process(Spans())
    at_each = windows.trigger(CountTrigger.of(1)).process(Spans())
    assert results(at_the_end) == [("a", 0, 10, ["a1", "a2"])]
    assert results(at_each) == [("a", 0, 10, ["a1"]), ("a", 0, 10, ["a1", "a2"])]


def test_invalid_window_joins_are_refused(env: StreamExecutionEnvironment) -> None:
    left, right = pair(env)
    keyed = left.key_by(first_letter)
    sessions: WindowedStream = keyed.window(GAP_5)
    refusals: list[tuple[type[Exception], str, Any]] = [
        (BadInput, "merge, and the trigger DeltaTrigger cannot",
            lambda: sessions.trigger(DeltaTrigger.of(1.0, lambda one, two: 0.0, Types.STRING()))),
        (BadInput, "count window: size: expected an integer >= 1, got 0", lambda: keyed.count_window(0)),
        (BadInput, "count window: slide: expected an integer >= 0, got -1", lambda: left.count_window_all(1, -1)),
        (TypeError, "window: evictor: expected an evictor, got 3", lambda: sessions.evictor(3)),  # type: ignore[arg-type]
        (TypeError, "window: expected a window assigner, got 3", lambda: left.window_all(3)),  # type: ignore[arg-type]
        (TypeError, "join: expected a stream, got 3", lambda: left.join(3)),  # type: ignore[arg-type]
        (BadInput, "equal_to: expected a key of type STRING as in where, got LONG",
            lambda: left.co_group(right).where(first_letter, Types.STRING()).equal_to(first_letter, Types.LONG())),
        (TypeError, "co_group: apply: expected a CoGroupFunction or a callable, got 3",
            lambda: left.co_group(right).where(first_letter).equal_to(first_letter).window(GAP_5).apply(3)),  # type: ignore[arg-type]
        (TypeError, "join: apply: expected a JoinFunction, a FlatJoinFunction or a callable, got 3",
            lambda: left.join(right).where(first_letter).equal_to(first_letter).window(GAP_5).apply(3)),  # type: ignore[arg-type]
        (TypeError, "window_all: process: expected a ProcessAllWindowFunction, got ",
            lambda: left.window_all(TEN_MS).process(Spans())),  # type: ignore[arg-type]
        (TypeError, "window_all: apply: expected an AllWindowFunction, got ",
            lambda: left.window_all(TEN_MS).apply(Total())),  # type: ignore[arg-type]
        (TypeError, "window_all: reduce: expected a ProcessAllWindowFunction or an AllWindowFunction, got ",
            lambda: left.window_all(TEN_MS).reduce(lambda one, two: one, Spans())),  # type: ignore[arg-type]
    ]  # fmt: skip
    for kind, message, refused in refusals:
        with pytest.raises(kind, match=message):
            refused()


def test_tagging_operators_have_parallelism_of_their_inputs(env: StreamExecutionEnvironment) -> None:
    left, right = pair(env)
    joined = left.map(lambda row: row).set_parallelism(2).join(right).where(first_letter).equal_to(first_letter)
    joined.window(TEN_MS).apply(Pairing()).sink_to(CollectSink())
    graph = env.stream_graph()
    maps = [node.parallelism for node in graph.nodes.values() if node.description.kind == "map"]
    assert maps == [2, 2, 1]


def test_pass_through_window_functions_emit_records_unchanged(env: StreamExecutionEnvironment) -> None:
    rows = scripted(env, (1, 0), (2, 3), (4, 12))
    keyed = rows.key_by(NullByteKeySelector(), Types.BYTE())
    assert results(keyed.window(TEN_MS).apply(PassThroughWindowFunction())) == [1, 2, 4]
    summed = keyed.window(TEN_MS).reduce(lambda one, other: one + other, PassThroughWindowFunction())
    assert results(summed) == [3, 4]
    assert results(rows.window_all(TEN_MS).apply(PassThroughAllWindowFunction())) == [1, 2, 4]


def test_trigger_counter_is_in_metric_group_of_operator(env: StreamExecutionEnvironment) -> None:
    counted: list[int] = []

    class Counting(Trigger[Any, Window]):
        def on_element(
            self, element: Any, timestamp: int | None, window: Window, ctx: Trigger.TriggerContext
        ) -> TriggerResult:
            self.counter = getattr(self, "counter", None) or ctx.get_metric_group().counter("records")
            self.counter.inc()
            counted.append(self.counter.get_count())
            return TriggerResult.FIRE_AND_PURGE

        def on_event_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
            return TriggerResult.CONTINUE

        def on_processing_time(self, time: int, window: Window, ctx: Trigger.TriggerContext) -> TriggerResult:
            return TriggerResult.CONTINUE

        def clear(self, window: Window, ctx: Trigger.TriggerContext) -> None:
            return

    windows = scripted(env, (1, 0), (2, 3)).window_all(TEN_MS).trigger(Counting())
    assert results(windows.apply(PassThroughAllWindowFunction())) == [1, 2]
    assert counted == [1, 2]


class Numbered(ProcessWindowFunction[Any, Any, Any, CountWindow]):
    def process(
        self, key: object, context: ProcessWindowFunction.Context[CountWindow], elements: Iterable[Any]
    ) -> Iterable[Any]:
        yield context.window().id, list(elements)


@pytest.mark.parametrize(
    ("assigner", "windows"),
    [
        (CountTumblingWindowAssigner.of(2), [(0, ["a1", "a2"]), (0, ["b1", "b2"]), (1, ["a3", "a4"])]),
        (CountSlidingWindowAssigner.of(3, 1), [(0, ["a1", "a2", "a3"]), (1, ["a2", "a3", "a4"]), (2, ["a3", "a4", "a5"])]),
        (CountSlidingWindowAssigner.of(3, 2), [(0, ["a1", "a2", "a3"]), (1, ["a3", "a4", "a5"])]),
        (CountSlidingWindowAssigner.of(1, 2), [(0, ["a1"]), (0, ["b1"]), (1, ["a3"]), (2, ["a5"])]),
    ],
    ids=["tumbling_2", "sliding_3_1", "sliding_3_2", "sliding_1_2"],
)  # fmt: skip
def test_pyflinks_count_assigners_fire_full_windows(
    env: StreamExecutionEnvironment, assigner: Any, windows: list[object]
) -> None:
    rows = [(f"{key}{number}", 0) for key, number in ("a1", "b1", "a2", "b2", "a3", "a4", "a5")]
    keyed = scripted(env, *rows).key_by(lambda row: row[0], Types.STRING())  # type: ignore[index]
    assert results(keyed.window(assigner).process(Numbered())) == windows


def test_count_window_is_identified_by_its_number() -> None:
    assert {CountWindow(3), CountWindow(3), CountWindow(4)} == {CountWindow(4), CountWindow(3)}
    assert (CountWindow(3).id, CountWindow(3).start, repr(CountWindow(3))) == (3, 3, "CountWindow(id=3)")
    assert CountWindow(3).max_timestamp() == CountWindow(3).end == 2**63 - 1
    assert CountWindow(3).java_hash() == TimeWindow(0, 3).java_hash()
    for assigner in (lambda: CountTumblingWindowAssigner.of(0), lambda: CountSlidingWindowAssigner.of(2, 0)):
        with pytest.raises(BadInput, match="expected an integer >= 1, got 0"):
            assigner()
