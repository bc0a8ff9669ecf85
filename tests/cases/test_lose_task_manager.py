"""A failure of a task manager that the job does not have is refused with line and column, before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.api import run_scenario
from flowsim.errors import ScenarioError
from tests.unit.cli.conftest import Flowsim

SCENARIO = Path(__file__).parent / "inputs" / "lose_task_manager.yaml"


@pytest.mark.parametrize(
    "arguments", [("check",), ("run",), ("run", "--out", "out"), ("graph",), ("explore", "--runs", "2")]
)
def test_unknown_task_manager_is_refused_and_nothing_is_written(flowsim: Flowsim, arguments: tuple[str, ...]) -> None:
    Path("job.yaml").write_text(SCENARIO.read_text())
    before = sorted(Path().iterdir())
    command, *options = arguments
    called = flowsim(command, "job.yaml", *options)
    assert called.code == 2
    assert "job.yaml:6:39 failures[0].lose_task_manager.name: no task manager 'nope'; there are: " in called.err
    assert sorted(Path().iterdir()) == before


def test_python_refuses_the_same_name(tmp_path: Path) -> None:
    with pytest.raises(ScenarioError, match=r":6:39 failures.*no task manager 'nope'"):
        run_scenario(SCENARIO, out=tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_most_similar_name_is_given(flowsim: Flowsim) -> None:
    text = SCENARIO.read_text().replace("settings: {}", "settings: {task_managers: {left: [rows]}}")
    Path("job.yaml").write_text(text.replace("nope", "lefd"))
    assert "no task manager 'lefd'; there are: left (did you mean 'left'?)" in flowsim("check", "job.yaml").err


def test_known_task_manager_is_accepted(flowsim: Flowsim) -> None:
    text = SCENARIO.read_text().replace("settings: {}", "settings: {task_managers: {left: [rows]}}")
    Path("job.yaml").write_text(text.replace("nope", "left"))
    assert flowsim("check", "job.yaml").code == 0
