"""Which exchanges support unaligned checkpoints, beside StreamGraphGenerator and SinkTransformationTranslator (12.19)."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from flowsim.connectors.memory import CollectionSource, CollectSink
from flowsim.datastream import CoMapFunction, DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.datastream.partitioning import partitioned
from flowsim.graph.checkpoint_settings import CheckpointSettings
from flowsim.graph.job_graph import JobGraph, create_job_graph
from flowsim.graph.stream_graph import TwoPhaseCommit
from tests.support.flink.machine import Differential

Node = dict[str, Any]
HOWS = ["default", "rebalance", "rescale", "shuffle", "broadcast", "global", "custom", "hash"]


@st.composite
def jobs(draw: st.DrawFn) -> list[Node]:
    """Sources first, then unions, operators with two inputs, and sinks, each input behind a partitioner of its own."""
    made: list[Node] = [
        {"kind": "source", "parallelism": draw(st.integers(1, 3))} for _ in range(draw(st.integers(1, 2)))
    ]
    for _ in range(draw(st.integers(1, 5))):
        readable = [number for number, node in enumerate(made) if node["kind"] != "sink"]
        kind, parallelism = draw(st.sampled_from(["map", "map", "co_map", "sink"])), draw(st.integers(1, 3))
        least = 2 if kind == "co_map" else 1
        count = draw(st.integers(least, 2))
        # Two inputs from one stream would be two edges with one name.
        chosen = draw(
            st.lists(st.sampled_from(readable), min_size=count, max_size=count, unique=len(readable) >= count)
        )
        if len(set(chosen)) < len(chosen):
            continue
        inputs = []
        for number in chosen:
            equal = made[number]["parallelism"] == parallelism
            inputs.append([number, draw(st.sampled_from([*HOWS, *(["forward"] if equal else [])]))])
        made.append({"kind": kind, "parallelism": parallelism, "inputs": inputs})
    return [*made, {"kind": "map", "parallelism": 1, "inputs": [[0, "shuffle"]]}]


class Both(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return value


class AnyNumber(CollectionSource):
    """A source of any parallelism; nothing of it ever runs."""

    required_parallelism = None


def our_job(nodes: list[Node]) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.disable_operator_chaining()
    made: list[DataStream] = []
    for number, node in enumerate(nodes):
        name = f"n{number}"
        inputs = [_connected(made[at], how) for at, how in node.get("inputs", ())]
        if node["kind"] == "source":
            stream = env.from_source(AnyNumber([1]), WatermarkStrategy.no_watermarks(), name)
        elif node["kind"] == "co_map":
            stream = inputs[0].connect(inputs[1]).map(Both()).name(name)
        else:
            united = inputs[0].union(*inputs[1:]) if len(inputs) > 1 else inputs[0]
            if node["kind"] == "sink":
                united.sink_to(CollectSink()).name(name).set_parallelism(node["parallelism"])
                made.append(united)
                continue
            stream = united.map(lambda value: value).name(name)
        made.append(stream.set_parallelism(node["parallelism"]))
    graph = env.stream_graph()
    for node in graph.nodes.values():
        if node.description.kind == "sink":
            node.two_phase_commit = TwoPhaseCommit(node.operator_factory, node.operator_factory, node.operator_factory)
    graph.settings = replace(graph.settings, checkpointing=CheckpointSettings(interval_ms=100, unaligned=True))
    return create_job_graph(graph)


def _connected(stream: DataStream, how: str) -> DataStream:
    if how == "default":
        return stream
    if how == "custom":
        return stream.partition_custom(lambda key, channels: 0, lambda value: value)
    return stream.key_by(lambda value: value) if how == "hash" else partitioned(stream, how)  # type: ignore[arg-type]


def called(name: str) -> str:
    """The number of an operator, and its part of a sink."""
    (found,) = re.findall(r"n\d+", name)
    part = next((part for part in ("Global Committer", "Committer") if part in name), "")
    return f"{found} {part}"


def test_support_for_unaligned_checkpoints_equals_flinks(differential: Differential) -> None:
    real = differential.flink.java.flowsim.differential.UnalignedSupport

    @differential.settings(150)
    @given(jobs())
    def compare(nodes: list[Node]) -> None:
        theirs = sorted((called(a), called(b), how, yes) for a, b, how, yes in json.loads(real.of(json.dumps(nodes))))
        with differential.comparing("StreamEdge.supportsUnalignedCheckpoints", commands=len(theirs)):
            job = our_job(nodes)
            ours = sorted(
                (
                    called(edge.source.head.name),
                    called(edge.target.head.name),
                    edge.partitioner.name,
                    job.forced_alignment(edge) is None,
                )
                for edge in job.edges
            )
            assert ours == theirs

    compare()
