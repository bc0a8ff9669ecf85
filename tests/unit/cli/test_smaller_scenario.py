"""``flowsim explore --smaller``: a finding is shown in a scenario with fewer records."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from flowsim.explore.unit import UnitResult

JOB = """\
flowsim: 1
name: two
sources:
  a: {script: {fields: {k: string, n: long}, subtasks: [[{record: [x, 1]}, {record: [x, 3]}, {record: [x, 9]}]]}}
  b: {script: {fields: {k: string, n: long}, subtasks: [[{record: [x, 2]}, {record: [z, 4]}]]}}
operators:
  both: {input: [a, b], map: {add: {m: n * 2}}}
sinks:
  all: {input: both, collect: {}}
settings: {seed: 5, buffer_timeout: 10 ms}
"""
CLAIM = """\
def in_order(rows):
    numbers = [row[1] for row in rows["all"][0] if row[0] == "x"]
    assert numbers == sorted(numbers), numbers
"""


@pytest.fixture
def two(tmp_path: Path) -> str:
    (tmp_path / "two.yaml").write_text(JOB)
    (tmp_path / "claimed.py").write_text(CLAIM)
    return "two.yaml"


def test_claim_breaks_with_two_records(flowsim: Any, two: str, tmp_path: Path) -> None:
    called = flowsim(
        "explore", two, "--claim", "claimed:in_order", "--allow-python", "--smaller", "small.yaml", "--runs", "40", "--json"
    )  # fmt: skip
    smaller = called.document["smaller"]
    assert (called.code, smaller["records"], smaller["records_before"]) == (ExitCode.BROKEN, 2, 5)
    written = (tmp_path / "small.yaml").read_text()
    assert written.count("record:") == 2
    assert "settings" not in written
    assert (tmp_path / "two.yaml").read_text() == JOB
    assert smaller["finding"]["what"] == "claim claimed:in_order does not hold"
    again = flowsim(*shlex.split(smaller["finding"]["replay"])[1:], "--out", "out", "--json").document
    numbers = [row["n"] for row in again["sinks"][0]["records"]]
    assert (len(numbers), numbers == sorted(numbers)) == (2, False)
    assert flowsim("replay", "out").code == 0


def test_finding_of_some_schedules_stays_one(flowsim: Any, two: str, tmp_path: Path) -> None:
    """Without its last record, no run meets the claim; that would say nothing about the schedules of the first scenario."""
    (tmp_path / "ending.py").write_text(
        "def last_is_4(rows):\n    return [row[1] for row in rows['all'][0]][-1:] == [4]"
    )
    called = flowsim(
        "explore", two, "--claim", "ending:last_is_4", "--allow-python", "--smaller", "small.yaml", "--runs", "40", "--json"
    )  # fmt: skip
    assert called.document["smaller"]["records"] == 2
    plain = flowsim(
        "explore", "small.yaml", "--claim", "ending:last_is_4", "--allow-python", "--space", "order", "--json"
    )
    assert plain.document["spaces"]["order"]["proven"]
    (finding,) = plain.document["findings"]
    assert 0 < finding["runs"] < plain.document["runs"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--smaller", "missing/small.yaml"), "missing/small.yaml: cannot be written: expected a file in a folder"),
        (("--smaller", "./two.yaml"), "--smaller two.yaml: is the scenario itself, which is never changed"),
    ],
)
def test_refused(flowsim: Any, two: str, arguments: tuple[str, ...], message: str) -> None:
    called = flowsim("explore", two, "--claim", "claimed:in_order", "--allow-python", "--runs", "20", *arguments)
    assert (called.code, message in called.err, called.out) == (ExitCode.BAD_INPUT, True, ""), called.err
    assert Path(two).read_text() == JOB


def test_results_are_shown_if_the_finding_is_not_found_again(
    flowsim: Any, two: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flowsim.cli.smaller_scenario.explore_unit", lambda *args, **options: UnitResult(args[1]))
    monkeypatch.setattr("flowsim.cli.smaller_scenario.job_id", lambda digest: "AAAAAAA")
    explore = (
        "explore",
        two,
        "--claim",
        "claimed:in_order",
        "--allow-python",
        "--runs",
        "20",
        "--smaller",
        "small.yaml",
    )
    called = flowsim(*explore)
    assert "of the whole scenario did not have the finding again" in called.out
    assert (called.code, "claim claimed:in_order does not hold" in called.out) == (ExitCode.BROKEN, True)
    assert not Path("small.yaml").exists()


def test_a_program_has_no_smaller_scenario(flowsim: Any, tmp_path: Path) -> None:
    (tmp_path / "job.py").write_text(
        "from pyflink.datastream import StreamExecutionEnvironment as E\n"
        "env = E.get_execution_environment()\nenv.from_collection([1]).print()\nenv.execute()"
    )
    called = flowsim("explore", "job.py", "--allow-python", "--smaller", "small.yaml")
    assert (called.code, "let Hypothesis draw its data" in called.err) == (ExitCode.BAD_INPUT, True)


def test_nothing_is_written_without_a_finding(flowsim: Any, two: str, tmp_path: Path) -> None:
    called = flowsim("explore", two, "--smaller", "small.yaml", "--runs", "20", "--json")
    assert (called.code, called.document["smaller"]) == (0, None)
    assert not (tmp_path / "small.yaml").exists()
