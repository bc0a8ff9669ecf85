"""The records that evictors remove when a window fires (rule 10.31)."""

from __future__ import annotations

import pytest

from flowsim.errors import BadInput
from flowsim.operators.windowing.evictors import CountEvictor, DeltaEvictor, Evictor, TimeEvictor, TimestampedValue
from flowsim.operators.windowing.windows import TimeWindow


class AtZero:
    def get_current_processing_time(self) -> int:
        return 0

    def get_current_watermark(self) -> int:
        return 0


def before(evictor: Evictor, *records: tuple[object, int | None]) -> list[object]:
    return evicted(evictor.evict_before, records)


def after(evictor: Evictor, *records: tuple[object, int | None]) -> list[object]:
    return evicted(evictor.evict_after, records)


def evicted(method, records) -> list[object]:  # type: ignore[no-untyped-def]  # a method of the protocol
    elements = [TimestampedValue(*record) for record in records]
    the_same_list = elements
    method(elements, len(elements), TimeWindow(0, 10), AtZero())
    assert elements is the_same_list
    return [element.value for element in elements]


def distance(one: object, last: object) -> float:
    assert isinstance(one, int)
    assert isinstance(last, int)
    return abs(last - one)


def test_count_evictor_keeps_last_records() -> None:
    assert before(CountEvictor(2), ("a", 5), ("b", 1), ("c", None)) == ["b", "c"]
    assert before(CountEvictor(3), ("a", 5), ("b", 1), ("c", None)) == ["a", "b", "c"]
    assert before(CountEvictor(0), ("a", 5), ("b", 1)) == []


def test_time_evictor_keeps_records_younger_than_length() -> None:
    assert before(TimeEvictor(3), ("a", 4), ("b", 7), ("c", 5), ("d", -9)) == ["b", "c"]


def test_time_evictor_does_nothing_if_first_record_has_no_timestamp() -> None:
    assert before(TimeEvictor(3), ("a", None), ("b", 7), ("c", 0)) == ["a", "b", "c"]
    assert before(TimeEvictor(3)) == []


def test_time_evictor_refuses_window_with_some_timestamps_missing() -> None:
    with pytest.raises(BadInput, match="assign timestamps to all records"):
        before(TimeEvictor(3), ("a", 1), ("b", None))


def test_delta_evictor_keeps_records_closer_than_threshold() -> None:
    assert before(DeltaEvictor(3, distance), (1, 0), (4, 0), (9, 0), (7, 0)) == [9, 7]
    assert before(DeltaEvictor(4, distance), (1, 0), (4, 0), (9, 0), (7, 0)) == [4, 9, 7]


def test_delta_evictor_removes_all_records_if_none_is_close() -> None:
    assert before(DeltaEvictor(0, distance), (1, 0), (4, 0)) == []
    assert before(DeltaEvictor(0, distance)) == []


def test_delta_evictor_with_nan_distance_removes_nothing() -> None:
    assert before(DeltaEvictor(0, lambda one, last: float("nan")), (1, 0), (4, 0)) == [1, 4]


@pytest.mark.parametrize("late", [False, True])
def test_evictor_acts_either_before_or_after_window_function(late: bool) -> None:
    evictors: list[Evictor] = [CountEvictor(1, late), TimeEvictor(1, late), DeltaEvictor(1, distance, late)]
    for evictor in evictors:
        acting, idle = (after, before) if late else (before, after)
        assert acting(evictor, (1, 1), (5, 5)) == [5]
        assert idle(evictor, (1, 1), (5, 5)) == [1, 5]
