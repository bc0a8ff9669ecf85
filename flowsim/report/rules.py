"""The page of the rules of Flink in a report: its sections, and the rules with their text and Flink's classes."""

from __future__ import annotations

import json
from typing import Any, Final

from flowsim.distribution import shipped
from flowsim.report.encoding import compressed
from flowsim.trace.rules_page import RulesPage

RULES: Final = "rules"


def rules_of_report(checkpoints: bool = True) -> list[dict[str, Any]]:
    """The sections of ``docs/flink_rules.md`` with their rules, as JSON values. ``checkpoints``: with section 12."""
    page = RulesPage(shipped("docs/flink_rules.md").read_text(encoding="utf-8"))
    return [
        {
            "number": section.number, "title": section.title,
            "rules": [
                {"number": rule.number, "text": rule.text, "flink": list(rule.flink)}
                for rule in page.rules if rule.section == section.number
            ],
        }
        for section in page.sections
        if checkpoints or section.number != "12"
    ]  # fmt: skip


def rules_section(checkpoints: bool) -> tuple[int, bytes]:
    """The number of sections, and their compressed JSON."""
    text = json.dumps(sections := rules_of_report(checkpoints), ensure_ascii=False, separators=(",", ":")).encode()
    return len(sections), compressed(text)
