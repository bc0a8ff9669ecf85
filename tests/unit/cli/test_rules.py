"""``flowsim rules``: rules of docs/flink_rules.md by number, range, section or text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from flowsim.trace.rules_page import RulesPage

PAGE = (Path(__file__).parents[3] / "docs" / "flink_rules.md").read_text(encoding="utf-8")
RULES = {rule.number: rule for rule in RulesPage(PAGE).rules}


def test_page_has_every_rule_once_and_with_its_whole_text() -> None:
    listed = re.findall(r"^- \*\*(\S+)\*\* (.+(?:\n  .+)*)", PAGE, re.M)
    assert len(listed) > 300
    assert [number for number, text in listed if RULES[number].text != " ".join(text.split())] == []
    assert len(RULES) == len(RulesPage(PAGE).rules)
    assert set(re.findall(r"\*\*(?:Invariant )?(I\d+\.[a-z])\.?\*\*", PAGE)) <= set(RULES)


def test_invariant_ends_where_the_next_one_begins() -> None:
    assert RULES["I3.c"].text == "No put succeeds after quiescing."
    assert RULES["I7.b"].text == "The elements of one channel keep their order."


def test_rule_is_printed_with_its_section_and_its_laws(flowsim: Any) -> None:
    out = flowsim("rules", "8.11").out
    assert out.startswith(
        "8.11 (8.B The valve; Flink: StatusWatermarkValve; checked by valve)\n  A channel that becomes active is aligned"
    )
    assert flowsim("rules", "8.11", "--json").document == {
        "sections": [],
        "rules": [
            {
                "rule": "8.11",
                "section": "8.B",
                "title": "The valve",
                "text": RULES["8.11"].text,
                "flink": ["StatusWatermarkValve"],
                "laws": ["valve"],
            }
        ],
    }


def numbers(flowsim: Any, *queries: str) -> list[str]:
    return [rule["rule"] for rule in flowsim("rules", *queries, "--json").document["rules"]]


def test_several_queries_are_answered_in_their_order_without_repetition(flowsim: Any) -> None:
    assert numbers(flowsim, "8.11", "I3.c", "8.9-8.12", "8.9") == ["8.11", "I3.c", "8.9", "8.10", "8.12"]


def test_section_has_all_of_its_rules_and_its_other_text(flowsim: Any) -> None:
    assert numbers(flowsim, "8.b") == ["8.9", "8.10", "8.11", "8.12", "8.13", "8.14"]
    assert numbers(flowsim, "7.D") == numbers(flowsim, "7.C")
    assert {number.partition(".")[0] for number in numbers(flowsim, "8")} == {"8"}
    out = flowsim("rules", "2").out
    assert out.startswith("2 Partitioners\n")
    assert "each of its own group in turn" in out, "the table of the section"


def test_text_finds_the_rules_that_contain_it_in_any_case(flowsim: Any) -> None:
    found = numbers(flowsim, "Exclusive Buffers")
    assert found
    assert all("exclusive buffers" in f"{RULES[each].title} {RULES[each].text}".lower() for each in found)


def test_sections_are_listed_without_a_query(flowsim: Any) -> None:
    assert re.search(r"8\.B\W+The valve\W+8\.9 to 8\.14", flowsim("rules").out)
    listed = flowsim("rules", "--json").document
    assert sorted(rule for section in listed for rule in section["rules"]) == sorted(RULES)


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("8.99", "there is no rule {} (nearest: 8.24, 8.23, 8.22)"),
        ("I3.z", "there is no rule I3.z (nearest: I3.a, I3.c, I3.d)"),
        ("99.1", "there is no rule {}; the chapters are 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13"),
        ("8.50-8.60", "there is no rule from 8.50 to 8.60 (nearest: 8.24, 8.23, 8.22)"),
        ("8.Z", "there is no section 8.Z (nearest: 8, 8.A, 8.B)"),
        ("exclusve", "no rule contains 'exclusve' (did you mean 'exclusive'"),
        ("", "no rule contains ''"),
    ],
)
def test_unknown_query_ends_with_code_2_and_the_nearest_names(flowsim: Any, query: str, error: str) -> None:
    called = flowsim("rules", "8.11", query)
    assert called.code == 2
    assert called.out == ""
    assert called.err.startswith(f"error: {error.format(query)}")
