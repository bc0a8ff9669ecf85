"""The rules of Flink that sentences cite: their text, and their line in ``docs/flink_rules.md``."""

from __future__ import annotations

from flowsim.distribution import shipped
from flowsim.trace.rules_page import RulesPage
from flowsim.trace.sentences import cited_rules


def rule_texts(checkpoints: bool = True) -> dict[str, dict[str, str | int]]:
    """By number: text and line. ``checkpoints``: with the rules of section 12."""
    content = shipped("docs/flink_rules.md").read_text(encoding="utf-8")
    lines = content.splitlines()
    texts = {rule.number: rule.text for rule in RulesPage(content).rules}
    return {
        number: {
            "text": texts[number],
            "line": next(line for line, text in enumerate(lines, start=1) if text.startswith(f"- **{number}**")),
        }
        for number in sorted(cited_rules(), key=lambda number: tuple(map(int, number.split("."))))
        if checkpoints or not number.startswith("12.")
    }
