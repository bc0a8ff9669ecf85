"""The rules in a report."""

from __future__ import annotations

import re
from pathlib import Path

from flowsim.graph.alignment import FORCED_RULE
from flowsim.report.rules import CITED, rule_texts

ROOT = Path(__file__).parents[3]


def test_every_rule_that_sentences_cite_is_in_reports() -> None:
    sources = [path.read_text() for path in (ROOT / "flowsim/trace").glob("*.py")]

    cited = {number for source in sources for number in re.findall(r'"(\d{1,2}\.\d{1,3})"', source)}
    assert cited | {FORCED_RULE} == set(CITED)


def test_rule_has_its_text_and_line() -> None:
    lines = (ROOT / "docs/flink_rules.md").read_text().splitlines()

    for number, about in rule_texts().items():
        line, text = int(about["line"]), str(about["text"])
        assert lines[line - 1].startswith(f"- **{number}** {text[:20]}")
