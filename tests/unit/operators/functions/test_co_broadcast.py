"""A stream connected with a broadcast one: who may change state, the current key, and timers."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.datastream import (
    BroadcastProcessFunction,
    KeyedBroadcastProcessFunction,
    KeyedStateFunction,
    OutputTag,
    RuntimeContext,
)
from flowsim.datastream.common.time import Duration
from flowsim.datastream.state import StateTtlConfig
from flowsim.errors import BadInput
from flowsim.operators.functions.broadcast_contexts import (
    BroadcastContext,
    KeyedBroadcastContext,
    ReadOnlyBroadcastContext,
)
from flowsim.operators.functions.co_broadcast import CoBroadcastWithKeyedOperator, CoBroadcastWithNonKeyedOperator
from flowsim.operators.functions.timer_services import TimeDomain
from flowsim.state.descriptors import MapStateDescriptor, ValueStateDescriptor
from flowsim.state.operator_state_store import OperatorStateStore, check_broadcast_descriptor
from flowsim.state.states import State, ValueState
from flowsim.testing.harness import MultipleInputOperatorHarness
from flowsim.values.types import Types

RULES = MapStateDescriptor("rules", Types.STRING(), Types.LONG())
OTHER = MapStateDescriptor("other", Types.STRING(), Types.LONG())
COUNT = ValueStateDescriptor("count", Types.LONG())
SIDE = OutputTag("side")


class Rules(BroadcastProcessFunction):
    """Keeps what is broadcast and shows it to every record."""

    def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
        yield value, ctx.get_broadcast_state(RULES).items(), ctx.timestamp(), ctx.current_watermark()

    def process_broadcast_element(self, value: tuple[str, int], ctx: BroadcastContext) -> Iterable[object]:
        ctx.get_broadcast_state(RULES).put(*value)
        ctx.output(SIDE, (value, ctx.current_watermark(), ctx.current_processing_time()))
        yield SIDE, "yielded"


class Counts(KeyedBroadcastProcessFunction):
    """Counts per key, with a timer; a broadcast element adds to every key's count."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.count = runtime_context.get_state(COUNT)

    def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
        self.count.update(int(str(self.count.value() or 0)) + 1)
        ctx.timer_service().register_event_time_timer(100)
        yield ctx.get_current_key(), self.count.value(), ctx.get_broadcast_state(RULES).get("x")

    def process_broadcast_element(self, value: tuple[str, int], ctx: KeyedBroadcastContext) -> Iterable[object]:
        ctx.get_broadcast_state(RULES).put(*value)
        seen = []

        def add(key: object, state: State) -> None:
            assert isinstance(state, ValueState)
            seen.append((key, state.value()))
            state.update(int(str(state.value())) + value[1])

        ctx.apply_to_keyed_state(COUNT, add)
        yield seen

    def on_timer(self, timestamp: int, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
        assert ctx.time_domain() is TimeDomain.EVENT_TIME
        yield "timer", ctx.get_current_key(), self.count.value(), ctx.get_broadcast_state(RULES).get("x")


def test_record_sees_earlier_broadcast_elements() -> None:
    with MultipleInputOperatorHarness(CoBroadcastWithNonKeyedOperator(Rules(), [RULES])) as harness:
        harness.element(1, "early", 5)
        harness.watermark(1, 30)
        harness.element(2, ("x", 1), 7)
        harness.watermark(2, 20)
        harness.element(1, "late")
        assert harness.output == [
            ("rec", ("early", [], 5, -(2**63)), 5),
            ("side", "side", (("x", 1), -(2**63), 1), 7),
            ("side", "side", "yielded", 7),
            ("wm", 20),
            ("rec", ("late", [("x", 1)], None, 20), None),
        ]
        assert harness.operator.records_in == 3


def keyed() -> MultipleInputOperatorHarness:
    operator = CoBroadcastWithKeyedOperator(Counts(), [RULES])
    return MultipleInputOperatorHarness(operator, key_selectors=[lambda value: value], key_type="STRING")


def test_broadcast_element_reaches_state_of_all_keys_by_key_group() -> None:
    with keyed() as harness:
        for key in ("b", "a", "b"):
            harness.element(1, key)
        assert [emitted[1] for emitted in harness.take_output()] == [("b", 1, None), ("a", 1, None), ("b", 2, None)]
        harness.element(2, ("x", 10))
        # "b" belongs to key group 22, "a" to 81.
        assert harness.take_output() == [("rec", [("b", 2), ("a", 1)], None)]
        harness.watermark(1, 100)
        assert harness.take_output() == []
        harness.watermark(2, 100)
        assert harness.take_output() == [
            ("rec", ("timer", "b", 12, 10), 100),
            ("rec", ("timer", "a", 11, 10), 100),
            ("wm", 100),
        ]


def test_apply_to_keyed_state_leaves_last_key_current() -> None:
    class Last(Counts):
        def process_broadcast_element(self, value: object, ctx: KeyedBroadcastContext) -> Iterable[object]:
            before = self.count.value()
            ctx.apply_to_keyed_state(COUNT, Doubling())
            yield before, self.count.value()

    class Doubling(KeyedStateFunction):
        def process(self, key: object, state: State) -> None:
            assert isinstance(state, ValueState)
            state.update(2 * int(str(state.value())))

    operator = CoBroadcastWithKeyedOperator(Last(), [RULES])
    with MultipleInputOperatorHarness(operator, key_selectors=[lambda value: value]) as harness:
        for key in ("a", "a", "b"):
            harness.element(1, key)
        harness.take_output()
        harness.element(2, "go")
        assert harness.output == [("rec", (1, 4), None)]
        assert (harness.operator.current_key, harness.operator.state.current_key) == ("a", "a")  # type: ignore[attr-defined]


def test_read_only_broadcast_state_cannot_be_changed() -> None:
    store = OperatorStateStore()
    store.get_broadcast_state(RULES).put_all({"x": 1, "y": None})
    seen = store.get_read_only_broadcast_state(RULES)
    assert (seen["x"], "y" in seen, list(seen), seen.values(), seen.is_empty()) == (
        1,
        True,
        ["x", "y"],
        [1, None],
        False,
    )

    def delete() -> None:
        del seen["x"]

    for change in (lambda: seen.put("x", 2), lambda: seen.put_all({}), lambda: seen.remove("x"), seen.clear, delete):
        with pytest.raises(BadInput, match="broadcast state 'rules' can only be changed in process_broadcast_element"):
            change()
    mine = store.get_broadcast_state(RULES)
    mine.remove("x")
    assert seen.keys() == ["y"]
    mine.clear()
    assert seen.is_empty()


@pytest.mark.parametrize("kind", [Rules, Counts])
def test_changing_broadcast_state_for_a_record_is_refused(
    kind: type[Rules] | type[Counts],
) -> None:
    class Changing(kind):  # type: ignore[valid-type,misc]
        def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
            ctx.get_broadcast_state(RULES).put("x", 1)
            return ()

    operator = (CoBroadcastWithNonKeyedOperator if kind is Rules else CoBroadcastWithKeyedOperator)(Changing(), [RULES])
    with (
        MultipleInputOperatorHarness(operator, key_selectors=[lambda value: value]) as harness,
        pytest.raises(BadInput, match="can only be changed in process_broadcast_element"),
    ):
        harness.element(1, "any")


def test_unknown_broadcast_state_is_refused_with_known_ones() -> None:
    class Wrong(Rules):
        def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
            return ctx.get_broadcast_state(OTHER).items()

    with (
        MultipleInputOperatorHarness(CoBroadcastWithNonKeyedOperator(Wrong(), [RULES])) as harness,
        pytest.raises(BadInput, match=r"no state 'other' was given to broadcast\(\.\.\.\), only 'rules'"),
    ):
        harness.element(1, "any")


def test_timers_without_keys_are_refused() -> None:
    class Timed(Rules):
        def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
            ctx.timer_service().register_event_time_timer(1)
            return ()

    with (
        MultipleInputOperatorHarness(CoBroadcastWithNonKeyedOperator(Timed(), [RULES])) as harness,
        pytest.raises(BadInput, match="timers are only available on a keyed stream"),
    ):
        harness.element(1, "any")


def test_broadcast_state_with_ttl_or_of_other_kind_is_refused() -> None:
    living = MapStateDescriptor("living", Types.STRING(), Types.LONG())
    living.enable_time_to_live(StateTtlConfig.new_builder(Duration.of_hours(1)).build())
    with pytest.raises(BadInput, match="'living': broadcast state has no time to live"):
        check_broadcast_descriptor(living, "broadcast")
    with pytest.raises(BadInput, match="expected a MapStateDescriptor"):
        check_broadcast_descriptor(COUNT, "broadcast")


def test_broadcast_element_without_timestamp_gives_side_outputs_no_timestamp() -> None:
    """Rule 9.19."""

    class Tells(BroadcastProcessFunction):
        def process_element(self, value: object, ctx: ReadOnlyBroadcastContext) -> Iterable[object]:
            yield value, ctx.timestamp()
            ctx.output(SIDE, "by output")
            yield SIDE, "yielded"

        def process_broadcast_element(self, value: object, ctx: BroadcastContext) -> Iterable[object]:
            yield value, ctx.timestamp()
            ctx.output(SIDE, "by output")
            yield SIDE, "yielded"

    with MultipleInputOperatorHarness(CoBroadcastWithNonKeyedOperator(Tells(), [RULES])) as harness:
        harness.element(1, "record")
        harness.element(2, "rule")
        least = -(2**63)
        assert harness.output == [
            ("rec", ("record", None), None),
            ("side", "side", "by output", least),
            ("side", "side", "yielded", least),
            ("rec", ("rule", least), None),
            ("side", "side", "by output", least),
            ("side", "side", "yielded", least),
        ]
