"""The chains of many late records are computed at once, and are those of each record."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import flowsim
from flowsim.why.event_time.late_chain import late_chains
from flowsim.why.run_facts import RunFacts
from tests.support.jobs.unordered_records import unordered_records
from tests.unit.why.conftest import Recorded

MOST_CALLS_OF_RECORD = 10


@pytest.mark.parametrize("scenario", ["12_three_lateness_settings", "16_two_watermarks", "23_splits_of_one_subtask"])
def test_chains_of_several_records_are_those_of_each(recorded: Recorded, scenario: str) -> None:
    """Operators with several lateness settings, several inputs, and splits."""
    facts = RunFacts(flowsim.open_recording(recorded(scenario)))
    drops = facts.by_task("late_drop")

    at_once = late_chains(facts, drops).all()

    each = [late_chains(facts, drops.cut(number, number + 1)).chain(0) for number in range(len(drops))]
    assert [[str(cause) for cause in chain] for chain in at_once] == [[str(cause) for cause in chain] for chain in each]
    assert len(at_once) == len(drops) > 0
    assert min(map(len, at_once)) > 3


def test_calls_hardly_depend_on_the_number_of_late_records(tmp_path: Path) -> None:
    facts = RunFacts(unordered_records(tmp_path))
    drops = facts.by_task("late_drop")
    late_chains(facts, drops)  # Tables and states of channels are read once.

    few, many = (calls(lambda count=count: late_chains(facts, drops.cut(0, count))) for count in (20, len(drops)))

    assert len(drops) > 300
    assert many - few < MOST_CALLS_OF_RECORD * (len(drops) - 20)


def calls(function: Callable[[], object]) -> int:
    """The number of calls of Python functions and of functions in C."""
    found = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal found
        found += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        function()
    finally:
        sys.setprofile(None)
    return found
