"""Schedules: written as one line of text, and parsed back."""

from __future__ import annotations

import doctest

import pytest
from hypothesis import given

from flowsim.errors import BadInput
from flowsim.testing import FIFO, Schedule, schedules, some_schedules
from flowsim.testing import schedule as schedule_module


@given(schedules())
def test_schedule_is_restored_from_token_and_repr(schedule: Schedule) -> None:
    assert Schedule.of(schedule.token) == schedule
    assert eval(repr(schedule), {"Schedule": Schedule}) == schedule


@pytest.mark.parametrize(
    "token", ["", "random", "random/1", "pct/1/1", "random/-1/1", "random/1/0", "fifo/1/1/", "fifo/1/ 1"]
)
def test_invalid_token_is_refused(token: str) -> None:
    with pytest.raises(BadInput, match=r"expected a schedule such as random/7/1|expected budget_records >= 1"):
        Schedule.of(token)


def test_invalid_arguments_are_refused() -> None:
    with pytest.raises(BadInput, match="there is no policy 'pct'; there are: fifo, random"):
        Schedule("pct")  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="expected a seed >= 0, got -1"):
        Schedule(seed=-1)
    with pytest.raises(BadInput, match="expected budget_records >= 1, got True"):
        Schedule(budget_records=True)
    with pytest.raises(BadInput, match="policy 'explored' needs choices, the token of a run"):
        Schedule("explored")
    with pytest.raises(BadInput, match="other policies have none"):
        Schedule(choices="fx1.o.xnW8BoE.")
    with pytest.raises(BadInput, match="the choices of the token are damaged"):
        Schedule.of("fx1.o.xnW8BoE.AA")


def test_schedule_of_choices_is_written_as_the_call_that_makes_it() -> None:
    schedule = Schedule.of(" fx1.o.xnW8BoE.AAE ")
    assert (schedule.policy, schedule.token) == ("explored", "fx1.o.xnW8BoE.AAE")
    assert eval(repr(schedule)) == schedule


def test_some_schedules_start_with_fifo_and_alternate_batch_sizes() -> None:
    assert [schedule.token for schedule in some_schedules(3)] == [
        "fifo/0/4096",
        "random/0/1",
        "random/1/4096",
        "random/2/1",
    ]
    assert list(some_schedules(0)) == [FIFO]


def test_docstring_examples_run() -> None:
    results = doctest.testmod(schedule_module)
    assert (results.failed, results.attempted) == (0, 3)
