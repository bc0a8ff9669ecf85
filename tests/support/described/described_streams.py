"""The parts before and behind the operator of a described job: sources, watermarks, chained functions, unions."""

from __future__ import annotations

from typing import Any

from flowsim.connectors.script import Entry, ScriptedSource, end, idle, record, watermark
from flowsim.datastream import DataStream, KeyedStream, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.legacy.source_function import LegacySource
from tests.support.described import described_functions as functions

Job = dict[str, Any]


class Inputs:
    """The streams that reach the operator."""

    def __init__(self, env: StreamExecutionEnvironment, job: Job) -> None:
        self.job = job
        self.key_type = {"STRING": Types.STRING(), "INT": Types.INT(), "LONG": Types.LONG()}[job["key_type"]]
        self.key = functions.text_key if job["key_type"] == "STRING" else functions.number_key
        self.edges: list[str] = job["edges"]
        self.sources = [source(env, described, job["gap_ms"]) for described in job["sources"]]

    def plain(self, index: int) -> DataStream:
        first, *others = (self.sources[number] for number in self.job["inputs"][index])
        return first.union(*others) if others else first

    def exchanged(self, index: int) -> DataStream:
        """The same behind the edge that is described for it, for an operator without keys."""
        return exchanged(self.plain(index), self.edges[index])

    def keyed(self, index: int) -> KeyedStream:
        return self.plain(index).key_by(self.key, self.key_type)


def exchanged(stream: DataStream, edge: str) -> DataStream:
    match edge:
        case "none":
            return stream
        case "forward":
            return stream.forward()
        case "rebalance":
            return stream.rebalance()
        case "rescale":
            return stream.rescale()
        case "global":
            return stream.global_()
        case "broadcast":
            return stream.broadcast()
        case "custom":
            return stream.partition_custom(functions.scattered, functions.number_of)
    raise ValueError(f"unknown edge {edge!r}")


def entry(row: list[Any]) -> Entry:
    step, action, *rest = row
    match action:
        case "r":
            number, key, value, timestamp, orders, split = rest
            return record((number, key, value, orders), timestamp, step=step, split=split)
        case "w":
            return watermark(rest[0], step=step, split=rest[1])
        case "i":
            return idle(step=step, split=rest[0])
        case "end_split":
            return end(step=step, split=rest[0])
        case _:
            return end(step=step)


def source(env: StreamExecutionEnvironment, described: Job, gap_ms: int) -> DataStream:
    scripted = ScriptedSource(*([entry(row) for row in script] for script in described["scripts"]), gap_ms=gap_ms)
    parallelism = len(described["scripts"])
    if described["via"] == "source":
        stream = env.from_source(scripted, strategy(described["strategy"]), "script")
    else:
        stream = env.add_source(LegacySource(scripted) if described["legacy"] else scripted, "script")
    if described["via"] == "function" and described["strategy"] is not None:
        stream = stream.assign_timestamps_and_watermarks(strategy(described["strategy"])).set_parallelism(parallelism)
    for function in described["before"]:
        match function:
            case "map":
                stream = stream.map(functions.one_more)
            case "filter":
                stream = stream.filter(functions.four_of_five)
            case "refuse":
                stream = stream.map(functions.refused)
            case "statuses":
                stream = stream.transform("statuses", functions.Statuses)
            case _:
                stream = stream.flat_map(functions.some_twice)
        stream.set_parallelism(parallelism)
    return stream


def strategy(described: Job) -> WatermarkStrategy:
    bound = Duration.of_millis(described["bound_ms"])
    match described["kind"]:
        case "bounded":
            made = WatermarkStrategy.for_bounded_out_of_orderness(bound)
        case "monotonous":
            made = WatermarkStrategy.for_monotonous_timestamps()
        case "per_record":
            made = WatermarkStrategy.for_each_record(bound)
        case _:
            made = WatermarkStrategy.for_generator(lambda: functions.Punctuated(described["bound_ms"]))
    made = made.with_timestamp_assigner(functions.Shifted(described["shift_ms"]))
    return made.with_idleness(Duration.of_millis(described["idle_ms"])) if "idle_ms" in described else made


def after(stream: DataStream, job: Job) -> DataStream:
    """The operator with the functions behind it, chained or not."""
    stream.set_parallelism(job["parallelism"])
    for function in job["after"]:
        match function:
            case "map":
                stream = stream.map(functions.marked)
            case "filter":
                stream = stream.filter(functions.TwoOfThree())
            case "refuse":
                stream = stream.map(functions.RefusesFifth())
            case _:
                stream = stream.flat_map(functions.again)
        stream.set_parallelism(job["parallelism"])
    return stream
