"""A job with keyed operators of several kinds in BATCH mode, here and on an embedded Flink."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from flowsim.datastream import (
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    ProcessFunction,
    RuntimeExecutionMode,
    StreamExecutionEnvironment,
    WindowFunction,
)
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.common.watermark_strategy import TimestampAssigner
from flowsim.datastream.data_stream import KeyedStream
from flowsim.datastream.window import TumblingEventTimeWindows
from tests.support.flink.machine import Differential

Rows = list[tuple[str, int, int]]


class SecondField(TimestampAssigner):
    def extract_timestamp(self, value: object, record_timestamp: int) -> int:
        assert isinstance(value, tuple)
        return value[1]


class Timers(KeyedProcessFunction):
    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        ctx.timer_service().register_processing_time_timer(value[1])
        ctx.timer_service().register_event_time_timer(value[1] + 1)
        yield f"timers {value[2]} {ctx.timer_service().current_watermark()}"

    def on_timer(self, timestamp, ctx):  # type: ignore[no-untyped-def]
        ctx.timer_service().register_event_time_timer(timestamp + 1)
        yield f"timers {ctx.get_current_key()} {ctx.time_domain().name} {timestamp}"


class Shown(ProcessFunction):
    def process_element(self, value, ctx):  # type: ignore[no-untyped-def]
        yield f"reduce {value[0]} {value[1]} {value[2]} {ctx.timestamp()}"


class Counts(WindowFunction):
    def apply(self, key, window, inputs):  # type: ignore[no-untyped-def]
        yield " ".join(["windows", key, str(window.start), *(str(row[2]) for row in inputs)])


class Both(KeyedCoProcessFunction):
    def process_element1(self, value, ctx):  # type: ignore[no-untyped-def]
        yield f"both 1 {value[2]}"

    def process_element2(self, value, ctx):  # type: ignore[no-untyped-def]
        yield f"both 2 {value[2]}"


def outputs(first: Rows, second: Rows) -> list[str]:
    env = StreamExecutionEnvironment.get_execution_environment().set_runtime_mode(RuntimeExecutionMode.BATCH)

    def keyed(rows: Rows) -> KeyedStream:
        strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(SecondField())
        stream = env.from_collection(rows).assign_timestamps_and_watermarks(strategy)
        return stream.key_by(lambda row: row[0], Types.STRING())

    one, two = keyed(first), keyed(second)
    timers = one.process(Timers())
    sums = one.reduce(lambda x, y: (x[0], x[1], x[2] + y[2])).process(Shown())
    windows = one.window(TumblingEventTimeWindows.of(Duration.of_millis(10))).apply(Counts())
    both = one.connect(two).process(Both())
    return list(timers.union(sums, windows, both).execute_and_collect())


def by_operator(found: list[str]) -> dict[str, list[str]]:
    """The outputs of each operator in their order; that of different operators is left to chance."""
    names = sorted({line.split()[0] for line in found})
    return {name: [line for line in found if line.startswith(name)] for name in names}


rows = st.tuples(st.sampled_from(["a", "b", "ab", "é", "Z", "key"]), st.integers(0, 30), st.integers(0, 99))


def test_outputs_of_keyed_operators_equal_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.BatchJobs

    @differential.settings(4)
    @given(st.lists(rows, min_size=1, max_size=60), st.lists(rows, min_size=1, max_size=20))
    def compare(first: Rows, second: Rows) -> None:
        theirs = json.loads(real.run(json.dumps(first), json.dumps(second)))
        with differential.comparing("BATCH mode", commands=len(first) + len(second)):
            assert by_operator(outputs(first, second)) == by_operator(theirs)

    compare()
