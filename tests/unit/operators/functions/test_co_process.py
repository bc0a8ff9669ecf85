"""Operators with several inputs: event time merged, functions per input, one state for both (rules 7.20, 7.27, 8.16)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.errors import BadInput
from flowsim.operators.functions.co_process import (
    CoFlatMapOperator,
    CoMapOperator,
    CoProcessOperator,
    KeyedCoProcessOperator,
)
from flowsim.operators.functions.process import ProcessContext
from flowsim.operators.inputs.multiple_input import MultipleInputOperator
from flowsim.operators.inputs.reading_order import StrictTurns
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.operators.stream_operator import Value
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.streamrecord.elements import OutputTag, WatermarkStatus
from flowsim.testing.harness import MultipleInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.values.types import Types

IDLE, ACTIVE = WatermarkStatus.IDLE, WatermarkStatus.ACTIVE


class Tagging(MultipleInputOperator):
    """Emits what came and on which input, and the ends."""

    def process_element_of(self, input_id: int, value: Value, timestamp: int | None) -> None:
        self.output.collect((input_id, value), timestamp)

    def end_input_of(self, input_id: int) -> None:
        self.output.collect(("end", input_id), None)


def test_each_input_has_its_own_process_and_end_methods() -> None:
    with MultipleInputOperatorHarness(Tagging(3)) as harness:
        harness.element(3, "c", 30)
        harness.element(1, "a")
        harness.end_of_input()
        assert harness.output == [
            ("rec", (3, "c"), 30),
            ("rec", (1, "a"), None),
            ("rec", ("end", 1), None),
            ("rec", ("end", 2), None),
            ("wm", MAX_WATERMARK),
            ("rec", ("end", 3), None),
        ]
        assert harness.operator.records_in == 2


def test_records_cost_time_of_operator() -> None:
    with MultipleInputOperatorHarness(Tagging(2)) as harness:
        harness.operator.set_cost_ns(7)
        before = harness.clock.now_ns
        harness.element(1, "a")
        harness.element(2, "b")
        assert harness.clock.now_ns - before == 14


def test_watermark_is_minimum_of_inputs() -> None:
    with MultipleInputOperatorHarness(Tagging(2)) as harness:
        harness.watermark(1, 10)
        assert harness.take_output() == []
        harness.watermark(2, 4)
        harness.watermark(2, 7)
        harness.watermark(2, 12)
        assert harness.take_output() == [("wm", 4), ("wm", 7), ("wm", 10)]


def test_idle_input_is_ignored_and_its_status_is_not_forwarded() -> None:
    with MultipleInputOperatorHarness(Tagging(2)) as harness:
        harness.watermark(1, 10)
        harness.status(2, IDLE)
        assert harness.take_output() == [("wm", 10)]
        harness.status(2, ACTIVE)
        assert harness.take_output() == []


def test_all_inputs_idle_emits_greatest_watermark_then_idle() -> None:
    with MultipleInputOperatorHarness(Tagging(2)) as harness:
        harness.watermark(1, 10)
        harness.watermark(2, 5)
        harness.status(1, IDLE)
        harness.status(2, IDLE)
        harness.status(1, ACTIVE)
        assert harness.output == [("wm", 5), ("wm", 10), ("st", IDLE), ("st", ACTIVE)]


def test_watermark_of_idle_input_counts_without_status() -> None:
    with MultipleInputOperatorHarness(Tagging(2)) as harness:
        harness.status(1, IDLE)
        harness.watermark(1, 3)
        harness.watermark(2, 8)
        assert harness.output == [("wm", 3)]


def test_co_map_has_function_per_input_and_drops_only_none() -> None:
    def even(value: object) -> object:
        assert isinstance(value, int)
        return value if value % 2 == 0 else None

    with MultipleInputOperatorHarness(CoMapOperator(lambda value: ("first", value), even)) as harness:
        harness.element(1, 1, 10)
        harness.element(2, 1, 20)
        harness.element(2, 2, 30)
        assert harness.output == [("rec", ("first", 1), 10), ("rec", 2, 30)]
        assert harness.operator.records_in == 3


def test_co_flat_map_emits_any_number_of_records() -> None:
    operator = CoFlatMapOperator(lambda value: str(value).split(), lambda value: None)
    with MultipleInputOperatorHarness(operator) as harness:
        harness.element(1, "a b", 1)
        harness.element(2, "c d", 2)
        assert harness.output == [("rec", "a", 1), ("rec", "b", 1)]


class Sides:
    """A CoProcessFunction that sends the second input aside, and notes its own life."""

    life: list[str]

    def open(self, runtime_context: RuntimeContext) -> None:
        self.life = ["open"]

    def close(self) -> None:
        self.life.append("close")

    def process_element1(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        yield value, ctx.timer_service().current_watermark()

    def process_element2(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        yield OutputTag("second"), (value, ctx.timestamp())


def test_co_process_function_reads_time_and_emits_to_side_output() -> None:
    function = Sides()
    with MultipleInputOperatorHarness(CoProcessOperator(function)) as harness:
        harness.watermark(1, 9)
        harness.watermark(2, 5)
        harness.element(1, "a", 7)
        harness.element(2, "b", 8)
        assert harness.output == [("wm", 5), ("rec", ("a", 5), 7), ("side", "second", ("b", 8), 8)]
        assert function.life == ["open"]
    assert function.life == ["open", "close"]


class Enrich:
    """Keeps the second input's value per key, emits it with the first's, and clears it by a timer."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.rate = runtime_context.get_state(ValueStateDescriptor("rate", Types.LONG()))

    def close(self) -> None:
        """Nothing is held."""

    def process_element1(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        yield ctx.get_current_key(), self.rate.value()

    def process_element2(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        assert isinstance(value, tuple)
        self.rate.update(value[1])
        ctx.timer_service().register_event_time_timer(100)
        return ()

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[object]:
        self.rate.clear()
        yield "cleared", ctx.get_current_key(), timestamp


def test_both_inputs_share_state_and_timers_of_key() -> None:
    operator = KeyedCoProcessOperator(Enrich())
    selectors = (lambda value: value, lambda value: value[0])  # type: ignore[index]
    with MultipleInputOperatorHarness(operator, key_selectors=selectors, key_type="STRING") as harness:
        harness.element(2, ("eur", 3), 1)
        harness.element(1, "eur", 2)
        harness.element(1, "usd", 3)
        harness.watermark(1, 100)
        assert harness.take_output() == [("rec", ("eur", 3), 2), ("rec", ("usd", None), 3)]
        harness.watermark(2, 200)
        assert harness.take_output() == [("rec", ("cleared", "eur", 100), 100), ("wm", 100)]
        harness.element(1, "eur", 101)
        assert harness.take_output() == [("rec", ("eur", None), 101)]


def test_keyed_operator_without_key_for_both_inputs_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a key for each of its two inputs"):
        MultipleInputOperatorHarness(KeyedCoProcessOperator(Enrich()), key_selectors=(lambda value: value,))


def test_reading_order_follows_records_and_ends() -> None:
    operator = CoMapOperator(lambda value: value, lambda value: value, order=StrictTurns(2))
    with MultipleInputOperatorHarness(operator) as harness:
        selectable = operator.input_selectable
        assert selectable is not None
        masks = [selectable.next_selection().input_mask]
        harness.element(1, "a")
        masks.append(selectable.next_selection().input_mask)
        operator.end_input_of(2)
        masks.append(selectable.next_selection().input_mask)
        assert masks == [1, 2, 1]


def test_operator_with_next_selection_is_its_own_input_selectable() -> None:
    class SelectingItself(Tagging):
        def next_selection(self) -> object:
            return None

    assert Tagging(2).input_selectable is None
    itself = SelectingItself(2)
    assert itself.input_selectable is itself
