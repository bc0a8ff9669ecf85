"""The interval join as users write it."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep, watermark
from flowsim.datastream import KeyedStream, OutputTag, ProcessJoinFunction, StreamExecutionEnvironment
from flowsim.datastream.common import Duration, Types
from flowsim.errors import BadInput


class Pair(ProcessJoinFunction):
    def process_element(
        self, left: tuple[str, int], right: tuple[str, int], ctx: ProcessJoinFunction.Context
    ) -> Iterable[object]:
        yield left[0], left[1], right[1], ctx.get_timestamp()


def keyed(env: StreamExecutionEnvironment, *script: object) -> KeyedStream:
    source = env.add_source(ScriptedSource(list(script)))  # type: ignore[arg-type]
    return source.key_by(lambda pair: pair[0], Types.STRING())


def left_and_right() -> tuple[KeyedStream, KeyedStream]:
    env = StreamExecutionEnvironment.get_execution_environment()
    left = keyed(env, record(("a", 1), 10), record(("b", 2), 11), watermark(20), sleep(500), record(("a", 3), 12))
    right = keyed(
        env, record(("a", 10), 9), record(("b", 20), 14), watermark(20), sleep(500), record(("a", 30), 19), record(("a", 40), 25)
    )  # fmt: skip
    return left, right


def test_interval_join_emits_pairs_and_late_records() -> None:
    left, right = left_and_right()
    late_left, late_right = OutputTag("late left"), OutputTag("late right")
    joined = (
        left.interval_join(right)
        .between(Duration.of_millis(-1), Duration.of_millis(3))
        .lower_bound_exclusive()
        .side_output_left_late_data(late_left)
        .side_output_right_late_data(late_right)
        .process(Pair())
    )
    pairs, late = CollectSink(), CollectSink()
    joined.sink_to(pairs)
    joined.get_side_output(late_left).union(joined.get_side_output(late_right)).sink_to(late)
    joined.get_execution_environment().execute()
    assert pairs.values() == [("b", 2, 20, 14)]
    assert sorted(late.values()) == [("a", 3), ("a", 30)]


def test_inclusive_lower_bound_joins_records_on_the_bound() -> None:
    left, right = left_and_right()
    joined = left.interval_join(right).between(Duration.of_millis(-1), Duration.of_millis(3)).process(Pair())
    assert sorted(joined.execute_and_collect()) == [("a", 1, 10, 10), ("b", 2, 20, 14)]


def test_node_has_bounds_converted_to_inclusive() -> None:
    left, right = left_and_right()
    joined = left.interval_join(right).in_event_time().between(Duration.of_millis(-5), Duration.of_millis(5))
    joined.lower_bound_exclusive().upper_bound_exclusive().side_output_right_late_data(OutputTag("late")).process(
        Pair()
    )
    graph = left.get_execution_environment().stream_graph("job")
    (node,) = [node for node in graph.nodes.values() if node.description.kind == "interval_join"]
    assert (node.name, dict(node.description.params)) == (
        "Interval Join",
        {
            "lower_ms": -4,
            "upper_ms": 4,
            "late_left": False,
            "late_right": True,
            "late_tags": ["late"],
            "reading": "any",
        },
    )


def test_invalid_interval_join_is_refused() -> None:
    left, right = left_and_right()
    with pytest.raises(BadInput, match="an interval join supports only event time"):
        left.interval_join(right).in_processing_time().between(Duration.of_millis(0), Duration.of_millis(1))
    with pytest.raises(BadInput, match="the lower bound 2 ms is above the upper one 1 ms"):
        left.interval_join(right).between(Duration.of_millis(2), Duration.of_millis(1))
    with pytest.raises(TypeError, match="expected a Duration or a Time"):
        left.interval_join(right).between(0, 1)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a KeyedStream"):
        left.interval_join(left.get_execution_environment().from_collection([1]))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a ProcessJoinFunction"):
        left.interval_join(right).between(Duration.of_millis(0), Duration.of_millis(1)).process(print)  # type: ignore[arg-type]
