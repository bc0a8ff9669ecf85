"""The graphs of jobs: nodes, edges, partitioners, chaining."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise

import pytest

from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record
from flowsim.datastream import (
    CoProcessFunction,
    DataStream,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Types, WatermarkStrategy
from flowsim.datastream.window import CountTrigger, PurgingTrigger, SlidingEventTimeWindows, TumblingEventTimeWindows
from flowsim.errors import BadInput
from flowsim.graph.job_graph import create_job_graph
from flowsim.graph.stream_graph import ChainingStrategy, StreamGraph


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)


@pytest.fixture
def numbers(env: StreamExecutionEnvironment) -> DataStream:
    return env.from_collection([1, 2, 3])


class Forget(ProcessFunction):
    def process_element(self, value: int, ctx: ProcessFunction.Context) -> None:
        return None


class ForgetBoth(CoProcessFunction):
    def process_element1(self, value: object, ctx: CoProcessFunction.Context) -> None:
        return None

    def process_element2(self, value: object, ctx: CoProcessFunction.Context) -> None:
        return None


class ForgetKeyed(KeyedProcessFunction):
    def process_element(self, value: int, ctx: KeyedProcessFunction.Context) -> None:
        return None


class Count(ProcessWindowFunction):
    def process(self, key: object, context: ProcessWindowFunction.Context, elements: list[object]) -> list[int]:
        return [len(elements)]


def nodes(graph: StreamGraph) -> list[tuple[str, str, int]]:
    return [(node.name, node.description.kind, node.parallelism) for node in graph.nodes.values()]


def edges(graph: StreamGraph) -> list[tuple[str, str, str | None]]:
    return [
        (
            graph.nodes[edge.source_id].name,
            graph.nodes[edge.target_id].name,
            edge.partitioner.name if edge.partitioner else None,
        )
        for edge in graph.edges
    ]


def test_operators_have_program_order_and_default_parallelism(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    stream = numbers.map(lambda n: n + 1).filter(lambda n: n > 1).flat_map(lambda n: [n, n]).process(Forget())
    stream.print()
    graph = env.stream_graph("doubles")
    assert graph.name == "doubles"
    assert nodes(graph) == [
        ("Source: Collection Source", "source", 1),
        ("Map", "map", 2),
        ("Filter", "filter", 2),
        ("Flat Map", "flat_map", 2),
        ("PROCESS", "process", 2),
        ("Sink: Print to Std. Out", "sink", 2),
    ]
    names = [node.name for node in graph.nodes.values()]
    assert edges(graph) == [(a, b, None) for a, b in pairwise(names)]
    assert [node.is_source for node in graph.nodes.values()] == [True] + [False] * 5


def test_operator_settings_reach_the_node(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.map(str).name("text").uid("t").set_parallelism(3).set_max_parallelism(8).set_buffer_timeout(0).cost(
        Duration.of_millis(1)
    ).disable_chaining()
    numbers.map(str).start_new_chain().cost(0)
    env.set_max_parallelism(64)
    _, text, fresh = env.stream_graph().nodes.values()
    assert (text.name, text.parallelism, text.max_parallelism, text.buffer_timeout_ms, text.cost_ns, text.chaining) == (
        "text", 3, 8, 0, 1_000_000, ChainingStrategy.NEVER,
    )  # fmt: skip
    assert (fresh.name, fresh.parallelism, fresh.max_parallelism, fresh.buffer_timeout_ms, fresh.cost_ns) == (
        "Map", 2, 64, None, 0,
    )  # fmt: skip
    assert fresh.chaining is ChainingStrategy.HEAD


def test_slot_sharing_group_is_that_of_inputs_or_default(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    heavy = numbers.map(str).name("heavy").slot_sharing_group("g")
    heavy.map(str).name("same")
    behind = heavy.key_by(str).reduce(max).name("behind key_by")
    heavy.union(behind.rebalance()).map(str).name("union of one group")
    heavy.union(numbers).map(str).name("union of two groups")
    heavy.connect(numbers).process(ForgetBoth()).name("two inputs")
    behind.map(str).name("back").slot_sharing_group("default")
    found = {node.name: node.slot_sharing_group for node in env.stream_graph().nodes.values()}
    assert found == {
        "Source: Collection Source": "default", "heavy": "g", "same": "g", "behind key_by": "g", "union of one group": "g",
        "union of two groups": "default", "two inputs": "default", "back": "default",
    }  # fmt: skip


def test_operators_of_a_sink_are_in_its_slot_sharing_group(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    env.enable_checkpointing(10)
    numbers.sink_to(CollectSink()).name("own").slot_sharing_group("g")
    numbers.map(str).name("map").slot_sharing_group("h").sink_to(CollectSink()).name("input's")
    job = create_job_graph(env.stream_graph())
    assert {(vertex.name, vertex.slot_sharing_group) for vertex in job.vertices} == {
        ("Source: Collection Source", "default"), ("own -> own: Committer", "g"),
        ("map -> input's -> input's: Committer", "h"),
    }  # fmt: skip
    assert job.slots() == {"default": 1, "g": 2, "h": 2}


@pytest.mark.parametrize("group", ["", None, 3])
def test_slot_sharing_group_without_name_is_refused(numbers: DataStream, group: object) -> None:
    with pytest.raises(BadInput, match=r"^operator 'Source: Collection Source': slot_sharing_group: expected the name"):
        numbers.slot_sharing_group(group)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("partition", "name"),
    [
        (DataStream.rebalance, "REBALANCE"),
        (DataStream.rescale, "RESCALE"),
        (DataStream.shuffle, "SHUFFLE"),
        (DataStream.broadcast, "BROADCAST"),
        (DataStream.global_, "GLOBAL"),
    ],
)
def test_partitioner_is_on_edge_to_next_operator(
    env: StreamExecutionEnvironment, numbers: DataStream, partition: Callable[[DataStream], DataStream], name: str
) -> None:
    partition(numbers).map(str)
    assert edges(env.stream_graph()) == [("Source: Collection Source", "Map", name)]


def test_last_partitioner_wins(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.shuffle().rebalance().map(str)
    (edge,) = env.stream_graph().edges
    assert edge.partitioner is not None
    assert edge.partitioner.name == "REBALANCE"


def test_key_by_gives_hash_edge_and_key_of_next_operator(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    def by_parity(n: int) -> int:
        return n % 2

    numbers.key_by(by_parity, Types.INT()).process(ForgetKeyed()).map(str)
    graph = env.stream_graph()
    _, keyed, plain = graph.nodes.values()
    assert (keyed.name, keyed.description.kind, keyed.key_selector, keyed.key_type) == (
        "KEYED PROCESS", "keyed_process", by_parity, "INT",
    )  # fmt: skip
    assert (plain.key_selector, plain.key_type) == (None, None)
    partitioner = graph.edges[0].partitioner
    assert partitioner is not None
    assert (partitioner.name, partitioner.key_selector, partitioner.key_type) == ("HASH", by_parity, "INT")


def test_union_gives_one_edge_per_stream_with_its_partitioner(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    other = env.from_collection([4]).map(str).name("other")
    numbers.rebalance().union(other, numbers).map(str).name("all")
    assert edges(env.stream_graph()) == [
        ("Source: Collection Source", "other", None),
        ("Source: Collection Source", "all", "REBALANCE"),
        ("other", "all", None),
        ("Source: Collection Source", "all", None),
    ]


def test_key_by_after_union_partitions_every_edge(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.union(env.from_collection([4])).key_by(lambda n: n).reduce(lambda a, b: a + b)
    assert [name for _, _, name in edges(env.stream_graph())] == ["HASH", "HASH"]


def test_window_node_has_parameters_and_side_output_edge(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    late = OutputTag("late", Types.INT())
    windows = (
        numbers.key_by(lambda n: n)
        .window(TumblingEventTimeWindows.of(Duration.of_seconds(5), Duration.of_millis(100)))
        .allowed_lateness(20)
        .side_output_late_data(late)
        .process(Count())
    )
    sink = CollectSink()
    windows.get_side_output(late).sink_to(sink)
    graph = env.stream_graph()
    _, window, collect = graph.nodes.values()
    assert (window.name, window.description.kind) == ("TumblingEventTimeWindows Process", "window")
    assert window.description.params == {
        "assigner": "tumbling_event_time", "size_ms": 5000, "offset_ms": 100, "stagger": "aligned",
        "trigger": {"kind": "event_time"}, "lateness_ms": 20, "late_output": True,
        "late_tags": ["late"],
    }  # fmt: skip
    assert (graph.edges[1].source_id, graph.edges[1].target_id, graph.edges[1].side_output) == (
        window.id, collect.id, "late",
    )  # fmt: skip
    assert collect.description.params == {"sink": "collect"}


def test_sliding_assigner_and_purging_trigger_are_described(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    size, slide = Duration.of_millis(30), Duration.of_millis(10)
    numbers.key_by(lambda n: n).window(SlidingEventTimeWindows.of(size, slide)).trigger(
        PurgingTrigger.of(CountTrigger.of(3))
    ).reduce(max)
    _, window = env.stream_graph().nodes.values()
    assert window.description.params == {
        "assigner": "sliding_event_time", "size_ms": 30, "slide_ms": 10, "offset_ms": 0,
        "trigger": {"kind": "purging", "of": {"kind": "count", "count": 3}}, "lateness_ms": 0, "late_output": False,
    }  # fmt: skip


def test_unread_source_is_left_out_and_empty_job_is_refused(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1])
    with pytest.raises(BadInput, match="the job has no operators"):
        env.stream_graph()
    env.from_collection([2]).map(str)
    assert nodes(env.stream_graph()) == [("Source: Collection Source", "source", 1), ("Map", "map", 2)]


def test_script_source_has_one_subtask_per_script(env: StreamExecutionEnvironment) -> None:
    stream = env.add_source(ScriptedSource([record(1)], [record(2)], [record(3)]), "script")
    stream.map(str)
    assert nodes(env.stream_graph())[0] == ("Source: script", "source", 3)
    with pytest.raises(BadInput, match="operator 'Source: script': parallelism must be 3, got 2"):
        stream.set_parallelism(2)


def test_forward_between_different_parallelisms_is_refused_by_name(
    env: StreamExecutionEnvironment, numbers: DataStream
) -> None:
    """Rule 1.2."""
    target = numbers.forward().map(str).name("text")
    with pytest.raises(BadInput, match=r"operator 'text': forward from Source: Collection Source \(parallelism 1\)"):
        env.stream_graph()
    target.set_parallelism(1)
    assert edges(env.stream_graph()) == [("Source: Collection Source", "text", "FORWARD")]


def test_endless_source_at_cost_zero_is_refused(env: StreamExecutionEnvironment) -> None:
    endless = env.from_source(
        GeneratorSource(None, {"id": SequenceOf()}), WatermarkStrategy.no_watermarks(), "endless"
    ).cost(0)
    endless.map(str)
    with pytest.raises(BadInput, match="operator 'Source: endless': an endless source needs a pace or a cost above 0"):
        env.stream_graph()
    endless.cost(1)
    assert len(env.stream_graph().nodes) == 2


def test_parallelism_above_max_parallelism_is_refused(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.map(str).set_parallelism(4).set_max_parallelism(3)
    with pytest.raises(BadInput, match="operator 'Map': parallelism 4 exceeds max parallelism 3"):
        env.stream_graph()


def test_duplicate_uid_is_refused(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.map(str).uid("same").filter(bool).uid("same")
    with pytest.raises(BadInput, match="operator 'Filter': uid 'same' is already used by operator 'Map'"):
        env.stream_graph()


def test_execution_plan_is_json_with_ship_strategies(env: StreamExecutionEnvironment, numbers: DataStream) -> None:
    numbers.map(str).set_parallelism(1).print()
    plan = json.loads(env.get_execution_plan())
    assert [(node["pact"], node["contents"], node["parallelism"]) for node in plan["nodes"]] == [
        ("Data Source", "Source: Collection Source", 1),
        ("Operator", "Map", 1),
        ("Data Sink", "Sink: Print to Std. Out", 2),
    ]
    assert [node.get("predecessors") for node in plan["nodes"]] == [
        None,
        [{"id": 1, "ship_strategy": "FORWARD", "side": "second"}],
        [{"id": 2, "ship_strategy": "REBALANCE", "side": "second"}],
    ]


def test_watermarks_are_assigned_with_the_parallelism_of_the_input(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    first = env.from_source(ScriptedSource([record(1, 1)], [], []), WatermarkStrategy.no_watermarks(), "first")
    second = env.from_source(ScriptedSource([record(2, 2)]), WatermarkStrategy.no_watermarks(), "second")
    assert first.assign_timestamps_and_watermarks(strategy).get_parallelism() == 3
    assert second.map(lambda value: value).assign_timestamps_and_watermarks(strategy).get_parallelism() == 2
    assert second.union(first).assign_timestamps_and_watermarks(strategy).get_parallelism() == 1
    assert second.rebalance().assign_timestamps_and_watermarks(strategy).get_parallelism() == 1
