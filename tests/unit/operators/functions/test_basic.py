"""Map, filter and flat map: input, output, counters and cost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flowsim.errors import BadInput
from flowsim.operators.functions.basic import FilterOperator, FlatMapOperator, MapOperator
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.streamrecord.elements import LatencyMarker, WatermarkStatus
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.values.types import Types


class Doubler:
    """A function with a life cycle."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.calls.append(f"open {runtime_context.get_task_name()} {runtime_context.get_index_of_this_subtask()}")

    def close(self) -> None:
        self.calls.append("close")

    def map(self, value: object) -> object:
        assert isinstance(value, int)
        return value * 2


def test_map_keeps_timestamp_and_forwards_other_elements() -> None:
    marker = LatencyMarker(1, 2, 3)
    with OneInputOperatorHarness(MapOperator(str)) as harness:
        harness.process_element(1, 10)
        harness.process_element(2, None)
        harness.process_watermark(10)
        harness.process_watermark_status(WatermarkStatus.IDLE)
        harness.operator.process_latency_marker(marker)
        expected = [("rec", "1", 10), ("rec", "2", None), ("wm", 10), ("st", WatermarkStatus.IDLE), ("latency", marker)]
        assert harness.output == expected
        assert harness.operator.records_in == 2


def test_function_is_opened_before_first_record_and_closed_once() -> None:
    doubler = Doubler()
    harness = OneInputOperatorHarness(MapOperator(doubler.map, doubler), subtask_index=1, parallelism=2)
    with harness:
        harness.process_element(4)
    harness.operator.close()
    assert doubler.calls == ["open MapOperator 1", "close"]
    assert harness.output == [("rec", 8, None)]


def test_function_never_opened_is_not_closed() -> None:
    doubler = Doubler()
    OneInputOperatorHarness(MapOperator(doubler.map, doubler)).operator.close()
    assert doubler.calls == []


def test_filter_counts_dropped_records() -> None:
    with OneInputOperatorHarness(FilterOperator(lambda value: value != 2)) as harness:
        harness.process_elements([(1, 1), (2, 2), (3, 3)])
        assert harness.output == [("rec", 1, 1), ("rec", 3, 3)]
        assert (harness.operator.records_in, harness.operator.records_dropped) == (3, 1)


def test_flat_map_emits_each_result_when_yielded() -> None:
    seen_by_function: list[int] = []

    def letters(value: object) -> Iterator[object] | None:
        if value == "":
            return None

        def emit() -> Iterator[object]:
            for letter in str(value):
                yield letter
                seen_by_function.append(len(harness.output))

        return emit()

    with OneInputOperatorHarness(FlatMapOperator(letters)) as harness:
        harness.process_elements([("ab", 1), ("", 2)])
        assert harness.output == [("rec", "a", 1), ("rec", "b", 1)]
        assert seen_by_function == [1, 2]


def test_record_costs_time_before_emission() -> None:
    """D4: the cost is charged first thing."""
    with OneInputOperatorHarness(MapOperator(lambda value: harness.clock.now_ns), cost_ns=1000) as harness:
        start = harness.clock.now_ns
        harness.process_elements([("x", 1), ("x", 2)])
        assert harness.output == [("rec", start + 1000, 1), ("rec", start + 2000, 2)]
        harness.operator.set_cost_ns(5)
        harness.process_element("x", 3)
        assert harness.output[-1] == ("rec", start + 2005, 3)


def test_state_without_key_is_refused_with_advice() -> None:
    class Stateful(Doubler):
        def open(self, runtime_context: RuntimeContext) -> None:
            runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    function = Stateful()
    with (
        pytest.raises(BadInput, match=r"operator MapOperator: get_state needs a keyed stream: put key_by"),
        OneInputOperatorHarness(MapOperator(function.map, function)),
    ):
        pass
