"""Lessons are read with all errors, each with its position."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.learn.lesson import lesson_named, lessons, read_lesson, without_expectations
from tests.unit.learn.conftest import WriteLesson

ROOT = Path(__file__).parents[3]


def test_lesson_has_title_texts_and_scenario(write_lesson: WriteLesson) -> None:
    lesson = read_lesson(write_lesson())
    assert (lesson.name, lesson.title, lesson.problem, lesson.exercise) == (
        "01_small",
        "A small lesson",
        "Three records.",
        "Send two records.",
    )
    assert lesson.scenario.model.name == "small"


@pytest.mark.parametrize("name", ["01_small", "01", "1", "01_small.md", "small"])
def test_lesson_is_found_by_name_or_number(write_lesson: WriteLesson, name: str) -> None:
    assert lesson_named(name, write_lesson().parent).title == "A small lesson"


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (("minutes: 10", "minutes: ten"), r":2:10 minutes: expected an integer, got 'ten'"),
        (("minutes: 10", "minuets: 10"), r":2:1 minuets: unknown key 'minuets' \(did you mean 'minutes'\?\)"),
        (
            ("    rows: out", "    rows: uot"),
            r":12:11 questions\.many\.rows: there is no sink 'uot' \(did you mean 'out'",
        ),
        (("    rows: out\n", ""), r":11:5 questions\.many: expected one of rows, results, .*got none of them"),
        (("{sink: out}", "{sink: numbers}"), r"questions\.order\.results\.sink: there is no collect sink 'numbers'"),
        (("nodes: [numbers, out]", "nodes: [number, out]"), r"which\.nodes\[0\]: there is no node 'number' \(did you"),
        (("at: {table: received, of: out}}", "at: {table: recieved}}"), r"there is no fact table 'recieved'"),
        (
            ("at: {table: received, of: out}}", "at: {table: received, of: in}}"),
            r"moments\[0\]\.at\.of: there is no node",
        ),
        (("channel-fifo", "channel-fofi"), r"exercise\.expect\.laws\.channel-fofi: there is no law 'channel-fofi'"),
        (
            ("minutes: 10", "minutes: 10\nread: [cli.md#lern]"),
            r"read\[0\]: docs/cli.md has no section 'lern' \(did you",
        ),
        (("minutes: 10", "minutes: 10\nread: [../README.md#a]"), r"read\[0\]: expected a section of a page of docs/"),
        (
            ("minutes: 10", "minutes: 10\nscenario: 02_wordcount_inline"),
            r"expected either scenario, or a yaml block with the scenario",
        ),
        (("name: small", "nome: small"), r"01_small.md:46:1 nome: unknown key 'nome'"),
        (("---\nminutes", "minutes"), r":1:1 expected front matter"),
        (
            ("## Exercise", "## Exercises"),
            r"01_small.md: the text after the front matter needs the headings ## Exercise",
        ),
    ],
)
def test_invalid_lesson_is_refused_with_position(
    write_lesson: WriteLesson, change: tuple[str, str], error: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read_lesson(write_lesson(change))
    assert re.search(error, str(refused.value)), str(refused.value)


def test_lesson_with_unknown_scenario_is_refused(write_lesson: WriteLesson) -> None:
    path = write_lesson(("minutes: 10", "minutes: 10\nscenario: 12_three_latenes_settings"))
    path.write_text(re.sub(r"```yaml.*?```", "", path.read_text(), flags=re.S))
    with pytest.raises(BadInput, match=r":3:11 there is no scenario .*did you mean '12_three_lateness_settings'"):
        read_lesson(path)


def test_folder_without_lessons_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"there is no lesson: expected files such as 01_name\.md"):
        lessons(tmp_path)
    with pytest.raises(BadInput, match="there is no such folder"):
        lessons(tmp_path / "none")


def test_scenario_of_a_lesson_has_no_expectations_and_no_first_comment() -> None:
    shipped = (ROOT / "scenarios" / "08b_stop_without_drain.yaml").read_text()
    text = without_expectations(shipped)
    assert text.startswith("flowsim: 1\n")
    assert "expect" not in text
    assert text.endswith("  - stop: {at: 2500 ms, drain: false}\n")
    assert without_expectations("expect: {rows: {a: 1}}\nflowsim: 1\n") == "flowsim: 1\n"
