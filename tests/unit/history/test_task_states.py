"""What one wait of a task is by its fact alone (rule 3.28)."""

from __future__ import annotations

import pytest

from flowsim.facts.kinds import WaitKind
from flowsim.facts.schema import OUTPUT_FULL
from flowsim.history.task_states import Wait, wait_of


def test_task_waits_for_input_only_between_actions() -> None:
    assert wait_of(WaitKind.MAIL, -1, is_inside=False) is Wait.INPUT
    assert wait_of(WaitKind.MAIL, -1, is_inside=True) is Wait.MAIL_IN_YIELD


def test_full_output_between_two_elements_is_no_wait_for_input() -> None:
    assert wait_of(WaitKind.MAIL, OUTPUT_FULL, is_inside=False) is Wait.OUTPUT
    assert wait_of(WaitKind.BUFFER, -1, is_inside=True) is Wait.BUFFER


def test_every_recorded_kind_is_a_wait() -> None:
    assert {wait_of(kind, -1, is_inside=False) for kind in WaitKind} == {*Wait} - {Wait.OUTPUT, Wait.MAIL_IN_YIELD}
    with pytest.raises(ValueError, match="99"):
        wait_of(99, -1, is_inside=False)
