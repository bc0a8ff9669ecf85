"""README serves three readers, shows before it explains, and stays short."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
FIRST_SCREEN = README.partition("\n## ")[0]


def test_readme_has_at_most_150_lines() -> None:
    assert len(README.splitlines()) <= 150


def test_first_screen_shows_a_report_and_an_answer_of_why() -> None:
    (picture,) = re.findall(r"^!\[.+\]\((.+)\)$", FIRST_SCREEN, re.M)
    commands = re.findall(r"^\$ flowsim (\w+)", FIRST_SCREEN, re.M)

    assert (ROOT / picture).is_file()
    assert commands == ["run", "why"]
    assert len(FIRST_SCREEN.splitlines()) <= 25


def test_each_reader_has_a_section_with_a_command() -> None:
    sections = {title: text for title, _, text in (part.partition("\n") for part in README.split("\n## ")[1:])}

    def commands(title: str) -> set[str]:
        return set(re.findall(r"(?:^\$ |`)flowsim (\w+)", sections[title], re.M))

    assert {"run", "report", "why"} <= commands("Find out why")
    assert "learn" in commands("Teach")
    assert "explore" in commands("Test")


def test_terms_of_the_judge_appear_after_a_verdict() -> None:
    verdict = README.index("laws hold")

    for term in ("law", "fact", "vacuous", "batch"):
        assert all(match.start() >= verdict for match in re.finditer(rf"\b{term}", README, re.I)), term
