"""The decorator that repeats what Hypothesis drew."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from flowsim.testing import FIFO, Schedule
from flowsim.testing.drawn import drawn_example

ONCE = settings(max_examples=1, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@pytest.fixture
def given_by_pytest() -> object:
    return object()


@ONCE
@given(schedule=st.just(Schedule("random", 7, 1)), events=st.just([("a", 1)]))
def test_drawn_arguments_are_a_decorator(given_by_pytest: object, schedule: Schedule, events: list[object]) -> None:
    def called_by_the_test() -> str:
        return drawn_example()

    assert called_by_the_test() == (
        "@example(schedule=Schedule(policy='random', seed=7, budget_records=1), events=[('a', 1)])"
    )


class TestInClass:
    @ONCE
    @given(st.just(FIFO))
    def test_instance_is_not_drawn(self, schedule: Schedule) -> None:
        assert drawn_example() == f"@example(schedule={FIFO!r})"


@ONCE
@given(count=st.just(1), other=st.builds(object))
def test_value_without_code_gives_no_decorator(count: int, other: object) -> None:
    assert drawn_example() == ""


@ONCE
@given(data=st.data())
def test_values_drawn_inside_the_test_give_no_decorator(data: st.DataObject) -> None:
    data.draw(st.just(1))
    assert drawn_example() == ""


@ONCE
@given(count=st.just(1))
def test_argument_that_the_test_assigns_gives_no_decorator(count: int) -> None:
    count += 1
    assert drawn_example() == ""


def test_without_hypothesis_there_is_no_decorator() -> None:
    assert drawn_example() == ""
