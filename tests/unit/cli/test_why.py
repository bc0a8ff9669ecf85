"""``flowsim why``: its output as text and JSON, its list of questions, and its errors."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from flowsim.trace.time import moment_text
from flowsim.why.questions import QUESTIONS
from tests.unit.cli.conftest import Flowsim

ROOT = Path(__file__).parents[3]


@pytest.fixture
def recorded(flowsim: Flowsim) -> Flowsim:
    assert flowsim("run", ROOT / "scenarios/12_three_lateness_settings.yaml", "--out", "run").code == 0
    return flowsim


def test_answer_names_causes_rules_and_links(recorded: Flowsim) -> None:
    called = recorded("why", "run", "late", '["a",4]', "--task", "strict")

    assert called.code == 0
    first, second, *_ = called.out.splitlines()
    assert first.endswith("is late at strict (1/1): it is dropped and only counted.  [10.10]")
    assert second.startswith(" 1. The watermark of the operator was 11 ms")
    assert called.out.splitlines()[-1] == "note: flowsim report run writes a report; the answer then links to it"


def test_links_lead_to_the_report_of_the_recording_or_to_the_given_one(recorded: Flowsim) -> None:
    question = ("why", "run", "late", '["a",4]', "--task", "strict")
    assert "report.html#" not in recorded(*question).out
    assert recorded(*question, "--json").document["statement"]["link"] is None
    refused = recorded(*question, "--report", "other.html")
    assert (refused.code, "there is no file other.html; flowsim report run writes one" in refused.err) == (2, True)

    assert recorded("report", "run", "--html", "other.html").code == 0
    link = "view=event-time&task=1&fact=1.38&t=11000"
    assert f"at 11 us: other.html#{link}" in recorded(*question, "--report", "other.html").out.splitlines()
    assert recorded("report", "run").code == 0
    called = recorded(*question)
    assert called.out.splitlines()[1] == f"at 11 us: run/report.html#{link}"
    assert "writes a report" not in called.out


def test_json_has_statement_and_causes(recorded: Flowsim) -> None:
    assert recorded("report", "run").code == 0
    document = recorded("why", "run", "late", '["a",4]', "--json").document

    assert document["statement"]["rules"] == ["10.10"]
    assert [cause["rules"] for cause in document["causes"]][:2] == [["10.8", "10.9"], ["8.9"]]
    fact = document["statement"]
    table = recorded("trace", "run", "--kinds", "late_drop", "--json").document["facts"]
    assert (fact["task"], fact["seq"]) in {(row["row"]["task"], row["row"]["seq"]) for row in table}
    assert fact["link"].endswith(f"&fact={fact['task']}.{fact['seq']}&t={fact['at_ns']}")


def test_questions_are_listed_without_a_question(recorded: Flowsim) -> None:
    listed = recorded("why", "run").out

    assert all(f"flowsim why run {name}" in listed for name in QUESTIONS)
    assert "for example: flowsim why run late '[\"a\",4]@5'" in listed
    questions = recorded("why", "run", "--json").document["questions"]
    for row in questions:
        for example in row["examples"]:
            assert recorded(*shlex.split(example)[1:]).code == 0
    assert {row["command"] for row in questions} == {f"flowsim why run {name}" for name in QUESTIONS}


@pytest.mark.parametrize(
    ("scenario", "asked"),
    [
        ("03_slow_sink_backpressure", {"back-pressure": "waiting"}),
        ("12_three_lateness_settings", {"late record": "late", "first fire": "fired"}),
        ("40b_unaligned_under_back_pressure", {"failure": "restart", "checkpoint": "checkpoint"}),
    ],
)
def test_list_of_questions_begins_with_moments_and_the_questions_about_them(
    scenario: str, asked: dict[str, str], flowsim: Flowsim
) -> None:
    flowsim("run", ROOT / f"scenarios/{scenario}.yaml", "--record", "full", "--out", "run")
    listed = flowsim("why", "run").out
    moments = flowsim("why", "run", "--json").document["look_at"]

    assert {one["what"]: shlex.split(one["command"])[3] for one in moments if one["command"]} == asked
    assert listed.startswith(f"{moments[0]['what']}: {moments[0]['text']}\n    {moments[0]['command']}\n")
    for one in moments:
        if one["command"]:
            answer = flowsim(*shlex.split(one["command"])[1:], "--json").document
            assert one["time_ns"] == answer["statement"]["at_ns"] or moment_text(one["time_ns"]) in str(answer)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("latte",),
            f"(did you mean 'late'?); ask one of: {', '.join(QUESTIONS)}",
        ),
        (("late", "a", "b"), "'late' is followed by [RECORD], got 2 words: a b"),
        (("failed", "x"), "'failed' takes no further words, got 1 word: x"),
        (("checkpoint", "x"), "there is no checkpoint 'x'; the recording has no checkpoints"),
        (("restart", "0"), "there is no failure '0'; the recording has no failures"),
        (("committed", "forgving", "[1]"), "there is no sink 'forgving' (did you mean 'forgiving_out'"),
        (("late", "--at", "soon"), "--at: expected a time since the start of the run"),
        (("late", "--task", "x"), "--task 'x': no task has that number or name"),
        (("waiting", "x"), "--task 'x': no task has that number or name"),
        (("order",), "'order' is followed by RECORD RECORD, got none"),
        (("order", "a"), "'order' is followed by RECORD RECORD, got 1 word: a"),
        (("order", "a", "b"), "'a' matches 6 records; give one of them:"),
        (("late", "x"), "no recorded value is or contains 'x'"),
    ],
)
def test_bad_question_is_refused(recorded: Flowsim, arguments: tuple[str, ...], message: str) -> None:
    called = recorded("why", "run", *arguments)

    assert called.code == 2
    assert message in called.err
    error = json.loads(recorded("why", "run", *arguments, "--json").out)["error"]
    assert message in error["message"]
