"""The features of drawn scenarios: the table of the documentation, and scenarios that must have some."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings

from flowsim.cluster.job_status import JobStatus
from flowsim.errors import BadInput
from flowsim.laws.law import Verdict
from flowsim.testing import FAMILIES, FEATURES, DrawnScenario, Schedule, numbered_scenario, run_job, scenarios
from flowsim.testing.drawing.draft import Family
from flowsim.testing.drawing.features import features_of
from tests.support.pages import features_page
from tests.support.pages.features_page import HEAD, PAGE

ALL_AT_ONCE = ["window joins", "idle and then out of order", "few buffers"]


def scenario_with(script: list[dict[str, Any]], **settings: object) -> Mapping[str, Any]:
    source = {"script": {"fields": {"n": "long"}, "subtasks": [script]}}
    return {"settings": settings, "sources": {"s0": source}, "sinks": {"out": {"input": "s0", "collect": {}}}}


def test_page_shows_what_is_drawn() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == features_page.features_page(page), "write them again: make docs"


def test_every_feature_is_drawn_in_a_family() -> None:
    rows = PAGE.read_text(encoding="utf-8").split(HEAD)[1].split("\n\n")[0].splitlines()
    assert [row.split(" | ")[0] for row in rows] == [f"| {name}" for name in FEATURES]
    assert [row for row in rows if not re.search(r"\| [1-9]", row)] == []


def test_page_changes_if_a_feature_is_not_drawn_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    page = PAGE.read_text(encoding="utf-8")
    monkeypatch.setattr(features_page, "counted", lambda: {family: Counter(["unions"]) for family in FAMILIES})
    assert (
        "| unions | `input` with several streams | 1 | 1 | 1 | 1 | 1 |\n" in features_page.features_page(page) != page
    )


def test_idleness_before_an_older_record_is_recognized() -> None:
    older = [{"record": [1], "timestamp": 5}, {"idle": True}, {"record": [2], "timestamp": 4}]
    assert features_of(scenario_with(older, network_buffers=9)) == [
        "out-of-order event time",
        "idleness",
        "idle and then out of order",
        "little network memory",
    ]
    other_split = [older[0], {"idle": True, "split": "a"}, {**older[2], "split": "a"}]
    assert "idle and then out of order" not in features_of(scenario_with(other_split))
    newer = [older[2], {"idle": True}, older[0]]
    assert features_of(scenario_with(newer)) == ["idleness"]


@pytest.mark.parametrize("name", FEATURES)
def test_scenario_has_the_feature_that_it_must_have(name: str) -> None:
    family: Family = "plain" if name == "blocking exchanges" else "unaligned"
    scenario = numbered_scenario(0, family=family, determined=False, having=[name])
    assert name in features_of(scenario.data)
    scenario.compiled()


@given(scenarios(having=ALL_AT_ONCE))
@settings(max_examples=5, deadline=None)
def test_drawn_scenarios_have_all_features_that_they_must_have(scenario: DrawnScenario) -> None:
    assert set(ALL_AT_ONCE) <= set(features_of(scenario.data))


@pytest.mark.parametrize(
    "name", ["little network memory", "idle and then out of order", "buffer timeouts of operators"]
)
def test_scenarios_with_a_feature_violate_no_law(name: str) -> None:
    for number in range(3):
        scenario = numbered_scenario(number, family="event_time", determined=False, having=[name])
        run = run_job(scenario, schedule=Schedule("random", number, 1))
        assert run.result.status in (JobStatus.FINISHED, JobStatus.CANCELED), run.result.report
        assert [each.law for each in run.outcomes if each.verdict is Verdict.VIOLATED] == []


@pytest.mark.parametrize(
    ("having", "determined", "problem"),
    [
        (
            ["window join"],
            False,
            "expected a list of features, got 'window join'; there are: .*did you mean 'window joins'",
        ),
        ("windows", False, "expected a list of features, got 'windows'"),
        (["phases"], False, "no scenarios of plain can have phases"),
        (["slow links"], True, "no determined scenarios of plain can have slow links"),
    ],
)
def test_features_that_cannot_be_drawn_are_refused(having: Any, determined: bool, problem: str) -> None:
    with pytest.raises(BadInput, match=problem):
        numbered_scenario(0, family="plain", determined=determined, having=having)
