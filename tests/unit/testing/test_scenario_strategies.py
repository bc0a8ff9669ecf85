"""``scenarios``: what Hypothesis draws, and how a counterexample prints."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import find, given, settings
from typer.testing import CliRunner

from flowsim.cli.main import app
from flowsim.errors import BadInput
from flowsim.testing import DrawnScenario, numbered_scenario, scenarios

SMALLEST = """\
flowsim: 1
name: plain-scenario
sources:
  s0: {script: {fields: {id: long, k: string, n: long}, subtasks: [[{record: [0, a, 0]}]]}}
operators:
  o0: {input: s0, parallelism: 1, map: {add: {n: "(n * 7 + 1) % 101"}}}
sinks:
  out0: {input: o0, collect: {}, parallelism: 1}
"""


def test_simplest_example_is_one_record_one_operator_and_flinks_settings() -> None:
    drawn: list[str] = []

    @given(scenarios(["plain"]))
    @settings(max_examples=1, database=None)
    def draw(scenario: DrawnScenario) -> None:
        drawn.append(scenario.yaml)

    draw()
    assert drawn == [SMALLEST]


@given(scenarios(determined=True))
@settings(max_examples=25, deadline=None)
def test_every_drawn_scenario_compiles(scenario: DrawnScenario) -> None:
    assert scenario.compiled().scenario.text == repr(scenario)


def test_printed_scenario_is_a_file_that_flowsim_checks_and_runs(tmp_path: Path) -> None:
    phased = [numbered_scenario(number, family="checkpoints") for number in range(40)]
    for scenario in [phased[0], next(each for each in phased if "phases" in each.data)]:
        file = tmp_path / f"{len(scenario.yaml)}.yaml"
        file.write_text(repr(scenario))
        for command in (["check"], ["run", "--out", str(file.with_suffix(""))]):
            done = CliRunner().invoke(app, [*command, str(file)])
            assert done.exit_code == 0, done.output


def test_unknown_family_is_refused() -> None:
    with pytest.raises(BadInput, match=r"expected families of plain, event_time, .*, got \['best'\]"):
        find(scenarios(["best"]), lambda scenario: True)  # type: ignore[list-item]
