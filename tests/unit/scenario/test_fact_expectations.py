"""Expectations of a scenario on the facts of its run."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.facts.kinds import Level
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_text
from flowsim.scenario.runner import ScenarioRun, run_compiled

NOWHERE = Path("never-written")
JOB = """\
flowsim: 1
name: three
sources:
  numbers:
    collection: {fields: {n: long}, rows: [[1], [2], [3]]}
sinks:
  out: {input: numbers, chaining: never, collect: {}}
expect:
  facts:
    - {says: records, table: received, %s}
"""


def run(expected: str, level: Level = Level.ELEMENTS) -> ScenarioRun:
    compiled = compile_scenario(load_text(JOB % expected, "three.yaml", Path()), out_dir=NOWHERE)
    return run_compiled(compiled, record=level)


@pytest.mark.parametrize(
    ("expected", "wanted", "found", "met"),
    [
        ("of: out, where: {kind: RECORD}, exactly: 3", "3", "3", True),
        ("of: out, where: {kind: 0}, exactly: 4", "4", "3", False),
        ("of: numbers, exactly: 0", "0", "0", True),
        ("where: {kind: RECORD}, at_least: 2, at_most: 3", ">= 2 and <= 3", "3", True),
        ("where: {kind: RECORD}, at_most: 2", "<= 2", "3", False),
        ("where: {kind: RECORD}, take: max, column: position, exactly: 2", "2", "2", True),
        ("where: {kind: RECORD}, take: min, column: position, exactly: 0", "0", "0", True),
        ("where: {kind: RECORD}, take: sum, column: position, exactly: 3", "3", "3", True),
        ("where: {kind: STATUS}, take: max, column: position, at_most: 9", "<= 9", "no rows", False),
    ],
)
def test_facts_are_counted_and_compared(expected: str, wanted: str, found: str, met: bool) -> None:
    outcome = run(expected).expectations[-1]
    assert (outcome.what, outcome.expected, outcome.found, outcome.met) == ("records (received)", wanted, found, met)


def test_facts_on_disk_and_in_memory_give_same_outcome(tmp_path: Path) -> None:
    expected = "of: out, where: {kind: RECORD}, exactly: 3"
    compiled = compile_scenario(load_text(JOB % expected, "three.yaml", Path()), out_dir=tmp_path / "out")
    assert run_compiled(compiled, out=tmp_path / "out").expectations == run(expected).expectations


def test_expectation_on_unrecorded_facts_is_unchecked() -> None:
    outcome = run("exactly: 3", level=Level.OFF).expectations[-1]
    assert (outcome.met, outcome.reason) == (None, "needs recording level elements")


@pytest.mark.parametrize(
    ("expected", "message"),
    [
        ("exactly: 1, at_most: 2", "exactly cannot be combined with"),
        ("at_least: 5, at_most: 2", "no number is at least 5 and at most 2"),
        ("of: out", "expected one of exactly, at_least and at_most"),
        ("take: max, exactly: 1", "take: max needs a column"),
        ("column: kind, exactly: 1", "take: rows takes no column"),
        ("where: {knd: RECORD}, exactly: 1", r"table received has no column 'knd' \(did you mean 'kind'\?\)"),
        ("where: {kind: RECORDS}, exactly: 1", "column kind has no value 'RECORDS'; there are: RECORD, WATERMARK"),
        ("where: {task: one}, exactly: 1", "column task has no value 'one'; it has numbers only"),
        ("of: ouch, exactly: 1", r"there is no node 'ouch' .known: numbers, out."),
    ],
)
def test_invalid_expectation_is_refused_with_position(expected: str, message: str) -> None:
    with pytest.raises(BadInput, match=rf"three\.yaml:10:.*{message}"):
        run(expected)


def test_of_is_refused_for_table_without_tasks() -> None:
    text = JOB.replace("received", "choices") % "of: out, exactly: 1"
    with pytest.raises(BadInput, match="rows of table choices belong to no task, remove of"):
        compile_scenario(load_text(text, "three.yaml", Path()), out_dir=NOWHERE)


def test_unknown_table_is_refused_with_nearest() -> None:
    text = JOB.replace("received", "recieved") % "exactly: 1"
    with pytest.raises(BadInput, match=r"there is no fact table 'recieved' \(did you mean 'received'\?\)"):
        compile_scenario(load_text(text, "three.yaml", Path()), out_dir=NOWHERE)
