"""Whole jobs, built with the DataStream API, compared with the real Flink 2.3.0 (tests/golden/data/job)."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from flowsim.connectors.script import Entry, ScriptedSource, end, idle, record, sleep, watermark
from flowsim.datastream import (
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    WindowAssigner,
)
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.operators.stream_operator import StreamOperator
from flowsim.streamrecord.elements import WatermarkStatus

pytestmark = pytest.mark.golden
DATA = Path(__file__).parents[2] / "golden" / "data" / "job"

Case = dict[str, Any]
Log = dict[str, list[list[object]]]
Event = tuple[int, str, int, list[int]]


def cases(name: str) -> Iterator[Case]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


class Probe(StreamOperator):
    """Notes every element in order of arrival, and hands it on."""

    def __init__(self, name: str, log: Log) -> None:
        self.name = name
        self.log = log

    def note(self, *element: object) -> None:
        self.log.setdefault(f"{self.name}/{self.ctx.subtask_index}", []).append(list(element))

    def process_element(self, value: object, timestamp: int | None) -> None:
        self.records_in += 1
        is_event = isinstance(value, tuple) and len(value) == 4
        self.note("rec", list(value[:3]) if is_event else value, timestamp)  # type: ignore[index]
        self.output.collect(value, timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.note("wm", timestamp)
        self.output.emit_watermark(timestamp)

    def process_watermark_status(self, status: WatermarkStatus) -> None:
        self.note("st", status.name)
        self.output.emit_watermark_status(status)


class Describe(ProcessWindowFunction):
    def process(
        self, key: str, context: ProcessWindowFunction.Context, elements: Iterable[Event]
    ) -> list[list[object]]:
        rows, window = list(elements), context.window()
        total, ids = sum(row[2] for row in rows), [row[0] for row in rows]
        return [[key, window.start, window.end, total, len(rows), ids, context.current_watermark()]]


class Timers(KeyedProcessFunction):
    def process_element(self, value: Event, ctx: KeyedProcessFunction.Context) -> list[list[object]]:
        timers, orders = ctx.timer_service(), value[3]
        for kind, timestamp in zip(orders[::2], orders[1::2], strict=False):
            (timers.register_event_time_timer if kind == 1 else timers.delete_event_time_timer)(timestamp)
        return [["elem", value[0], ctx.timestamp(), timers.current_watermark()]]

    def on_timer(self, timestamp: int, ctx: KeyedProcessFunction.OnTimerContext) -> Iterable[list[object]]:
        yield ["timer", ctx.get_current_key(), timestamp, ctx.timestamp(), ctx.timer_service().current_watermark()]
        if timestamp % 5 == 0 and timestamp < 200:
            ctx.timer_service().register_event_time_timer(timestamp + 3)


def entry(row: list[Any]) -> Entry:
    step, action, *rest = row
    match action:
        case "r":
            number, key, value, timestamp, *extra = rest
            return record((number, key, value, extra[0] if extra else []), timestamp, step=step)
        case "w":
            return watermark(rest[0], step=step)
        case "i":
            return idle(step=step)
        case "sleep":
            return sleep(rest[0], step=step)
        case _:
            return end(step=step)


def source(env: StreamExecutionEnvironment, described: Case) -> DataStream:
    scripts = [[entry(row) for row in script] for script in described["script"]]
    stream = env.add_source(ScriptedSource(*scripts))
    if "bounded" in described:
        strategy = WatermarkStrategy.for_each_record(Duration.of_millis(described["bounded"]))
        stream = stream.assign_timestamps_and_watermarks(strategy).set_parallelism(len(scripts))
    return stream


def assigner(job: str, params: Case) -> WindowAssigner:
    if job == "session":
        return EventTimeSessionWindows.with_gap(Time(params["gap"]))
    size, offset = Time(params["size"]), Time(params.get("offset", 0))
    if job == "sliding":
        return SlidingEventTimeWindows.of(size, Time(params["slide"]), offset)
    return TumblingEventTimeWindows.of(size, offset)


def windowed(stream: DataStream, job: str, params: Case) -> dict[str, DataStream]:
    windows = stream.key_by(lambda event: event[1], Types.STRING()).window(assigner(job, params))
    windows.allowed_lateness(params.get("lateness", 0))
    late = OutputTag("late")
    if params.get("side_output"):
        windows.side_output_late_data(late)
    out = windows.process(Describe()).set_parallelism(params.get("parallelism", 1))
    return {"out": out, "late": out.get_side_output(late)} if params.get("side_output") else {"out": out}


def distributed(stream: DataStream, how: str) -> DataStream:
    ways = {
        "rebalance": stream.rebalance, "rescale": stream.rescale, "broadcast": stream.broadcast, "shuffle": stream.shuffle,
        "global": stream.global_, "forward": stream.forward, "default": lambda: stream,
        "hash": lambda: stream.key_by(lambda event: event[1], Types.STRING()),
    }  # fmt: skip
    return ways[how]()


def answered(case: Case) -> Log:
    """What the probes of the job see."""
    params, job = case["params"], case["job"]
    env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
    if not params.get("chaining", True):
        env.disable_operator_chaining()
    if "max_parallelism" in params:
        env.set_max_parallelism(params["max_parallelism"])
    first, *others = (source(env, described) for described in case["sources"])
    parallelism = params.get("parallelism", 1)
    match job:
        case "timers":
            keyed = first.key_by(lambda event: event[1], Types.STRING()).process(Timers())
            probed = {"out": keyed.set_parallelism(parallelism)}
        case "union":
            union = first.union(*others)
            keyed = union.key_by(lambda event: event[1], Types.STRING()) if params.get("keyed") else union
            probed = {"out": keyed}
        case "distribution":
            probed = {"out": distributed(first, params["how"])}
        case _:
            probed = windowed(first.union(*others), job, params)
    log: Log = {}
    for name, stream in probed.items():
        stream.transform(name, lambda name=name: Probe(name, log)).set_parallelism(parallelism)  # type: ignore[misc]
    env.execute()
    return log


@pytest.mark.parametrize("name", ["tumbling", "sliding", "session", "timers", "union", "idle_end"])
def test_elements_equal_flinks_in_order(name: str) -> None:
    examined = 0
    for case in cases(name):
        assert answered(case) == case["result"]["out"], case["id"]
        examined += 1
    assert examined >= 2


class InputsProbe(MultipleInputOperator):
    """Notes the records of all inputs and the watermarks that they reach together."""

    def __init__(self, input_count: int, log: Log) -> None:
        super().__init__(input_count)
        self.log = log

    def note(self, *element: object) -> None:
        self.log.setdefault(f"out/{self.ctx.subtask_index}", []).append(list(element))

    def process_element_of(self, input_id: int, value: object, timestamp: int | None) -> None:
        assert isinstance(value, tuple)
        self.note("rec", list(value[:3]), timestamp)

    def process_watermark(self, timestamp: int) -> None:
        self.note("wm", timestamp)


def test_multiple_streams_into_one_input_equal_flinks_union() -> None:
    """Watermarks are compared only if no input is idle: those of idle inputs differ from those of a union."""
    examined = with_watermarks = 0
    for case in cases("union"):
        if case["job"] != "union":
            continue
        env = StreamExecutionEnvironment.get_execution_environment().set_buffer_timeout(0)
        streams = [source(env, described) for described in case["sources"]]
        if case["params"]["keyed"]:
            streams = [stream.key_by(lambda event: event[1], Types.STRING()) for stream in streams]
        log: Log = {}
        make = partial(InputsProbe, len(streams), log)
        env.multiple_input("out", make, *streams).set_parallelism(case["params"]["parallelism"])
        env.execute()
        flink: Log = {place: [e for e in seen if e[0] != "st"] for place, seen in case["result"]["out"].items()}
        if any(row[1] == "i" for described in case["sources"] for script in described["script"] for row in script):
            flink = {place: [e for e in seen if e[0] == "rec"] for place, seen in flink.items()}
            log = {place: [e for e in seen if e[0] == "rec"] for place, seen in log.items()}
        else:
            with_watermarks += 1
        assert log == flink, case["id"]
        examined += 1
    assert (examined, with_watermarks) == (8, 1)


def test_records_reach_same_subtasks_as_in_flink() -> None:
    """Rebalance starts at a random channel and shuffle is random: of these only the numbers per subtask agree."""
    examined = set()
    for case in cases("distribution"):
        how, parallelism = case["params"]["how"], case["params"]["parallelism"]
        log = answered(case)
        ids = {place: sorted(e[1][0] for e in seen if e[0] == "rec") for place, seen in log.items()}  # type: ignore[index]
        ids = {place: numbers for place, numbers in ids.items() if numbers}
        flink = {place: sorted(numbers) for place, numbers in case["result"]["ids_per_dst"].items() if numbers}
        is_random = how == "shuffle" or how == "rebalance" or (how == "default" and not case["result"]["stable"])
        if is_random:
            assert sorted(n for numbers in ids.values() for n in numbers) == sorted(
                n for numbers in flink.values() for n in numbers
            ), case["id"]
        if is_random and how != "shuffle" and len(case["sources"][0]["script"]) == 1:
            spread = [len(ids.get(f"out/{i}", [])) for i in range(parallelism)]
            assert max(spread) - min(spread) <= 1, case["id"]
        if not is_random:
            assert ids == flink, case["id"]
        examined.add(how)
    assert examined >= {"rebalance", "rescale", "broadcast", "hash", "global", "default", "shuffle"}
