"""Process functions as in PyFlink, with and without keys (sections 7.20, 9)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flowsim.errors import BadInput
from flowsim.operators.functions.process import KeyedProcessOperator, ProcessContext, ProcessOperator
from flowsim.operators.functions.timer_services import TimeDomain
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.state.descriptors import ValueStateDescriptor
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.units import NO_TIMESTAMP
from flowsim.values.types import Types

ODD = OutputTag("odd")


class Function:
    """The least a process function needs."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.runtime_context = runtime_context

    def close(self) -> None:
        del self.runtime_context


class Sorter(Function):
    def process_element(self, value: object, ctx: ProcessContext) -> Iterator[object]:
        assert isinstance(value, int)
        if value % 2:
            yield ODD, value
        else:
            yield value
            yield (value, "a pair, but no side output")
        ctx.output(OutputTag("seen"), [value, ctx.timestamp(), ctx.timer_service().current_watermark()])


def test_yielded_results_and_side_outputs_are_emitted() -> None:
    with OneInputOperatorHarness(ProcessOperator(Sorter())) as harness:
        harness.process_element(1, 10)
        harness.process_watermark(10)
        harness.process_element(2, None)
        assert harness.output == [
            ("side", "odd", 1, 10),
            ("side", "seen", [1, 10, NO_TIMESTAMP], 10),
            ("wm", 10),
            ("rec", 2, None),
            ("rec", (2, "a pair, but no side output"), None),
            ("side", "seen", [2, None, 10], NO_TIMESTAMP),
        ]


def test_results_may_be_returned_as_list_or_none() -> None:
    class Returning(Function):
        def process_element(self, value: object, ctx: ProcessContext) -> list[object] | None:
            return [value, value] if value == "twice" else None

    with OneInputOperatorHarness(ProcessOperator(Returning())) as harness:
        harness.process_elements([("twice", 1), ("never", 2)])
        assert harness.output == [("rec", "twice", 1), ("rec", "twice", 1)]


def test_timers_without_key_are_refused() -> None:
    """Rule 9.17."""

    class Timing(Function):
        def process_element(self, value: object, ctx: ProcessContext) -> None:
            assert ctx.timer_service().current_processing_time() == 1
            assert ctx.get_current_key() is None
            getattr(ctx.timer_service(), str(value))(5)

    with OneInputOperatorHarness(ProcessOperator(Timing())) as harness:
        for method in (
            "register_event_time_timer", "register_processing_time_timer",
            "delete_event_time_timer", "delete_processing_time_timer",
        ):  # fmt: skip
            with pytest.raises(BadInput, match="only available on a keyed stream"):
                harness.process_element(method, 1)


class Counter(Function):
    """Counts per key, and tells the count 5 ms (event time) or 50 ms (processing time) later."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))

    def close(self) -> None:
        del self.count

    def process_element(self, value: object, ctx: ProcessContext) -> None:
        count = self.count.value()
        self.count.update(1 if count is None else int(str(count)) + 1)
        assert ctx.time_domain() is None
        timestamp = ctx.timestamp()
        if timestamp is None:
            timers = ctx.timer_service()
            timers.register_processing_time_timer(timers.current_processing_time() + 50)
        else:
            ctx.timer_service().register_event_time_timer(timestamp + 5)

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterator[object]:
        domain = ctx.time_domain()
        assert domain is not None
        yield [ctx.get_current_key(), self.count.value(), timestamp, ctx.timestamp(), domain.name]
        yield ODD, ctx.timer_service().current_watermark()


def keyed() -> OneInputOperatorHarness:
    return OneInputOperatorHarness(KeyedProcessOperator(Counter()), key_selector=lambda value: str(value)[0])


def test_event_time_timer_has_state_of_its_key_and_its_timestamp() -> None:
    """Rules 9.4, 9.13: watermark first, then timers, then the watermark goes on (rule 8.15)."""
    with keyed() as harness:
        harness.process_elements([("a1", 10), ("b1", 11), ("a2", 10)])
        harness.process_watermark(20)
        assert harness.output == [
            ("rec", ["a", 2, 15, 15, "EVENT_TIME"], 15),
            ("side", "odd", 20, 15),
            ("rec", ["b", 1, 16, 16, "EVENT_TIME"], 16),
            ("side", "odd", 20, 16),
            ("wm", 20),
        ]


def test_processing_time_timer_emits_without_timestamp() -> None:
    """As KeyedProcessOperator does: the collector's timestamp is erased, a side output carries the timer's."""
    with keyed() as harness:
        harness.process_element("a1", None)
        harness.set_processing_time(50)
        assert harness.output == []
        harness.set_processing_time(51)
        assert harness.output == [
            ("rec", ["a", 1, 51, 51, "PROCESSING_TIME"], None),
            ("side", "odd", NO_TIMESTAMP, 51),
        ]


def test_deleted_timers_do_not_fire() -> None:
    class Deleting(Function):
        def process_element(self, value: object, ctx: ProcessContext) -> None:
            timers = ctx.timer_service()
            timers.register_event_time_timer(5)
            timers.register_processing_time_timer(5)
            timers.delete_event_time_timer(5)
            timers.delete_processing_time_timer(5)

        def on_timer(self, timestamp: int, ctx: ProcessContext) -> list[object]:
            return [ctx.time_domain() is TimeDomain.EVENT_TIME]

    with OneInputOperatorHarness(KeyedProcessOperator(Deleting()), key_selector=lambda value: value) as harness:
        harness.process_element("a", 1)
        harness.process_watermark(9)
        harness.set_processing_time(9)
        assert harness.output == [("wm", 9)]


def test_keyed_operator_without_keys_is_refused() -> None:
    with pytest.raises(BadInput, match=r"KeyedProcessOperator needs a keyed stream: put key_by"):
        OneInputOperatorHarness(KeyedProcessOperator(Counter()))


def test_timer_without_whole_milliseconds_is_refused() -> None:
    class Careless(Function):
        def process_element(self, value: object, ctx: ProcessContext) -> None:
            getattr(ctx.timer_service(), "register_event_time_timer")(value)  # noqa: B009 - the type is what is tested

        def on_timer(self, timestamp: int, ctx: ProcessContext) -> None:
            return None

    with OneInputOperatorHarness(KeyedProcessOperator(Careless()), key_selector=lambda value: "k") as harness:
        for value in (1.5, 2**63, True):
            with pytest.raises(BadInput, match="register_event_time_timer: expected whole milliseconds of 64 bits"):
                harness.process_element(value, 1)
