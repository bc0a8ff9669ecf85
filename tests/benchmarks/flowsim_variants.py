"""W1 and the wiring of channels on flowsim itself: what is added here appears in the table.

A variant builds the job through the public API, runs it on ``source(count)`` and returns its ``Outcome``: results as
``Results``, and the number of facts when it recorded. A wiring connects ``n`` producers with ``n`` consumers and returns
whatever keeps them alive.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Literal

from workload import WINDOW_MS, Outcome, Results, Variant, add, key_of, map_record, source, time_of

from flowsim.cluster.deployment import Deployment
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.source import BlockReader
from flowsim.datastream import AggregateFunction, ProcessWindowFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, WatermarkStrategy
from flowsim.datastream.window import TumblingEventTimeWindows
from flowsim.facts.kinds import Level
from flowsim.facts.schema import FACT_TABLES
from flowsim.graph.execution_graph import create_execution_graph
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.stream_graph import OperatorDescription, PartitionerSpec, StreamEdge, StreamGraph, StreamNode
from flowsim.operators.functions.basic import MapOperator
from flowsim.operators.sources.source import SourceOperator
from flowsim.recording.manifest import RunDescription, RunStatus
from flowsim.recording.writer import RecordingWriter
from flowsim.sim.rng import RandomStreams
from flowsim.sim.virtual_time_loop import VirtualTimeLoop

CHECKPOINT_INTERVAL_MS = 100
"""In virtual time, of which 300,000 records take 615 ms: seven checkpoints."""


class W1Source:
    """The workload's records; making them is part of the work."""

    kind = "w1"
    params: Mapping[str, object] = {}
    required_parallelism = 1
    emits_watermarks = False
    needs_cost = False

    def __init__(self, count: int) -> None:
        self._count = count

    def create_reader(self) -> BlockReader:
        return BlockReader(lambda ctx: iter((source(self._count),)))


class Sum(AggregateFunction):
    def create_accumulator(self) -> int:
        return 0

    add = staticmethod(lambda value, accumulator: add(accumulator, value))

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


class WithWindow(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key, context.window().start, next(iter(elements))


def run(
    count: int,
    clock: Literal["virtual", "real"],
    level: Level,
    checkpoints: Literal["none", "aligned", "unaligned"] = "none",
) -> Outcome:
    env = StreamExecutionEnvironment.get_execution_environment()
    if checkpoints != "none":
        env.enable_checkpointing(CHECKPOINT_INTERVAL_MS)
    if checkpoints == "unaligned":
        env.get_checkpoint_config().enable_unaligned_checkpoints()
    sink = CollectSink()
    in_order = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda record, _: time_of(record))
    env.from_source(W1Source(count), in_order, "w1").map(map_record).key_by(key_of).window(
        TumblingEventTimeWindows.of(Duration.of_millis(WINDOW_MS))
    ).aggregate(Sum(), WithWindow()).sink_to(sink)
    if level is Level.OFF:
        env.flowsim_settings(clock=clock)
        env.execute("W1")
        return Outcome(results_of(sink))
    with tempfile.TemporaryDirectory() as folder:
        recorder = RecordingWriter(Path(folder) / "recording", level, RunDescription(clock=clock))
        env.flowsim_settings(clock=clock, recorder=recorder)
        env.execute("W1")
        rows = recorder.finish(RunStatus.COMPLETE).rows
    return Outcome(results_of(sink), sum(rows[table.name] for table in FACT_TABLES if table.name in rows))


def results_of(sink: CollectSink) -> Results:
    return {(key, start_ms): total for key, start_ms, total in sink.values()}


def wire(channels_per_side: int) -> object:
    """An all-to-all edge of n x n channels, deployed and not started; channels connect on their first buffer."""
    graph = StreamGraph()
    idle = OperatorDescription("wiring")
    graph.add_node(
        StreamNode(
            1, "from", lambda: SourceOperator(W1Source(0).create_reader()), idle, channels_per_side, is_source=True
        )
    )
    graph.add_node(StreamNode(2, "to", lambda: MapOperator(lambda value: value), idle, channels_per_side))
    graph.add_edge(StreamEdge(1, 2, PartitionerSpec("REBALANCE")))
    return Deployment(create_execution_graph(create_job_graph(graph)), VirtualTimeLoop(), RandomStreams(0), None)


VIRTUAL = "flowsim, virtual clock"
ALIGNED = f"{VIRTUAL}, aligned checkpoints"
UNALIGNED = f"{VIRTUAL}, unaligned checkpoints"
REAL = "flowsim, uvloop"

VARIANTS: tuple[Variant, ...] = (
    Variant(VIRTUAL, lambda count: run(count, "virtual", Level.OFF)),
    Variant(f"{VIRTUAL}, recording elements", lambda count: run(count, "virtual", Level.ELEMENTS)),
    Variant(f"{VIRTUAL}, recording full", lambda count: run(count, "virtual", Level.FULL)),
    *(
        Variant(name, partial(run, clock="virtual", level=Level.OFF, checkpoints=kind))
        for name, kind in ((ALIGNED, "aligned"), (UNALIGNED, "unaligned"))
    ),
    Variant(REAL, lambda count: run(count, "real", Level.OFF)),
    Variant(f"{REAL}, recording elements", lambda count: run(count, "real", Level.ELEMENTS)),
)
WIRINGS: dict[str, Callable[[int], object]] = {"flowsim, one all-to-all edge": wire}

RECORDING_COSTS: tuple[tuple[str, str], ...] = (
    (f"{VIRTUAL}, recording elements", VIRTUAL),
    (f"{VIRTUAL}, recording full", VIRTUAL),
    (f"{REAL}, recording elements", REAL),
)
"""Pairs (variant that records, the same without recording), from which ns per fact are computed."""

CHECKPOINT_COSTS: Mapping[str, str] = {ALIGNED: VIRTUAL, UNALIGNED: VIRTUAL}
"""The variants with checkpoints, and the same without."""
