"""Jobs of a few lines, run from end to end on the virtual clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from flowsim.connectors.files.csv import CsvSource
from flowsim.connectors.files.parquet import ParquetSink
from flowsim.connectors.generator import Choice, GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, watermark
from flowsim.datastream import (
    AggregateFunction,
    KeyedProcessFunction,
    MapFunction,
    OutputTag,
    Partitioner,
    ProcessFunction,
    ProcessWindowFunction,
    RuntimeContext,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Row, Types, WatermarkStrategy
from flowsim.datastream.state import ValueStateDescriptor
from flowsim.datastream.window import TimeWindow, TumblingEventTimeWindows
from flowsim.errors import BadInput, JobFailed
from flowsim.units import MAX_WATERMARK

NO_WATERMARKS = WatermarkStrategy.no_watermarks()
TEN_MS = TumblingEventTimeWindows.of(Duration.of_millis(10))


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment()


def test_map_filter_and_flat_map_keep_order_of_subtask(env: StreamExecutionEnvironment) -> None:
    stream = (
        env.from_collection(range(6)).map(lambda n: n * 10).filter(lambda n: n % 20 == 0).flat_map(lambda n: [n, n + 1])
    )
    assert list(stream.execute_and_collect()) == [0, 1, 20, 21, 40, 41]


def test_every_value_type_arrives_unchanged(env: StreamExecutionEnvironment) -> None:
    values = [None, True, 1, 1.5, "s", b"b", (1, (2,)), [1, "x"], {"k": [1.0]}, Row(1, "a"), Row(n=1)]
    stream = env.from_collection(values).rebalance().map(lambda value: value)
    arrived = list(stream.execute_and_collect())
    assert arrived == values
    assert list(map(type, arrived)) == list(map(type, values))


class ByLength(Partitioner):
    """To the subtask of the key's length, and to one that is not there for long keys."""

    def partition(self, key: str, num_partitions: int) -> int:
        return len(key) if len(key) < 5 else num_partitions


def test_custom_partitioner_selects_subtask(env: StreamExecutionEnvironment) -> None:
    sink = CollectSink()
    stream = env.from_collection(["a", "bb", "", "cc", "d"]).partition_custom(ByLength(), lambda word: word)
    stream.map(str.upper).set_parallelism(3).sink_to(sink).set_parallelism(3)
    env.execute()
    assert [sink.values(subtask) for subtask in range(3)] == [[""], ["A", "D"], ["BB", "CC"]]


def test_custom_partitioner_with_invalid_channel_fails_job(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(["a", "far too long"]).partition_custom(ByLength(), lambda word: word)
    stream.map(str.upper).set_parallelism(2).print()
    with pytest.raises(JobFailed, match="the custom partitioner chose channel 2 of 2"):
        env.execute()


def test_execute_and_collect_with_limit_returns_list_of_first_records(env: StreamExecutionEnvironment) -> None:
    assert env.from_collection(range(100)).map(str).execute_and_collect(limit=3) == ["0", "1", "2"]


def test_environment_is_empty_after_run_and_streams_are_reusable(env: StreamExecutionEnvironment) -> None:
    doubled = env.from_collection([1, 2]).map(lambda n: n * 2)
    assert list(doubled.execute_and_collect()) == [2, 4]
    with pytest.raises(BadInput, match="the job has no operators"):
        env.execute()
    assert list(doubled.map(str).execute_and_collect()) == ["2", "4"]


def test_word_count_counts_per_key(env: StreamExecutionEnvironment) -> None:
    env.set_parallelism(3)
    counts = (
        env.from_collection(["to be or", "not to be"])
        .flat_map(str.split)
        .map(lambda word: (word, 1))
        .key_by(lambda pair: pair[0], Types.STRING())
        .reduce(lambda a, b: (a[0], a[1] + b[1]))
    )
    assert sorted(counts.execute_and_collect()) == [("be", 1), ("be", 2), ("not", 1), ("or", 1), ("to", 1), ("to", 2)]


class SumOfWindow(ProcessWindowFunction[int, tuple[str, int, int, int], str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[tuple[str, int]]
    ) -> Iterable[tuple[str, int, int, int]]:
        yield key, context.window().start, sum(value for _, value in elements), context.current_watermark()


def test_window_fires_on_watermark_and_late_records_go_to_side_output(env: StreamExecutionEnvironment) -> None:
    script = [
        record(("a", 1), 3), record(("a", 2), 9), watermark(9), record(("a", 4), 12), record(("b", 8), 5), watermark(15),
    ]  # fmt: skip
    late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.INT()]))
    windows = (
        env.add_source(ScriptedSource(script))
        .key_by(lambda pair: pair[0], Types.STRING())
        .window(TEN_MS)
        .side_output_late_data(late)
        .process(SumOfWindow())
    )
    lates, fired = CollectSink(), CollectSink()
    windows.get_side_output(late).sink_to(lates)
    windows.sink_to(fired)
    env.execute("windows")
    assert fired.records() == [(("a", 0, 3, 9), 9), (("a", 10, 4, MAX_WATERMARK), 19)]
    assert lates.records() == [(("b", 8), 5)]


class Average(AggregateFunction):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: tuple[str, int], accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class WithKey(ProcessWindowFunction[float, tuple[str, float], str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[float]
    ) -> Iterable[tuple[str, float]]:
        return [(key, average) for average in elements]


def test_aggregate_may_have_a_window_function(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)).with_timestamp_assigner(
        lambda value, previous: value[1]
    )
    pairs = [("a", 1), ("b", 2), ("a", 4), ("a", 11)]
    averages = (
        env.from_collection(pairs)
        .assign_timestamps_and_watermarks(strategy)
        .key_by(lambda pair: pair[0])
        .window(TEN_MS)
        .aggregate(Average(), WithKey())
    )
    assert sorted(averages.execute_and_collect()) == [("a", 2.5), ("a", 11.0), ("b", 2.0)]


class Remember(KeyedProcessFunction):
    """Emits the previous value of the key, and the last one when a timer says that nothing follows."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.INT()))

    def process_element(
        self, value: tuple[str, int], ctx: KeyedProcessFunction.Context
    ) -> Iterable[tuple[str, str, int | None]]:
        yield "before", ctx.get_current_key(), self.last.value()
        self.last.update(value[1])
        ctx.timer_service().register_event_time_timer(100)

    def on_timer(
        self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext
    ) -> Iterable[tuple[str, str, int | None]]:
        yield f"timer {timestamp}", ctx.get_current_key(), self.last.value()


def test_state_and_timers_belong_to_key(env: StreamExecutionEnvironment) -> None:
    script = [record(("a", 1), 1), record(("b", 2), 2), record(("a", 3), 3)]
    stream = env.add_source(ScriptedSource(script)).key_by(lambda pair: pair[0]).process(Remember())
    assert list(stream.execute_and_collect()) == [
        ("before", "a", None), ("before", "b", None), ("before", "a", 1), ("timer 100", "a", 3), ("timer 100", "b", 2),
    ]  # fmt: skip


ODD = OutputTag("odd", Types.INT())


class Split(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> Iterable[object]:
        if value % 2:
            yield ODD, value
        else:
            yield value


def test_process_function_emits_to_side_output(env: StreamExecutionEnvironment) -> None:
    split = env.from_collection(range(5)).process(Split())
    odd, even = CollectSink(), CollectSink()
    split.get_side_output(ODD).sink_to(odd)
    split.sink_to(even)
    env.execute()
    assert (odd.values(), even.values()) == ([1, 3], [0, 2, 4])


def test_union_with_itself_duplicates_every_record(env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([1, 2, 3])
    assert Counter(numbers.union(numbers).map(lambda n: n).execute_and_collect()) == {1: 2, 2: 2, 3: 2}


def test_broadcast_sends_every_record_to_every_subtask(env: StreamExecutionEnvironment) -> None:
    sink = CollectSink()
    env.from_collection([1, 2]).broadcast().sink_to(sink).set_parallelism(3)
    env.execute()
    assert [sink.values(subtask) for subtask in range(3)] == [[1, 2]] * 3


class Numbered(MapFunction):
    """Counts its own records: what two subtasks would share if the function were not copied."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.seen = 0

    def map(self, value: object) -> tuple[int, int]:
        self.seen += 1
        return self.subtask, self.seen


def test_each_subtask_opens_its_own_function(env: StreamExecutionEnvironment) -> None:
    stream = env.from_collection(range(4)).rebalance().map(Numbered()).set_parallelism(2)
    assert sorted(stream.execute_and_collect()) == [(0, 1), (0, 2), (1, 1), (1, 2)]


def test_print_has_subtask_prefix_of_flink(env: StreamExecutionEnvironment, capsys: pytest.CaptureFixture[str]) -> None:
    env.from_collection(["x"]).broadcast().print("out").set_parallelism(2)
    env.execute()
    assert sorted(capsys.readouterr().out.splitlines()) == ["out:1> x", "out:2> x"]


def test_file_is_split_over_subtasks_and_written_in_parts(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("k,v\na,1\nb,2\nc,3\na,4\n")
    source = CsvSource(tmp_path / "in.csv", {"k": "string", "v": "long"}, split_by="k")
    rows = env.from_source(source, NO_WATERMARKS, "rows").set_parallelism(3).map(lambda row: row).set_parallelism(3)
    rows.sink_to(ParquetSink(tmp_path / "out", {"k": "string", "v": "long"})).set_parallelism(3)
    env.execute()
    parts = [pq.read_table(tmp_path / "out" / f"part-{i}.parquet").to_pylist() for i in range(3)]
    assert parts == [[{"k": "a", "v": 1}, {"k": "a", "v": 4}], [{"k": "b", "v": 2}], [{"k": "c", "v": 3}]]


def test_bad_row_fails_job_with_file_position_and_leaves_no_part(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("v\n1\nx\n")
    env.from_source(CsvSource(path, {"v": "long"}), NO_WATERMARKS, "rows").sink_to(
        ParquetSink(tmp_path / "out", {"v": "long"})
    )
    with pytest.raises(JobFailed) as failed:
        env.execute()
    assert f"{path}:3:1 column 'v': expected a long" in str(failed.value)
    assert "Source: rows" in failed.value.task
    assert list((tmp_path / "out").iterdir()) == []


def test_exception_of_function_fails_job_with_operator(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 0]).map(lambda n: 1 // n).name("invert").print()
    with pytest.raises(JobFailed, match=r"invert.*ZeroDivisionError"):
        env.execute()


def drawn(seed: int) -> list[object]:
    env = StreamExecutionEnvironment.get_execution_environment().flowsim_settings(seed=seed)
    source = GeneratorSource(20, {"id": SequenceOf(), "key": Choice("abc")}, pace_ns=1000)
    return list(env.from_source(source, NO_WATERMARKS, "drawn").map(lambda row: row).execute_and_collect())


def test_seed_determines_generated_records() -> None:
    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)


def test_unknown_run_setting_is_refused_with_nearest(env: StreamExecutionEnvironment) -> None:
    with pytest.raises(BadInput, match="unknown setting 'sed' \\(did you mean 'seed'\\?\\)"):
        env.flowsim_settings(sed=1)
