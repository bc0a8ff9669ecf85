"""The page of rules in a report."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flowsim.report.rules import rules_of_report
from flowsim.trace.rules_page import RulesPage

ROOT = Path(__file__).parents[3]


def by_number(checkpoints: bool) -> dict[str, dict[str, Any]]:
    return {rule["number"]: rule for section in rules_of_report(checkpoints) for rule in section["rules"]}


def test_report_has_every_rule_with_its_text_and_the_classes_of_flink() -> None:
    page = RulesPage((ROOT / "docs/flink_rules.md").read_text())

    found = by_number(checkpoints=True)

    assert list(found) == [rule.number for rule in page.rules]
    assert all(found[rule.number]["text"] == rule.text for rule in page.rules)
    assert found["8.11"]["flink"] == ["StatusWatermarkValve"]
    assert found["5.38"]["flink"] == ["LocalBufferPool", "NetworkBufferPool"]


def test_report_without_checkpoints_lacks_only_their_section() -> None:
    found = by_number(checkpoints=False)

    assert by_number(checkpoints=True).keys() - found.keys() == {
        number for number in by_number(checkpoints=True) if number.startswith(("12.", "I12."))
    }
