"""A schedule is one line of text, and back."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given

from flowsim.errors import BadInput
from flowsim.testing import FIFO, Schedule, schedules, some_schedules
from flowsim.testing import schedule as schedule_module


@given(schedules())
def test_a_schedule_comes_back_from_its_token_and_from_its_repr(schedule: Schedule) -> None:
    assert Schedule.of(schedule.token) == schedule
    assert eval(repr(schedule), {"Schedule": Schedule}) == schedule


@pytest.mark.parametrize(
    "token", ["", "random", "random/1", "pct/1/1", "random/-1/1", "random/1/0", "fifo/1/1/", "fifo/1/ 1"]
)
def test_what_is_no_schedule_is_refused(token: str) -> None:
    with pytest.raises(BadInput, match=r"expected a schedule such as random/7/1|expected budget_records >= 1"):
        Schedule.of(token)


def test_impossible_schedules_are_refused() -> None:
    with pytest.raises(BadInput, match="there is no policy 'pct'; there are: fifo, random"):
        Schedule("pct")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="expected a seed >= 0, got -1"):
        Schedule(seed=-1)
    with pytest.raises(BadInput, match="expected budget_records >= 1, got True"):
        Schedule(budget_records=True)


def test_some_schedules_begin_with_the_plain_one_and_alternate_between_large_and_single_batches() -> None:
    assert [schedule.token for schedule in some_schedules(3)] == [
        "fifo/0/4096",
        "random/0/1",
        "random/1/4096",
        "random/2/1",
    ]
    assert list(some_schedules(0)) == [FIFO]


def test_the_examples_in_the_docstrings_are_true() -> None:
    results = doctest.testmod(schedule_module)
    assert (results.failed, results.attempted) == (0, 2)
