"""Every command of docs/why.md gives the answer that its row promises."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from tests.unit.why.conftest import SCENARIOS, Ask, text_of

PAGE = Path(__file__).parents[3] / "docs" / "why.md"
ROW = re.compile(r"\| ([^|]+) \| (\w+)((?: --set \S+)*) \| `flowsim why out/(\w+) ([^`]+)` \|")

PARTS = {
    """12_three_lateness_settings late '["a",4]'""": [
        "is late at strict (1/1)", "window [0, 10)", "itself emitted watermark 11 ms", "[10.8, 10.9]",
    ],
    """12_three_lateness_settings late '["a",3]'""": ["is not late", "a window was still open", "reaches 9 ms"],
    "16_two_watermarks late": ["channel #1 from Source: payments (1/1)", "idle from 60.000000 ms", "[8.11, 8.13]"],
    """23_splits_of_one_subtask late '[5,"slow"]'""": ["is late at blind_seen", "a bound of at least 31 ms", "[8.1]"],
}  # fmt: skip
"""The run and the question of each row, and parts of the answer."""


def rows() -> list[tuple[str, str, tuple[str, ...], str]]:
    """Question, scenario, overrides and arguments of each row."""
    found = []
    for question, scenario, overrides, out, arguments in ROW.findall(PAGE.read_text()):
        assert out == scenario
        found.append((question, scenario, tuple(shlex.split(overrides.replace("--set", ""))), arguments))
    return found


ROWS = rows()


def test_page_has_a_row_per_answer() -> None:
    assert len(ROWS) == PAGE.read_text().count("| `flowsim why")
    assert {f"{scenario} {arguments}" for _, scenario, _, arguments in ROWS} == set(PARTS)


@pytest.mark.parametrize(("question", "scenario", "overrides", "arguments"), ROWS, ids=[row[0] for row in ROWS])
def test_answer_of_row(ask: Ask, question: str, scenario: str, overrides: tuple[str, ...], arguments: str) -> None:
    assert (SCENARIOS / f"{scenario}.yaml").exists()
    words, options = [], {}
    given = iter(shlex.split(arguments))
    for word in given:
        if word.startswith("--"):
            options[word] = next(given)
        else:
            words.append(word)
    at = options.get("--at")

    text = text_of(
        ask(scenario, *words, overrides=overrides, task=options.get("--task"), at_ms=None if at is None else ms(at))
    )

    for part in PARTS[f"{scenario} {arguments}"]:
        assert part in text, text


def ms(text: str) -> float:
    """The value of ``--at`` in ms."""
    number, unit = re.fullmatch(r"([0-9.]+)(ms|s)", text).groups()  # type: ignore[union-attr]
    return float(number) * (1000 if unit == "s" else 1)
