"""Jobs in BATCH mode. The order of results is that of Flink 2.3.0 for the same jobs, in Java at parallelism 1."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.script import ScriptedSource, record, watermark
from flowsim.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Configuration, Duration, Types, WatermarkStrategy
from flowsim.datastream.common.watermark_strategy import TimestampAssigner
from flowsim.datastream.data_stream import DataStream
from flowsim.datastream.functions import SourceFunction
from flowsim.datastream.state import MapStateDescriptor
from flowsim.datastream.window import TumblingEventTimeWindows, TumblingProcessingTimeWindows
from flowsim.errors import BadInput
from flowsim.graph.job_graph import create_job_graph
from flowsim.network.partitions.result_partition_type import ResultPartitionType
from flowsim.testing import assert_laws
from flowsim.units import MAX_WATERMARK, NO_TIMESTAMP

ROWS = [
    *(("b", 300, 0), ("a", 1, 1), ("ccc", 256, 2), ("zz", 2, 3), ("é", 5, 4), ("b", 1, 5), ("a", 512, 6)),
    *(("ab", 7, 7), ("Z", 8, 8), ("b", 256, 9)),
    *((f"q{number % 3}", 0, 10 + number) for number in range(40)),
]
BY_NAME = [
    *(4, 8, 1, 6, 5, 9, 0, 7, 25, 10, 13, 16, 19, 22, 28, 31, 34, 37, 40, 43, 46, 49, 35, 41, 17, 20, 11, 29, 38, 14),
    *(26, 47, 32, 23, 44, 36, 24, 27, 42, 30, 33, 45, 12, 15, 39, 18, 48, 21, 3, 2),
]
"""The last fields of the rows, in Flink's order of the names and of equal records."""


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: object, record_timestamp: int) -> int:
        assert isinstance(value, tuple)
        return value[1]


STRATEGY = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)


def rows(env: StreamExecutionEnvironment, values: Iterable[object] = ROWS) -> DataStream:
    return env.from_collection(list(values)).assign_timestamps_and_watermarks(STRATEGY)


class Seen(KeyedProcessFunction):
    """Emits what it sees of each record and each timer."""

    def __init__(self, *, timers: bool = False) -> None:
        self.timers = timers

    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        assert ctx.timer_service().current_watermark() == NO_TIMESTAMP
        if self.timers:
            ctx.timer_service().register_processing_time_timer(value[1])
            ctx.timer_service().register_event_time_timer(value[1])
        yield value[2]

    def on_timer(self, timestamp, ctx):  # type: ignore[no-untyped-def]
        assert ctx.timer_service().current_watermark() == MAX_WATERMARK
        ctx.timer_service().register_event_time_timer(timestamp)
        yield ctx.get_current_key(), ctx.time_domain().name, timestamp


def test_keyed_input_is_sorted_by_serialized_key_and_timestamp_as_in_flink(env: StreamExecutionEnvironment) -> None:
    stream = rows(env).key_by(lambda row: row[0], Types.STRING()).process(Seen())
    assert list(stream.execute_and_collect()) == BY_NAME


def test_numbers_are_sorted_by_their_bytes_as_signed_numbers(env: StreamExecutionEnvironment) -> None:
    numbers = [300, -1, 128, 5, -200, 127]
    stream = env.from_collection(numbers).key_by(lambda number: number, Types.LONG()).sum()
    # The last bytes of -1, -200 and 128 are -1, 56 and -128.
    assert list(stream.execute_and_collect()) == [-1, -200, 128, 5, 127, 300]


def test_all_timers_of_a_key_fire_at_its_end(env: StreamExecutionEnvironment) -> None:
    some = [("b", 300, 0), ("a", 1, 1), ("b", 1, 2)]
    stream = rows(env, some).key_by(lambda row: row[0], Types.STRING()).process(Seen(timers=True))
    assert list(stream.execute_and_collect()) == [
        1, ("a", "EVENT_TIME", 1), ("a", "PROCESSING_TIME", 1),
        2, 0, ("b", "EVENT_TIME", 1), ("b", "EVENT_TIME", 300), ("b", "PROCESSING_TIME", 1), ("b", "PROCESSING_TIME", 300),
    ]  # fmt: skip


class Timestamps(ProcessFunction):
    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        yield value, ctx.timestamp(), ctx.timer_service().current_watermark()


def test_reduce_emits_one_record_per_key_at_the_end_of_event_time(env: StreamExecutionEnvironment) -> None:
    words = rows(env, [("b", 1, 1), ("a", 2, 1), ("b", 3, 1), ("b", 4, 1)])
    counts = words.key_by(lambda row: row[0], Types.STRING()).reduce(lambda x, y: (x[0], x[1], x[2] + y[2]))
    assert list(counts.process(Timestamps()).execute_and_collect()) == [
        (("a", 2, 1), MAX_WATERMARK, NO_TIMESTAMP),
        (("b", 1, 3), MAX_WATERMARK, NO_TIMESTAMP),
    ]


class Times(ProcessWindowFunction):
    def process(self, key, context, elements):  # type: ignore[no-untyped-def]
        yield key, context.window().start, len(list(elements))


def test_windows_fire_at_the_end_of_their_key_and_no_record_is_late(env: StreamExecutionEnvironment) -> None:
    values = [("b", 25, 0), ("a", 1, 1), ("b", 3, 2), ("b", 21, 3)]
    windows = rows(env, values).key_by(lambda row: row[0], Types.STRING())
    stream = windows.window(TumblingEventTimeWindows.of(Duration.of_millis(10))).process(Times())
    assert list(stream.execute_and_collect()) == [("a", 0, 1), ("b", 0, 1), ("b", 20, 2)]


def test_windows_of_processing_time_fire_at_the_end_of_their_key(env: StreamExecutionEnvironment) -> None:
    windows = rows(env).key_by(lambda row: row[0][0], Types.STRING())
    stream = windows.window(TumblingProcessingTimeWindows.of(Duration.of_hours(1))).process(Times())
    assert list(stream.execute_and_collect()) == [
        ("é", 0, 1), ("Z", 0, 1), ("a", 0, 3), ("b", 0, 3), ("c", 0, 1), ("q", 0, 40), ("z", 0, 1),
    ]  # fmt: skip


class Both(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):  # type: ignore[no-untyped-def]
        yield 1, value

    def process_element2(self, value, ctx):  # type: ignore[no-untyped-def]
        ctx.timer_service().register_event_time_timer(5)
        yield 2, value

    def on_timer(self, timestamp, ctx):  # type: ignore[no-untyped-def]
        yield 0, ctx.get_current_key()


def test_two_keyed_inputs_are_merged_by_key_and_timestamp(env: StreamExecutionEnvironment) -> None:
    first = rows(env, [("b", 2, 0), ("a", 3, 0), ("c", 1, 0)])
    second = rows(env, [("a", 1, 0), ("b", 1, 0), ("a", 4, 0)])
    both = first.connect(second).key_by(lambda row: row[0], lambda row: row[0], Types.STRING()).process(Both())
    assert list(both.execute_and_collect()) == [
        (2, ("a", 1, 0)), (1, ("a", 3, 0)), (2, ("a", 4, 0)), (0, "a"),
        (2, ("b", 1, 0)), (1, ("b", 2, 0)), (0, "b"), (1, ("c", 1, 0)),
    ]  # fmt: skip


RULES = MapStateDescriptor("rules", Types.STRING(), Types.STRING())


class Keyed(KeyedBroadcastProcessFunction):
    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        yield value[2], ctx.get_broadcast_state(RULES).get("rule")

    def process_broadcast_element(self, value, ctx):  # type: ignore[no-untyped-def]
        ctx.get_broadcast_state(RULES).put("rule", value)


class Plain(BroadcastProcessFunction):
    process_element = Keyed.process_element
    process_broadcast_element = Keyed.process_broadcast_element


def test_broadcast_input_is_read_before_the_other_one(env: StreamExecutionEnvironment) -> None:
    rules = env.from_collection(["first", "last"]).broadcast(RULES)
    plain = rows(env, ROWS[:3])
    assert list(plain.connect(rules).process(Plain()).execute_and_collect()) == [(n, "last") for n in range(3)]
    rules = env.from_collection(["first", "last"]).broadcast(RULES)
    keyed = rows(env, ROWS[:3]).key_by(lambda row: row[0], Types.STRING())
    found = list(keyed.connect(rules).process(Keyed()).execute_and_collect())
    assert found == [(1, "last"), (0, "last"), (2, "last")]


def test_watermarks_of_sources_are_dropped(env: StreamExecutionEnvironment) -> None:
    script = (record(1, 5), watermark(7), record(2, 8))
    stream = env.add_source(ScriptedSource(script)).process(Timestamps())
    assert list(stream.execute_and_collect()) == [(1, 5, NO_TIMESTAMP), (2, 8, NO_TIMESTAMP)]


def test_exchanges_are_blocking_and_keyed_operators_begin_chains(env: StreamExecutionEnvironment) -> None:
    env.enable_checkpointing(100)
    env.from_collection([1]).map(lambda n: n).key_by(lambda n: 0).sum().print()
    graph = create_job_graph(env.stream_graph())
    assert [edge.exchange for edge in graph.edges] == [ResultPartitionType.BLOCKING]
    assert [len(vertex.operators) for vertex in graph.vertices] == [2, 2]
    assert graph.graph.settings.checkpointing is None
    assert env.settings.checkpointing is not None


class Unbounded(SourceFunction):
    def run(self, ctx):  # type: ignore[no-untyped-def]
        """Emits nothing."""

    def cancel(self) -> None:
        """Does nothing."""


def test_unbounded_source_is_an_error_in_batch_mode_and_decides_automatic_mode(env: StreamExecutionEnvironment) -> None:
    endless = GeneratorSource(None, {"n": SequenceOf()}, pace_ns=1000)
    no_watermarks = WatermarkStrategy.no_watermarks()
    env.from_source(endless, no_watermarks, "endless").print()
    with pytest.raises(BadInput, match=r"^operator 'Source: endless': an unbounded source cannot run in BATCH mode"):
        env.stream_graph()
    env.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    assert env.stream_graph().settings.runtime_mode is RuntimeExecutionMode.STREAMING
    other = StreamExecutionEnvironment.get_execution_environment()
    other.set_runtime_mode(RuntimeExecutionMode.AUTOMATIC)
    other.from_source(GeneratorSource(3, {"n": SequenceOf()}), no_watermarks, "bounded").print()
    assert other.stream_graph().settings.runtime_mode is RuntimeExecutionMode.BATCH
    other.add_source(Unbounded()).print()
    assert other.stream_graph().settings.runtime_mode is RuntimeExecutionMode.STREAMING


def test_mode_is_an_option_of_flink() -> None:
    configuration = Configuration().set_string("execution.runtime-mode", "BATCH")
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    stream = env.from_collection([2, 3]).key_by(lambda n: 0).sum()
    assert list(stream.execute_and_collect()) == [5]


def test_laws_hold_in_batch_mode_at_any_parallelism(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    stream = rows(env).rebalance()
    keyed = stream.key_by(lambda row: row[0], Types.STRING())
    keyed.process(Seen(timers=True)).print()
    keyed.window(TumblingEventTimeWindows.of(Duration.of_millis(10))).process(Times()).print()
    keyed.connect(keyed).process(Both()).print()
    stream.key_by(lambda row: row[2] % 4).max(1).print()
    assert_laws(env)
