"""Arguments that the API refuses, by name and at the wrong line; and what each subtask gets."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.datastream import (
    AggregateFunction,
    CoMapFunction,
    DataStream,
    KeyedBroadcastProcessFunction,
    KeyedProcessFunction,
    KeyedStream,
    KeySelector,
    MapFunction,
    OutputTag,
    ProcessFunction,
    ReduceFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import (
    Configuration,
    Duration,
    Instant,
    Row,
    Time,
    TimestampAssigner,
    Types,
    WatermarkStrategy,
)
from flowsim.datastream.state import MapStateDescriptor
from flowsim.datastream.window import CountTrigger, SlidingEventTimeWindows, TumblingEventTimeWindows
from flowsim.errors import BadInput
from flowsim.operators.functions.basic import MapOperator
from flowsim.operators.sources.source import SourceOperator
from flowsim.operators.timestamps_and_watermarks import TimestampsAndWatermarksOperator

ENV = StreamExecutionEnvironment.get_execution_environment
WINDOW = TumblingEventTimeWindows.of(Time.seconds(1))


OVERRIDING_PARTITIONERS: dict[str, Callable[[DataStream], object]] = {
    "FORWARD": lambda keyed: keyed.forward(),
    "SHUFFLE": lambda keyed: keyed.shuffle(),
    "REBALANCE": lambda keyed: keyed.rebalance(),
    "RESCALE": lambda keyed: keyed.rescale(),
    "BROADCAST": lambda keyed: keyed.broadcast(),
    "BROADCAST with state": lambda keyed: keyed.broadcast(MapStateDescriptor("s", Types.STRING(), Types.STRING())),
    "GLOBAL": lambda keyed: keyed.global_(),
    "CUSTOM": lambda keyed: keyed.partition_custom(lambda key, count: 0, lambda value: value),
}


@pytest.mark.parametrize("name", OVERRIDING_PARTITIONERS)
def test_partitioning_of_keyed_stream_is_refused(name: str) -> None:
    """Flink: KeyedStream.setConnectionType."""
    numbers = ENV().from_collection([1, 2])
    partition = OVERRIDING_PARTITIONERS[name]
    for keyed in (numbers.key_by(lambda n: n), numbers.key_by(lambda n: n).exchange("blocking")):
        with pytest.raises(BadInput, match=rf"Cannot override partitioning for KeyedStream\. {name.split()[0]} "):
            partition(keyed)
    partition(numbers)
    partition(numbers.key_by(lambda n: n).map(lambda n: n))


def test_keyed_stream_accepts_keys_unions_windows_joins_and_connections() -> None:
    """Another key, a union, whole-stream windows, joins and connections are no partitioners of its own."""
    env = ENV()
    first, second = env.from_collection([1, 2]), env.from_collection([3])
    keyed = first.key_by(lambda n: n)
    sink = CollectSink()
    keyed.key_by(lambda n: n % 2).union(second.key_by(lambda n: n)).sink_to(sink)
    keyed.count_window_all(1).reduce(lambda one, other: one).sink_to(sink)
    keyed.connect(second.key_by(lambda n: n)).map(Same()).sink_to(sink)
    keyed.connect(second.broadcast(MapStateDescriptor("s", Types.STRING(), Types.STRING()))).process(
        Remembering()
    ).sink_to(sink)
    keyed.exchange("blocking").print()
    assert len(env.stream_graph().nodes) > 0


class Same(CoMapFunction):
    def map1(self, value: object) -> object:
        return value

    def map2(self, value: object) -> object:
        return value


class Remembering(KeyedBroadcastProcessFunction):
    def process_element(self, value: object, ctx: object) -> list[object]:
        return [value]

    def process_broadcast_element(self, value: object, ctx: object) -> list[object]:
        return []


class Counting(MapFunction):
    def __init__(self) -> None:
        self.seen: list[object] = []

    def map(self, value: object) -> object:
        self.seen.append(value)
        return value


class Locked(MapFunction):
    def __init__(self) -> None:
        self.lock = threading.Lock()

    def map(self, value: object) -> object:
        return value


class Plain(ProcessFunction):
    def process_element(self, value: object, ctx: ProcessFunction.Context) -> None:
        return None


class Keyed(KeyedProcessFunction):
    def process_element(self, value: object, ctx: KeyedProcessFunction.Context) -> None:
        return None


class OpenedKey(KeySelector):
    def open(self, runtime_context: object) -> None:
        raise AssertionError

    def get_key(self, value: object) -> object:
        return value


class OpenedReduce(ReduceFunction):
    def open(self, runtime_context: object) -> None:
        raise AssertionError

    def reduce(self, value1: object, value2: object) -> object:
        return value1


def stream() -> DataStream:
    return ENV().from_collection([1])


def keyed() -> KeyedStream:
    return stream().key_by(lambda value: value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stream().map(3), "map: expected a MapFunction or a callable, got 3"),
        (lambda: stream().map(Counting), "map: expected a MapFunction or a callable, got <class"),
        (lambda: stream().filter(Counting()), "filter: expected a FilterFunction or a callable"),
        (lambda: stream().flat_map(None), "flat_map: expected a FlatMapFunction or a callable, got None"),
        (lambda: stream().process(Keyed()), "process: expected a ProcessFunction"),
        (lambda: keyed().process(Plain()), "process: expected a KeyedProcessFunction after key_by"),
        (lambda: keyed().reduce(1), "reduce: expected a ReduceFunction or a callable, got 1"),
        (lambda: keyed().reduce(ReduceFunction), "reduce: expected a ReduceFunction or a callable, got <class"),
        (lambda: stream().key_by("id"), "key_by: expected a KeySelector or a callable, got 'id'"),
        (
            lambda: stream().key_by(OpenedKey()),
            "key_by: open() and close() of a KeySelector are never called, but OpenedKey defines",
        ),
        (lambda: stream().union(stream().map), "union: expected streams"),
        (lambda: stream().sink_to(print), "sink_to: expected a sink"),
        (lambda: stream().get_side_output("late"), "get_side_output: expected an OutputTag, got 'late'"),
        (lambda: stream().assign_timestamps_and_watermarks(5), "expected a WatermarkStrategy, got 5"),
        (lambda: keyed().window(5), "window: expected a window assigner, got 5"),
        (lambda: keyed().window(WINDOW).trigger(5), "window: trigger: expected a trigger, got 5"),
        (
            lambda: keyed().window(WINDOW).reduce(ReduceFunction),
            "window: reduce: expected a ReduceFunction or a callable",
        ),
        (lambda: keyed().window(WINDOW).aggregate(max), "window: aggregate: expected an AggregateFunction"),
        (lambda: keyed().window(WINDOW).process(Plain()), "window: process: expected a ProcessWindowFunction"),
        (
            lambda: keyed().window(WINDOW).reduce(OpenedReduce()),
            "OpenedReduce has open() or close(), which Flink does not call inside",
        ),
        (lambda: keyed().window(WINDOW).reduce(max, Plain()), "window: reduce: expected a ProcessWindowFunction or"),
        (lambda: TumblingEventTimeWindows.of(5), "size: expected a Duration or a Time"),
        (lambda: WatermarkStrategy.for_bounded_out_of_orderness(5), "expected a Duration or a Time"),
        (lambda: WatermarkStrategy.no_watermarks().with_timestamp_assigner(5), "expected a TimestampAssigner, got 5"),
        (lambda: ENV().from_collection("abc"), "from_collection: expected a collection of values, got 'abc'"),
        (lambda: ENV().from_source([], WatermarkStrategy.no_watermarks(), "s"), "from_source: expected a source"),
        (lambda: ENV().add_source(5), "add_source: expected a source"),
    ],
)
def test_argument_of_wrong_type_raises_type_error_naming_the_call(call: Callable, message: str) -> None:
    with pytest.raises(TypeError) as refused:
        call()
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: stream().set_parallelism(2), "operator 'Source: Collection Source': parallelism must be 1, got 2"),
        (lambda: stream().map(str).set_parallelism(0), "operator 'Map': parallelism: expected 1 or more, got 0"),
        (lambda: stream().map(str).set_parallelism(True), "expected an integer, got True"),
        (lambda: stream().map(str).set_parallelism(40000), "parallelism: expected at most 32768, got 40000"),
        (lambda: stream().map(str).set_max_parallelism(40000), "max parallelism: expected at most 32768, got 40000"),
        (lambda: stream().map(str).force_non_parallel().set_parallelism(2), "force_non_parallel was called"),
        (lambda: stream().map(str).set_buffer_timeout(-2), "operator 'Map': buffer timeout: expected -1 (never)"),
        (lambda: stream().map(str).cost(-1), "operator 'Map': cost: expected 0 ns or more, or a Duration, got -1"),
        (lambda: stream().map(str).name(""), "operator 'Map': expected a name, got ''"),
        (lambda: stream().map(str).uid(""), "operator 'Map': expected a uid, got ''"),
        (lambda: stream().map(str).rebalance().name("x"), "name applies to one operator, but this stream comes from"),
        (lambda: keyed().set_parallelism(2), "set_parallelism applies to one operator"),
        (lambda: stream().union(stream()), "union: the streams belong to different environments"),
        (lambda: stream().map(Locked()), "operator 'map': its function Locked cannot be copied for each subtask"),
        (lambda: stream().execute_and_collect(limit=0), "execute_and_collect: expected a limit >= 1, got 0"),
        (
            lambda: keyed().window(WINDOW).allowed_lateness(-1),
            "allowed_lateness: expected 0 ms or more, got -1",
        ),
        (lambda: TumblingEventTimeWindows.of(Time.milliseconds(0)), "tumbling window: expected size >= 1 ms"),
        (lambda: SlidingEventTimeWindows.of(Time(5), Time(5), Time(5)), "sliding window: expected size >= 1 ms and"),
        (lambda: ENV().set_parallelism(0), "parallelism: expected 1 or more, got 0"),
        (
            lambda: ENV().configure(segment_size=1),
            "unknown setting 'segment_size' (did you mean 'segment_size_bytes'?)",
        ),
        (lambda: ENV().configure(segment_size_bytes="1"), "segment_size_bytes: expected an integer, got '1'"),
        (lambda: ENV().configure(object_reuse=1), "object_reuse: expected True or False, got 1"),
        (
            lambda: ENV().get_config().set_auto_watermark_interval(-1),
            "set_auto_watermark_interval: expected 0 or more, got -1",
        ),
        (lambda: Configuration.from_dict({"paralelism.default": "2"}), "(did you mean 'parallelism.default'?)"),
        (lambda: Configuration().set_string("parallelism.default", "x"), "expected a value of kind int, got 'x'"),
        (lambda: ENV().from_collection([(1,)], Types.ROW([])), "from_collection: expected 0 fields of ROW<>, got (1,)"),
    ],
)
def test_argument_of_wrong_value_raises_bad_input_naming_call_or_operator(call: Callable, message: str) -> None:
    with pytest.raises(BadInput) as refused:
        call()
    assert message in str(refused.value)


def test_each_subtask_gets_its_own_copy_of_function_object() -> None:
    env = ENV()
    function = Counting()
    env.from_collection([1]).map(function)
    make = list(env.stream_graph().nodes.values())[1].operator_factory
    first, second = make(), make()
    assert isinstance(first, MapOperator)
    assert isinstance(second, MapOperator)
    first._map("seen")
    assert function.seen == []
    assert second._map.__self__.seen == []  # type: ignore[attr-defined]
    assert first._map.__self__.seen == ["seen"]  # type: ignore[attr-defined]


def test_plain_functions_are_shared_by_subtasks() -> None:
    env = ENV()
    seen: list[object] = []
    env.from_collection([1]).map(lambda value: seen.append(value))
    _, closure = env.stream_graph().nodes.values()
    closure.operator_factory()._map("shared")  # type: ignore[attr-defined]
    assert seen == ["shared"]


class Second(TimestampAssigner):
    def extract_timestamp(self, value: tuple[str, int], record_timestamp: int) -> int:
        return value[1]


@pytest.mark.parametrize("assigner", [Second(), lambda value, record_timestamp: value[1]])
def test_timestamp_assigner_may_be_object_or_function(assigner: object) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_seconds(1)).with_timestamp_assigner(assigner)
    extract = strategy.for_subtask("test").timestamp_extractor
    assert extract is not None
    assert extract(("a", 7), 0) == 7


def test_settings_are_read_when_operators_are_created() -> None:
    env = ENV()
    stream = env.from_collection([1]).assign_timestamps_and_watermarks(WatermarkStrategy.for_monotonous_timestamps())
    env.get_config().set_auto_watermark_interval(50)
    source, watermarks = (node.operator_factory() for node in env.stream_graph().nodes.values())
    assert isinstance(source, SourceOperator)
    assert isinstance(watermarks, TimestampsAndWatermarksOperator)
    assert (source._interval_ms, watermarks._interval_ms) == (50, 50)
    assert stream.get_execution_environment() is env


def test_flink_option_keys_set_job_settings() -> None:
    env = ENV(
        Configuration.from_dict(
            {
                "parallelism.default": "3",
                "pipeline.max-parallelism": "16",
                "execution.buffer-timeout.interval": "0 ms",
                "taskmanager.memory.segment-size": "4 kb",
                "pipeline.operator-chaining.enabled": "false",
                "pipeline.auto-watermark-interval": "50",
            }
        )
    )
    assert (env.get_parallelism(), env.get_max_parallelism(), env.get_buffer_timeout()) == (3, 16, 0)
    assert (env.settings.segment_size_bytes, env.is_chaining_enabled()) == (4096, False)
    assert env.get_config().get_auto_watermark_interval() == 50


def test_configuration_returns_set_values() -> None:
    given = Configuration().set_integer("parallelism.default", 3).set_string("taskmanager.memory.segment-size", "4 kb")
    copy = Configuration(given).set_boolean("pipeline.operator-chaining.enabled", False)
    assert not given.contains_key("pipeline.operator-chaining.enabled")
    assert copy.to_dict() == {
        "parallelism.default": "3",
        "taskmanager.memory.segment-size": "4 kb",
        "pipeline.operator-chaining.enabled": "false",
    }


def test_object_reuse_is_enabled_and_disabled() -> None:
    config = ENV().get_config()
    assert not config.is_object_reuse_enabled()
    assert config.enable_object_reuse().is_object_reuse_enabled()
    assert not config.disable_object_reuse().is_object_reuse_enabled()


def test_duration_and_time_have_all_pyflink_constructors() -> None:
    durations = [Duration.of_days(1), Duration.of_hours(24), Duration.of_minutes(1_440), Duration.of_seconds(86_400)]
    durations += [Duration.of_millis(86_400_000), Duration.of_nanos(86_400_000_000_000)]
    times = [Time.days(1), Time.hours(24), Time.minutes(1_440), Time.seconds(86_400), Time.milliseconds(86_400_000)]
    assert {d.to_millis() for d in durations} == {t.to_milliseconds() for t in times} == {86_400_000}
    assert (len(set(durations)), len(set(times))) == (1, 1)


def test_time_and_instant_are_constructed_as_in_pyflink() -> None:
    assert Time(milliseconds=1_500).to_milliseconds() == 1_500
    assert Instant.of_epoch_milli(1_500) == Instant(1, 500_000_000)
    assert [Instant.of_epoch_milli(ms).to_epoch_milli() for ms in (-1_001, -1, 0, 999, 10**12)] == [
        -1_001, -1, 0, 999, 10**12,
    ]  # fmt: skip


def test_runtime_context_has_task_name_and_subtask_index() -> None:
    class Where(MapFunction):
        def open(self, runtime_context: RuntimeContext) -> None:
            self.here = (
                runtime_context.get_task_name(),
                runtime_context.get_task_name_with_subtasks(),
                runtime_context.get_index_of_this_subtask(),
                runtime_context.get_number_of_parallel_subtasks(),
                runtime_context.get_max_number_of_parallel_subtasks(),
                runtime_context.get_attempt_number(),
            )

        def map(self, value: object) -> object:
            return self.here

    env = ENV().set_max_parallelism(16)
    stream = env.from_collection([1, 2]).rebalance().map(Where()).name("where").set_parallelism(2)
    message = stream.map(lambda where: where).name("as told").set_parallelism(2)
    name = "where -> as told"
    assert sorted(message.execute_and_collect()) == [
        (name, f"{name} (1/2)#0", 0, 2, 16, 0),
        (name, f"{name} (2/2)#0", 1, 2, 16, 0),
    ]


def test_add_sink_equals_sink_to() -> None:
    env, sink = ENV(), CollectSink()
    env.from_collection([1, 2]).add_sink(sink)
    env.execute()
    assert sink.values() == [1, 2]


def test_row_type_makes_rows_of_tuples() -> None:
    named = Types.ROW_NAMED(["id", "name"], [Types.INT(), Types.STRING()])
    env = ENV()
    stream = env.from_collection([(1, "a"), [2, "b"]], named)
    assert stream.get_type() == named
    stream.print()
    (source, _) = env.stream_graph().nodes.values()
    values = source.operator_factory()._reader._open_blocks(None)  # type: ignore[attr-defined]
    assert list(next(values)) == [Row(id=1, name="a"), Row(id=2, name="b")]


def test_output_tag_without_name_is_refused() -> None:
    with pytest.raises(ValueError, match="tag_id cannot be empty"):
        OutputTag("")


def test_count_trigger_and_aggregate_have_pyflinks_names() -> None:
    class Sum(AggregateFunction):
        def create_accumulator(self) -> int:
            return 0

        def add(self, value: int, accumulator: int) -> int:
            return value + accumulator

        def get_result(self, accumulator: int) -> int:
            return accumulator

        def merge(self, acc_a: int, acc_b: int) -> int:
            return acc_a + acc_b

    env = ENV()
    env.from_collection([1]).key_by(lambda n: n).window(WINDOW).trigger(CountTrigger.of(2)).aggregate(Sum())
    (_, window) = env.stream_graph().nodes.values()
    assert window.name == "TumblingEventTimeWindows Aggregate"
    assert window.operator_factory() is not window.operator_factory()


def test_names_are_in_the_modules_of_pyflink() -> None:
    modules = {
        "flowsim.datastream": (
            "BroadcastProcessFunction KeyedProcessFunction CoProcessFunction KeyedCoProcessFunction WindowFunction "
            "ProcessWindowFunction AggregateFunction RuntimeContext TimerService TimeDomain OutputTag Window TimeWindow "
            "CountWindow GlobalWindow WindowAssigner MergingWindowAssigner Trigger TriggerResult BroadcastStream "
            "AsyncDataStream AsyncFunction AsyncRetryStrategy AsyncRetryPredicate"
        ),
        "flowsim.datastream.functions": (
            "Function BaseBroadcastProcessFunction BroadcastProcessFunction KeyedBroadcastProcessFunction CoMapFunction "
            "CoFlatMapFunction ProcessAllWindowFunction AllWindowFunction PassThroughWindowFunction KeyedStateStore "
            "AsyncFunction AsyncRetryPredicate AsyncRetryStrategy"
        ),
        "flowsim.datastream.async_retry_strategies": (
            "RetryPredicate NoRetryStrategy FixedDelayRetryStrategy ExponentialBackoffDelayRetryStrategy"
        ),
        "flowsim.datastream.common": "Duration Time Instant Types Row WatermarkStrategy TimestampAssigner Configuration",
    }
    for module, names in modules.items():
        given = importlib.import_module(module)
        assert [name for name in names.split() if name not in given.__all__ or not hasattr(given, name)] == []
