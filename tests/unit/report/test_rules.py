"""The rules in a report."""

from __future__ import annotations

import re
from pathlib import Path

from flowsim.graph.alignment import FORCED_RULE
from flowsim.report.rules import rule_texts

ROOT = Path(__file__).parents[3]


def test_every_rule_that_sentences_cite_is_in_reports() -> None:
    source = (ROOT / "flowsim/trace/sentences.py").read_text() + (ROOT / "flowsim/trace/phrases.py").read_text()

    cited = set(re.findall(r"\b\d{1,2}\.\d{1,3}\b", source))
    assert len(cited) > 100
    assert cited | {FORCED_RULE} == set(rule_texts())


def test_rule_has_its_text_and_line() -> None:
    lines = (ROOT / "docs/flink_rules.md").read_text().splitlines()

    for number, about in rule_texts().items():
        line, text = int(about["line"]), str(about["text"])
        assert lines[line - 1].startswith(f"- **{number}** {text[:20]}")
