"""Ids of operators, with ids that real jobs of Flink 2.3.0 had (rule 12.121)."""

from __future__ import annotations

import pytest

from flowsim.connectors.memory import CollectionSource, CollectSink
from flowsim.datastream import DataStream, StreamExecutionEnvironment
from flowsim.datastream.common import WatermarkStrategy
from flowsim.errors import BadInput
from flowsim.graph.job_graph import JobGraph, create_job_graph
from flowsim.state.redistribution.operator_id import id_of_uid


def counted(env: StreamExecutionEnvironment) -> DataStream:
    source = env.from_source(CollectionSource([1]), WatermarkStrategy.no_watermarks(), "numbers")
    keyed = source.map(lambda value: value).name("keyed").key_by(lambda value: value)
    return keyed.reduce(lambda a, b: a + b).name("counts").map(str).name("texts")


def ids(job: JobGraph) -> dict[str, str]:
    return {each.name: each.operator_id[:8] for each in job.operators}


def job(sink_parallelism: int) -> JobGraph:
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(1)
    counted(env).print().name("sink").set_parallelism(sink_parallelism)
    return create_job_graph(env.stream_graph())


def test_ids_of_a_chain_that_a_parallelism_breaks_are_those_of_flink() -> None:
    first = {"Source: numbers": "cbc357cc", "keyed": "7df19f87", "counts": "90bea66d"}
    assert ids(job(1)) == {**first, "texts": "e5ebb093", "sink": "55785f9e"}
    assert ids(job(2)) == {**first, "texts": "17fbfcaa", "sink": "a76813a7"}


def test_operators_of_a_vertex_have_the_ids_of_the_job() -> None:
    one = job(1)
    of_vertices = {each.node.name: each.operator_id for vertex in one.vertices for each in vertex.operators}
    assert of_vertices == {each.name: each.operator_id for each in one.operators}


def test_uid_of_a_committer_that_another_operator_has_is_refused() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(1000)
    counted(env).uid("Sink Committer: out").sink_to(CollectSink()).name("sink").uid("out")
    with pytest.raises(
        BadInput, match="operator 'sink: Committer': uid 'Sink Committer: out' is already used by operator 'texts'"
    ):
        create_job_graph(env.stream_graph())


def test_operator_with_uid_has_the_id_of_its_uid_alone() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    counted(env).uid("texts")
    assert create_job_graph(env.stream_graph()).operators[-1].operator_id == id_of_uid("texts")
