"""``flowsim explain``: the choices of a token as sentences, beside the defaults."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from flowsim.sim.choice_token import ChoiceToken, job_id
from tests.unit.cli.test_explored_results import PAIRS


@pytest.fixture
def pairs(tmp_path: Path) -> str:
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    return "pairs.yaml"


def test_finding_is_explained_by_its_choice_and_the_default(flowsim: Any, pairs: str) -> None:
    explored = flowsim("explore", pairs, "--space", "order", "--laws", "all", "--json")
    (finding,) = explored.document["findings"]
    token = ChoiceToken.parse(finding["token"])
    ((number, _),) = token.deviations
    assert finding["decisive_choice"] == number
    explained = flowsim(*shlex.split(finding["explain"])[1:], "--json").document
    (step,) = (step for step in explained["log"] if step["default"] is not None)
    assert (step["choice"], "10" in step["text"], "from Source: left" in step["default"]) == (number, True, True)
    assert explained["findings"] == [finding["what"]]
    assert explained["sinks"] == [{"name": "out", "rows": ['["a",11]']}]
    shown = flowsim(*shlex.split(finding["explain"])[1:]).out
    assert "1 choice other than the default" in shown
    assert f"choice {number}: {step['text']}" in shown
    assert f"by default: {step['default']}" in shown
    assert "expected rows of sink out not met: 0" in shown
    table = flowsim("explore", pairs, "--space", "order", "--laws", "all").out
    assert f"explain: {finding['explain']}" in table
    assert f"without choice {number} of the token it does not happen" in table
    assert finding["chosen"] == {name: step[name] for name in ("text", "default", "effects")}
    assert f"  choice {number}: {step['text']}\n    by default: {step['default']}\n    {step['effects'][0]}\n" in table


def test_run_of_the_runtime_space_is_explained(flowsim: Any, pairs: str) -> None:
    document = flowsim("explore", pairs, "--space", "runtime", "--runs", "20", "--json").document
    token = min((ChoiceToken.parse(one["token"]) for one in document["results"]), key=lambda one: -len(one.deviations))
    explained = flowsim("explain", pairs, "--token", str(token), "--json").document
    deviating = [step["choice"] for step in explained["log"] if step["default"] is not None]
    assert deviating == [number for number, _ in token.deviations]
    assert any(step["text"].endswith(" runs") for step in explained["log"])


def test_early_choice_of_a_long_run_is_explained(flowsim: Any, pairs: str, tmp_path: Path) -> None:
    rows = "rows: [" + ", ".join(["[a, 1]"] * 20) + "]"
    (tmp_path / "long.yaml").write_text(re.sub(r"rows: \[\[.*?\]\]", rows, PAIRS))
    document = flowsim("explore", "long.yaml", "--space", "runtime", "--runs", "2", "--json").document
    token = ChoiceToken(ChoiceToken.parse(document["results"][0]["token"]).job, ((2, 1),), "runtime")
    log = flowsim("explain", "long.yaml", "--token", str(token), "--json").document["log"]
    assert [step["choice"] for step in log if step["default"] is not None] == [2]
    assert len(log) > 100


def test_token_of_fair_turns_is_explained_beside_the_defaults_of_fair_turns(flowsim: Any, pairs: str) -> None:
    document = flowsim("explore", pairs, "--space", "runtime", "--runs", "2", "--json").document
    job = ChoiceToken.parse(document["results"][0]["token"]).job
    for deviations in ((), ((3, 1),), ((2, 1), (6, 1))):
        token = ChoiceToken(job, deviations, "runtime", turns="fair")
        explained = flowsim("explain", pairs, "--token", str(token), "--json").document
        deviating = {step["choice"]: step for step in explained["log"] if step["default"] is not None}
        assert list(deviating) == [number for number, _ in deviations]
        assert all(step["text"] != step["default"] for step in deviating.values())
        same = flowsim("run", pairs, "--token", str(token), "--out", f"out{len(deviations)}", "--json").document
        rows = [json.dumps(list(row.values()), separators=(",", ":")) for row in same["sinks"][0]["records"]]
        assert explained["sinks"] == [{"name": "out", "rows": rows}]


@pytest.mark.parametrize(
    ("deviations", "message"),
    [(((0, 9),), "choice 0: there are 2 options, the token needs 10"), (((500, 1),), "there are 0 options")],
)
def test_token_that_does_not_fit_is_refused(
    flowsim: Any, pairs: str, deviations: tuple[tuple[int, int], ...], message: str
) -> None:
    token = ChoiceToken.parse(flowsim("explore", pairs, "--space", "order", "--json").document["results"][0]["token"])
    called = flowsim("explain", pairs, "--token", str(ChoiceToken(token.job, deviations)))
    assert (called.code, message in called.err) == (ExitCode.BAD_INPUT, True), called.err
    other = flowsim("explain", pairs, "--token", str(ChoiceToken(job_id("another"), ())))
    assert (other.code, "the token belongs to another job" in other.err) == (ExitCode.BAD_INPUT, True)
