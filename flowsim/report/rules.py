"""The rules of Flink that sentences cite: their text, and their line in ``docs/flink_rules.md``."""

from __future__ import annotations

from typing import Final

from flowsim.distribution import shipped
from flowsim.trace.rules_page import RulesPage

CITED: Final = (
    "1.18", "2.4", "3.1", "3.3", "3.5", "3.11", "3.12", "3.21", "3.25", "3.28", "4.1", "4.2", "4.5", "4.6", "4.9", "4.11",
    "4.12", "4.13", "4.17", "4.18", "4.20", "4.23", "4.24", "4.26", "5.6", "5.8", "5.11", "5.13", "5.18", "5.22",
    "5.23", "5.27", "5.28", "5.32", "5.33", "5.34", "5.37", "5.39", "5.42", "6.1", "6.2", "6.3", "6.4", "6.5", "6.8", "6.9",
    "6.11", "6.12", "6.13", "6.14", "6.22", "7.6", "7.7", "7.17", "7.18", "8.1", "8.5", "8.9", "8.10", "8.11", "8.15", "8.18",
    "8.20", "8.22", "8.23", "9.1", "9.4", "9.9", "9.11", "10.7", "10.9", "10.10", "10.11", "10.13", "10.25", "10.26",
    "10.33", "10.34", "10.37", "11.1", "11.2", "11.12", "11.13", "11.14", "11.15", "11.17", "11.20", "11.24", "11.25",
    "11.30", "11.32", "11.37", "12.1", "12.2", "12.3", "12.4", "12.6", "12.7", "12.10", "12.11", "12.13", "12.19", "12.23",
    "12.24", "12.25", "12.29", "12.30", "12.31", "12.45", "12.46", "12.49", "12.50", "12.53", "12.54", "12.60",
    "12.71", "12.83", "12.84", "12.92", "12.97", "12.100", "12.104", "12.111", "12.120", "12.123", "12.129", "12.131",
    "12.133", "12.137", "12.142", "13.1", "13.2", "13.4", "13.6", "13.7",
)  # fmt: skip
"""Every rule that ``flowsim/trace`` cites."""


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
        for number in CITED
        if checkpoints or not number.startswith("12.")
    }
