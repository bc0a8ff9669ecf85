"""Whole jobs here and on the real Flink: the actions inside one task, in the order that Flink determines (D3)."""

from __future__ import annotations

import random

import pytest

from flowsim.cluster.job_execution import JobStatus
from tests.support.flink.machine import Differential, seeds
from tests.support.flink.scripted_chain import Case, Writer, run


def agrees(differential: Differential, case: Case) -> None:
    """The chain does the same in the same order, on a fair schedule and on a random one."""
    theirs = differential.flink.job("ScriptedChain", case)
    assert theirs["error"] is None, theirs
    events = len(theirs["log"]["chain"]) + len(theirs["log"].get("sink", ()))
    with differential.comparing("jobs: a chain against a full output", commands=events):
        for options in ({}, {"policy": "random", "seed": 5}):
            logs, result = run(case, **options)
            assert result.status is JobStatus.FINISHED, result.report
            assert logs["chain"] == theirs["log"]["chain"]
            assert logs["sink"] == theirs["log"].get("sink", [])
            if theirs["log"].get("blocked"):
                assert result.tasks[1].hard_backpressured_ns > 0


def test_fan_out_beyond_overdraft_runs_no_mail_inside_its_element(differential: Differential) -> None:
    put = [
        ["mail", target, options, f"{options} {target}", []] for target in (1, 2) for options in ("options", "urgent")
    ]
    case = {
        "source": [["r", "0", 0], ["r", "1", 1]],
        "operators": [
            {"0": [*put, ["timer", 1, "upstream", []], ["forward", "a"], *put], "1": []},
            {"a": [["timer", 3, "own", []], ["emit", "r", 400]]},
        ],
    }
    agrees(differential, case)


def test_timers_that_fill_output_run_consecutively(differential: Differential) -> None:
    timers = [["timer", 2 * number + 1, f"t{number}", [["emit", f"of-t{number}", 250]]] for number in range(3)]
    case = {
        "source": [["r", "0", 0], ["r", "1", 1]],
        "operators": [{"0": [["forward", "a"]], "1": []}, {"a": [*timers, ["emit", "r", 300]]}],
    }
    agrees(differential, case)


def test_watermark_whose_timers_fill_output_is_one_action(differential: Differential) -> None:
    mail = ["mail", 1, "urgent", "put by a timer", []]
    case = {
        "source": [["r", "0", 0], ["w", 50], ["r", "1", 51]],
        "operators": [
            {
                "0": [["event_timer", 30], ["event_timer", 10], ["event_timer", 20]],
                "event timer 10": [mail, ["forward", "a"]],
                "event timer 20": [["forward", "b"], ["timer", 1, "late", []], ["forward", "c"]],
                "1": [],
            },
            {"a": [["emit", "ra", 300]], "b": [["emit", "rb", 3]], "c": [["emit", "rc", 250]]},
        ],
    }
    agrees(differential, case)


def test_yield_inside_element_runs_same_mails_as_in_flink(differential: Differential) -> None:
    mails = [["mail", target, "options", f"to {target}", []] for target in (1, 2, 3)]
    case = {
        "source": [["r", "0", 0], ["r", "1", 1]],
        "operators": [
            {"0": [*mails, ["forward", "a"], ["yield"]], "1": []},
            {"a": [["mail", 2, "deferrable", "deferred", []], ["forward", "b"], ["try_yield"], ["try_yield"]]},
            {"b": [["timer", 1, "t", []], ["emit", "r", 250], ["yield"], ["yield"], ["try_yield"]]},
        ],
    }
    agrees(differential, case)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", seeds(metafunc.config, range(12)))


def test_random_chains_act_in_order_of_flink(differential: Differential, seed: int) -> None:
    agrees(differential, Writer(random.Random(seed)).case())
