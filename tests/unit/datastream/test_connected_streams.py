"""Two streams connected, with PyFlink's names: CoMap, CoFlatMap, CoProcess, keyed and not (rules 7.20, 7.24, 8.16)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.datastream import (
    CoFlatMapFunction,
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    MapFunction,
    OutputTag,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Types
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import Level
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.operators.input_selection import InputSelection
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.recording.memory import MemoryRecorder


class Sides(CoMapFunction):
    def map1(self, value: int) -> object:
        return ("first", value)

    def map2(self, value: int) -> object:
        return ("second", value) if value else None


class Words(CoFlatMapFunction):
    def flat_map1(self, value: str) -> Iterable[object]:
        return value.split()

    def flat_map2(self, value: str) -> None:
        return None


def environment(recorder: MemoryRecorder | None = None) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    return env if recorder is None else env.flowsim_settings(recorder=recorder)


def collected(env: StreamExecutionEnvironment, stream: object) -> list[object]:
    return list(stream.execute_and_collect())  # type: ignore[attr-defined]


def test_co_map_applies_one_function_per_stream() -> None:
    env = environment()
    mapped = env.from_collection([1, 2]).connect(env.from_collection([0, 5])).map(Sides())
    assert mapped.get_name() == "Co-Map"
    assert sorted(collected(env, mapped)) == [("first", 1), ("first", 2), ("second", 5)]  # type: ignore[type-var]


def test_co_flat_map_emits_any_number_of_records() -> None:
    env = environment()
    words = env.from_collection(["a b", "c"]).connect(env.from_collection(["no"])).flat_map(Words())
    assert words.get_name() == "Co-Flat Map"
    assert collected(env, words) == ["a", "b", "c"]


def test_co_process_function_emits_to_side_output() -> None:
    odd = OutputTag("odd")

    class Split(CoProcessFunction):
        def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> Iterable[object]:
            yield value

        def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> Iterable[object]:
            yield odd, value

    env = environment()
    stream = env.from_collection([1, 2]).connect(env.from_collection([3])).process(Split())
    main, side = CollectSink(), CollectSink()
    stream.sink_to(main)
    stream.get_side_output(odd).sink_to(side)
    env.execute()
    assert (main.values(), side.values()) == ([1, 2], [3])


class Priced(KeyedCoProcessFunction):
    """The second stream's latest price for every order of the first."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.price = runtime_context.get_state(ValueStateDescriptor("price", Types.LONG()))

    def process_element1(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> Iterable[object]:
        ctx.timer_service().register_event_time_timer(7)
        yield (*value, self.price.value())

    def process_element2(self, value: tuple[str, int], ctx: KeyedCoProcessFunction.Context) -> None:
        self.price.update(value[1])

    def on_timer(self, timestamp: int, ctx: KeyedCoProcessFunction.OnTimerContext) -> Iterable[object]:
        yield "timer", ctx.get_current_key(), self.price.value()


def test_equal_keys_of_both_streams_share_state_and_timers() -> None:
    recorder = MemoryRecorder(Level.FULL)
    env = environment(recorder)
    orders = env.from_collection([("eur", 1), ("usd", 2), ("eur", 3), ("yen", 4)])
    prices = env.from_collection([("usd", 20), ("eur", 10)])
    connected = orders.connect(prices).key_by(lambda order: order[0], lambda price: price[0], Types.STRING())
    priced = connected.reading("second").process(Priced()).set_parallelism(3)
    assert priced.get_name() == "Keyed Co-Process"
    assert sorted(collected(env, priced), key=str) == [
        ("eur", 1, 10), ("eur", 3, 10), ("timer", "eur", 10), ("timer", "usd", 20), ("timer", "yen", None),
        ("usd", 2, 20), ("yen", 4, None),
    ]  # fmt: skip
    assert [outcome for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED] == []


def test_keyed_co_map_has_keyed_state() -> None:
    class Counting(CoMapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

        def map1(self, value: int) -> object:
            self.count.update((self.count.value() or 0) + 1)
            return None

        def map2(self, value: int) -> object:
            return value, self.count.value()

    env = environment()
    connected = env.from_collection([1, 1, 2]).connect(env.from_collection([1, 2, 3]))
    counted = connected.key_by(lambda v: v, lambda v: v).reading("first").map(Counting())
    assert counted.get_name() == "Co-Map"
    assert sorted(collected(env, counted)) == [(1, 2), (2, 1), (3, None)]  # type: ignore[type-var]


def test_streams_keyed_before_connect_are_keyed() -> None:
    env = environment()
    orders = env.from_collection([("eur", 1)]).key_by(lambda value: value[0], Types.STRING())
    prices = env.from_collection([("eur", 9)]).key_by(lambda value: value[0], Types.STRING())
    priced = orders.connect(prices).reading("second").process(Priced())
    assert ("eur", 1, 9) in collected(env, priced)


def test_connecting_keys_of_different_types_is_refused() -> None:
    env = environment()
    orders = env.from_collection([("eur", 1)]).key_by(lambda value: value[0], Types.STRING())
    prices = env.from_collection([("eur", 9)]).key_by(lambda value: value[1], Types.LONG())
    with pytest.raises(BadInput, match="keyed by different types"):
        orders.connect(prices).process(Priced())


def test_alternate_reading_takes_one_record_of_each_input() -> None:
    env = environment()
    connected = env.from_collection([1, 2, 3]).connect(env.from_collection([7, 8])).reading("alternate")
    assert collected(env, connected.map(Sides())) == [
        ("first", 1), ("second", 7), ("first", 2), ("second", 8), ("first", 3),
    ]  # fmt: skip


class Sum(MultipleInputOperator):
    """A user's own: reads the third input first, then adds up what all give."""

    def __init__(self) -> None:
        super().__init__(3)
        self.total = 0
        self.third_ended = False

    def process_element_of(self, input_id: int, value: object, timestamp: int | None) -> None:
        assert isinstance(value, int)
        self.total += value
        self.output.collect((input_id, self.total), timestamp)

    def end_input_of(self, input_id: int) -> None:
        self.third_ended = self.third_ended or input_id == 3

    def next_selection(self) -> InputSelection:
        return InputSelection.ALL if self.third_ended else InputSelection.of(3)


def test_user_defined_operator_selects_among_many_inputs() -> None:
    env = environment()
    streams = [env.from_collection(values) for values in ([1, 2], [10], [100, 200])]
    totals = collected(env, env.multiple_input("sum", Sum, *streams))
    assert totals[:2] == [(3, 100), (3, 300)]
    assert totals[-1][1] == 313  # type: ignore[index]


def test_connected_streams_run_user_defined_operator() -> None:
    class Second(MultipleInputOperator):
        def process_element_of(self, input_id: int, value: object, timestamp: int | None) -> None:
            if input_id == 2:
                self.output.collect(value, timestamp)

    env = environment()
    connected = env.from_collection([1]).connect(env.from_collection([2]))
    assert collected(env, connected.transform("second", lambda: Second(2))) == [2]
    with pytest.raises(BadInput, match="select the inputs in your own operator"):
        connected.reading("first").transform("second", lambda: Second(2))


def test_stream_graph_has_both_inputs() -> None:
    env = environment()
    env.from_collection([1]).connect(env.from_collection([2]).broadcast()).map(Sides())
    graph = env.stream_graph()
    assert [(edge.source_id, edge.input_index) for edge in graph.edges] == [(1, 0), (2, 1)]
    assert graph.nodes[3].description.params == {"reading": "any"}


def test_invalid_connections_are_refused() -> None:
    env, other = environment(), environment()
    stream = env.from_collection([1])
    with pytest.raises(TypeError, match="connect: expected a stream"):
        stream.connect([1])  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="different environments"):
        stream.connect(other.from_collection([1])).map(Sides())
    with pytest.raises(BadInput, match="reading: expected one of any, first, second, alternate"):
        stream.connect(stream).reading("both")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a CoMapFunction"):
        stream.connect(stream).map(lambda value: value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a CoMapFunction"):
        stream.connect(stream).key_by(str, str).map(lambda value: value)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="without keys for both inputs: expected a CoProcessFunction"):
        stream.connect(stream).process(Priced())
    with pytest.raises(BadInput, match="expected 2 to 63 streams, got 64"):
        env.multiple_input("wide", Sum, *[stream] * 64)
    with pytest.raises(TypeError, match="expected a CoFlatMapFunction"):
        stream.connect(stream).flat_map(MapFunction)  # type: ignore[arg-type]


def test_timers_without_keys_on_both_streams_are_refused() -> None:
    class Timing(CoProcessFunction):
        def process_element1(self, value: int, ctx: CoProcessFunction.Context) -> None:
            ctx.timer_service().register_event_time_timer(1)

        def process_element2(self, value: int, ctx: CoProcessFunction.Context) -> None:
            return None

    env = environment()
    with pytest.raises(JobFailed, match="timers are only available on a keyed stream"):
        collected(env, env.from_collection([1]).connect(env.from_collection([2])).process(Timing()))
