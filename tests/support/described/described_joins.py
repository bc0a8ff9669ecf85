"""Described joins: by interval, of windows, and co-groups."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flowsim.datastream import CoGroupFunction, DataStream, FlatJoinFunction, OutputTag, ProcessJoinFunction
from flowsim.datastream.common import Duration
from tests.support.described.described_functions import Event
from tests.support.described.described_streams import Inputs, Job, after
from tests.support.described.described_windows import assigner, evictor, trigger


def interval(inputs: Inputs, job: Job) -> dict[str, DataStream]:
    bounds = (Duration.of_millis(job["lower_ms"]), Duration.of_millis(job["upper_ms"]))
    join: Any = inputs.keyed(0).interval_join(inputs.keyed(1)).between(*bounds)
    if job["lower_exclusive"]:
        join = join.lower_bound_exclusive()
    if job["upper_exclusive"]:
        join = join.upper_bound_exclusive()
    if job["late_left"]:
        join = join.side_output_left_late_data(OutputTag("left"))
    if job["late_right"]:
        join = join.side_output_right_late_data(OutputTag("right"))
    joined: DataStream = join.process(Pairs()).set_parallelism(job["parallelism"])
    late = {"late_left": "left", "late_right": "right"}
    return {
        "out": after(joined, job),
        **{name: joined.get_side_output(OutputTag(tag)) for name, tag in late.items() if job[name]},
    }


def windowed(inputs: Inputs, job: Job) -> dict[str, DataStream]:
    first, second = inputs.plain(0), inputs.plain(1)
    paired: Any = first.join(second) if job["kind"] == "window_join" else first.co_group(second)
    windows = paired.where(inputs.key, inputs.key_type).equal_to(inputs.key, inputs.key_type)
    windows = windows.window(assigner(job["assigner"]))
    if job["trigger"] is not None:
        windows.trigger(trigger(job["trigger"]))
    if job["evictor"] is not None:
        windows.evictor(evictor(job["evictor"]))
    if job["lateness_ms"] > 0:
        windows.allowed_lateness(job["lateness_ms"])
    return {"out": after(windows.apply(Matches() if job["kind"] == "window_join" else Groups()), job)}


class Pairs(ProcessJoinFunction):
    def process_element(self, left: Event, right: Event, ctx: Any) -> Iterable[object]:
        yield [left[0], right[0], ctx.get_left_timestamp(), ctx.get_right_timestamp(), ctx.get_timestamp()]


class Matches(FlatJoinFunction):
    def join(self, left: Event, right: Event) -> Iterable[object]:
        yield [left[1], left[0], right[0]]


class Groups(CoGroupFunction):
    def co_group(self, first: Iterable[Event], second: Iterable[Event]) -> Iterable[object]:
        yield [[event[0] for event in first], [event[0] for event in second]]
