"""The async operator beside AsyncWaitOperator, with real mailboxes and time moved by hand (rules 11.1-11.29).

A Java driver plays a script of commands with the real operator, and ours plays the same one. Compared after each command:
what came out, which calls were made and which predicates asked, timeouts, failures, refusals, and then the elements in the
queue, the mails, those that await a retry, and the timers. While an operator yields and no mail may run, the next
commands of the world around the task are played before their turn, so nothing ever blocks.
"""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.flink.async_wait_scripts import case_of, long_case
from tests.support.flink.async_waits import AsyncWaits
from tests.support.flink.machine import Differential


def compare(differential: Differential, case: dict[str, Any]) -> None:
    real = getattr(differential.flink.java.org.apache.flink.streaming.api.operators, "async").AsyncWaits
    theirs = json.loads(real.run(json.dumps(case)))
    ours = AsyncWaits(case)
    with differential.comparing("AsyncWaitOperator", commands=len(theirs)):
        assert ours.answers(theirs) == theirs, case


def test_every_step_equals_flinks(differential: Differential) -> None:
    @differential.settings(50)
    @given(case_of())
    def compare_one(case: dict[str, Any]) -> None:
        compare(differential, case)

    compare_one()


def test_long_scripts_with_retries_and_timeouts_equal_flinks(differential: Differential) -> None:
    @differential.settings(150)
    @given(st.integers(0, 2**32 - 1))
    @example(44121)  # results made by the task while its mailbox is being closed
    def compare_one(seed: int) -> None:
        compare(differential, long_case(seed))

    compare_one()
