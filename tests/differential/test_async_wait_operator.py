"""The async operator beside AsyncWaitOperator, with real mailboxes and time moved by hand (rules 11.1-11.29).

A Java driver plays a script of commands with the real operator, and ours plays the same one. Compared after each command:
what came out, which calls were made and which predicates asked, timeouts, failures, refusals, and then the elements in the
queue, the mails, those that await a retry, and the timers. While an operator yields and no mail may run, the commands of
the world around the task that follow in the script are played, so nothing ever blocks.
"""

from __future__ import annotations

import json
from typing import Any

from async_waits import AsyncWaits, case_of
from hypothesis import given
from machine import Differential


def test_every_step_of_the_operator_is_flinks(differential: Differential) -> None:
    real = getattr(differential.flink.java.org.apache.flink.streaming.api.operators, "async").AsyncWaits

    @differential.settings(120)
    @given(case_of())
    def compare(case: dict[str, Any]) -> None:
        theirs = json.loads(real.run(json.dumps(case)))
        ours = AsyncWaits(case)
        with differential.comparing("AsyncWaitOperator", commands=len(theirs)):
            assert ours.answers(theirs) == theirs

    compare()
