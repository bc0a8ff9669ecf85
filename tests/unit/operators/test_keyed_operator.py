"""Timers of an operator that are restored in another subtask (rule 9.15)."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from flowsim.errors import BadInput
from flowsim.operators.functions.process import KeyedProcessOperator, ProcessContext
from flowsim.operators.runtime_context import RuntimeContext
from flowsim.state.key_group_range_assignment import assign_to_key_group
from flowsim.testing.harness import OneInputOperatorHarness
from flowsim.timers.internal_timer_service import TimersSnapshot


class Both:
    """Sets a timer of each kind at the record's time and tells what fires."""

    def open(self, runtime_context: RuntimeContext) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()

    def close(self) -> None:
        self.subtask = -1

    def process_element(self, value: object, ctx: ProcessContext) -> Iterable[object]:
        timestamp = ctx.timestamp()
        assert timestamp is not None
        ctx.timer_service().register_event_time_timer(timestamp)
        ctx.timer_service().register_processing_time_timer(timestamp)
        return ()

    def on_timer(self, timestamp: int, ctx: ProcessContext) -> Iterable[object]:
        domain = ctx.time_domain()
        assert domain is not None
        yield domain.name, ctx.get_current_key(), timestamp


def subtask(index: int, parallelism: int) -> OneInputOperatorHarness:
    return OneInputOperatorHarness(
        KeyedProcessOperator(Both()), key_selector=lambda value: value, subtask_index=index, parallelism=parallelism,
        max_parallelism=8,
    )  # fmt: skip


def operator_of(harness: OneInputOperatorHarness) -> KeyedProcessOperator:
    assert isinstance(harness.operator, KeyedProcessOperator)
    return harness.operator


def test_timers_of_one_subtask_are_restored_in_two() -> None:
    with subtask(0, 1) as old:
        old.process_elements([(key, 50 + number) for number, key in enumerate("abcdefgh")])
        timers = operator_of(old).snapshot_timers()
    assert sorted(timers) == list(range(8))
    fired = []
    for index in range(2):
        new = subtask(index, 2)
        mine = range(4 * index, 4 * index + 4)
        operator_of(new).restore_timers({group: timers[group] for group in mine})
        with new:
            new.process_watermark(60)
            new.set_processing_time(60)
            values = [element[1] for element in new.take_output() if element[0] == "rec"]
        assert {assign_to_key_group(value[1], 8) for value in values} <= set(mine)  # type: ignore[index]
        fired.extend(values)
    expected = [
        (domain, key, 50 + n) for domain in ("EVENT_TIME", "PROCESSING_TIME") for n, key in enumerate("abcdefgh")
    ]
    assert sorted(fired) == sorted(expected)


def test_overdue_processing_time_timer_fires_at_once() -> None:
    with subtask(0, 1) as old:
        old.process_element("a", 50)
        timers = operator_of(old).snapshot_timers()
    late = subtask(0, 1)
    late.set_processing_time(1000)
    operator_of(late).restore_timers(timers)
    with late:
        late.set_processing_time(1000)
        assert late.output == [("rec", ("PROCESSING_TIME", "a", 50), None)]


def test_timers_of_other_subtask_are_refused() -> None:
    with pytest.raises(BadInput, match="key group 5 is not one of 0 to 3"):
        operator_of(subtask(0, 2)).restore_timers({5: {"user-timers": TimersSnapshot((), ())}})
