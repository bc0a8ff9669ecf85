"""Interval joins: the pairs, the removal of records, and late records (rules 10.33-10.36)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level, TimerAction
from flowsim.facts.tracer import TaskTrace
from flowsim.operators.functions.interval_join import IntervalBounds, IntervalJoinOperator, JoinContext
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.recording.memory import MemoryRecorder
from flowsim.streamrecord.elements import OutputTag
from flowsim.testing.harness import MultipleInputOperatorHarness, OneInputOperatorHarness
from flowsim.units import MAX_WATERMARK
from flowsim.values.encoding import fingerprint
from flowsim.values.java_hash_code import key_hash
from flowsim.values.keys import key_fingerprint

LATE = OutputTag("late")


class Pairs:
    """Yields each pair, and to a side output its two timestamps."""

    def __init__(self) -> None:
        self.life: list[str] = []

    def open(self, runtime_context: RuntimeContext) -> None:
        self.life.append("open")

    def close(self) -> None:
        self.life.append("close")

    def process_element(self, left: Any, right: Any, ctx: JoinContext) -> Iterable[object]:
        yield left, right
        if ctx.get_left_timestamp() == ctx.get_right_timestamp():
            yield OutputTag("equal"), ctx.get_timestamp()


def key_of(value: object) -> object:
    assert isinstance(value, str)
    return value[0]


def bounds(lower_ms: int, upper_ms: int, *, exclusive: bool = False) -> IntervalBounds:
    return IntervalBounds.between(lower_ms, upper_ms, lower_exclusive=exclusive, upper_exclusive=exclusive)


def harness(lower_ms: int, upper_ms: int, **options: Any) -> MultipleInputOperatorHarness:
    operator = IntervalJoinOperator(Pairs(), bounds(lower_ms, upper_ms), **options)
    return MultipleInputOperatorHarness(operator, key_selectors=(key_of, key_of))


def buffered(joined: OneInputOperatorHarness) -> list[tuple[str, object]]:
    """Name of the buffer and its entries, of all keys."""
    operator = joined.operator
    assert isinstance(operator, IntervalJoinOperator)
    groups = operator.state.key_groups()
    return [(entry.name, entry.content) for group in groups for entry in operator.state.entries_of_key_group(group)]


def test_record_joins_records_of_its_key_within_bounds() -> None:
    with harness(-2, 3) as joined:
        for number, timestamp in enumerate((7, 8, 10, 13, 14)):
            joined.element(2, f"a{number}", timestamp)
        joined.element(2, "b", 10)
        joined.element(1, "a", 10)
        assert joined.output == [
            ("rec", ("a", "a1"), 10),
            ("rec", ("a", "a2"), 10),
            ("side", "equal", 10, 10),
            ("rec", ("a", "a3"), 13),
        ]


def test_exclusive_bounds_exclude_records_on_them() -> None:
    assert bounds(-2, 3, exclusive=True) == IntervalBounds(-1, 2)
    assert bounds(1, 1, exclusive=True) == IntervalBounds(2, 0)
    with pytest.raises(ValueError, match="the lower bound 2 ms is above the upper one 1 ms"):
        bounds(2, 1)


def test_records_of_equal_timestamp_join_in_order_of_arrival() -> None:
    with harness(0, 0) as joined:
        joined.element(1, "a-first", 5)
        joined.element(1, "a-second", 5)
        joined.element(2, "a", 5)
        assert [element[1] for element in joined.output if element[0] == "rec"] == [("a-first", "a"), ("a-second", "a")]


def test_partners_have_order_of_java_hash_map() -> None:
    """Rule 10.34: 17 shares a bin with 1 and came first."""
    with harness(-100, 100) as joined:
        for timestamp in (17, 2, 1):
            joined.element(1, f"a{timestamp}", timestamp)
        joined.element(2, "a", 3)
        assert [element[1] for element in joined.output] == [("a17", "a"), ("a1", "a"), ("a2", "a")]


@pytest.mark.parametrize(
    ("lower_ms", "upper_ms", "left_gone_at", "right_gone_at"),
    [(-2, 3, 13, 12), (0, 0, 10, 10), (1, 4, 14, 10), (-4, -1, 10, 14)],
)
def test_record_is_removed_when_no_partner_can_arrive(
    lower_ms: int, upper_ms: int, left_gone_at: int, right_gone_at: int
) -> None:
    """Rule 10.36: never before its own timestamp."""
    for input_id, name, gone_at in ((1, "LEFT_BUFFER", left_gone_at), (2, "RIGHT_BUFFER", right_gone_at)):
        with harness(lower_ms, upper_ms) as joined:
            joined.element(input_id, "a", 10)
            joined.operator.process_watermark(gone_at - 1)
            assert buffered(joined) == [(name, [(10, ["a"])])]
            joined.operator.process_watermark(gone_at)
            assert buffered(joined) == []


def test_record_at_watermark_joins_and_late_record_does_not() -> None:
    """Rule 10.35."""
    with harness(-5, 5, late_left=LATE) as joined:
        joined.element(2, "a", 10)
        joined.operator.process_watermark(9)
        joined.element(1, "a-late", 8)
        joined.element(1, "a", 9)
        joined.element(2, "a-late", 8)
        assert joined.output == [("wm", 9), ("side", "late", "a-late", 8), ("rec", ("a", "a"), 10)]
        assert joined.operator.records_dropped == 1


@pytest.mark.parametrize("timestamp", [None, -(2**63)])
def test_record_without_timestamp_is_refused(timestamp: int | None) -> None:
    with harness(0, 1) as joined, pytest.raises(BadInput, match="without a timestamp cannot be joined by time"):
        joined.element(1, "a", timestamp)


def test_late_record_is_recorded_with_key_watermark_and_output() -> None:
    recorder = MemoryRecorder(Level.FULL)
    operator = IntervalJoinOperator(Pairs(), bounds(0, 1), late_right=LATE)
    with OneInputOperatorHarness(
        operator, key_selector=key_of, key_selectors=(key_of, key_of),
        trace=lambda clock: TaskTrace(4, clock, recorder),
    ) as joined:  # fmt: skip
        joined.process_watermark(100)
        operator.inputs[0].process_element("a", 99)
        operator.inputs[1].process_element("b", 98)
    keys = [(key_hash(key), key_fingerprint(key)) for key in "ab"]
    assert [row[4:] for row in recorder.rows("late_drop")] == [
        (*keys[0], 99, fingerprint(99, "a"), 100, 0),
        (*keys[1], 98, fingerprint(98, "b"), 100, 1),
    ]


def test_cleanup_timers_of_both_buffers_are_distinguished() -> None:
    recorder = MemoryRecorder(Level.FULL)
    operator = IntervalJoinOperator(Pairs(), bounds(0, 0))
    with OneInputOperatorHarness(
        operator, key_selector=key_of, key_selectors=(key_of, key_of),
        trace=lambda clock: TaskTrace(4, clock, recorder),
    ) as joined:  # fmt: skip
        operator.inputs[0].process_element("a", 9)
        operator.inputs[1].process_element("a", 9)
        joined.process_watermark(MAX_WATERMARK)
    namespaces = [(TimerAction(row[4]).name, row[9], row[11]) for row in recorder.rows("timers")]
    assert namespaces == [("REGISTER", 1, 1), ("REGISTER", 2, 2), ("FIRE", 1, 1), ("FIRE", 2, 2)]


def test_function_is_opened_and_closed_once() -> None:
    function = Pairs()
    with MultipleInputOperatorHarness(IntervalJoinOperator(function, bounds(0, 1)), key_selectors=(key_of, key_of)):
        assert function.life == ["open"]
    assert function.life == ["open", "close"]


def test_join_without_keys_for_both_inputs_is_refused() -> None:
    with pytest.raises(BadInput, match="needs a key for each of its two inputs"):
        OneInputOperatorHarness(IntervalJoinOperator(Pairs(), bounds(0, 1)), key_selector=key_of)
