"""``faults`` of a scenario: what they name exists, or is refused with line and column before anything is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.api import run_scenario
from flowsim.errors import BadInput, ScenarioError
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from tests.support.faults import Fault

JOB = """flowsim: 1
name: f
sources: {s: {collection: {fields: {n: long}, rows: [[1], [2]]}}}
operators: {m: {input: s, map: {add: {x: n}}, parallelism: 2}}
sinks: {o: {input: m, collect: {}, chaining: never, parallelism: 3}}
"""


def check_refused(folder: Path, text: str, message: str) -> None:
    """The scenario is refused with the position and the reason, and nothing is written."""
    path = folder / "s.yaml"
    path.write_text(text)
    with pytest.raises(ScenarioError) as refused:
        run_scenario(path, out=folder / "out")
    assert str(refused.value) == f"{path}{message}"
    assert list(folder.iterdir()) == [path]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("fault: drop_element, channel: 99", ":6:41 faults[0].channel: there is no channel 99: expected 0 to 7"),
        ("fault: drop_element, subtask: 3", ":6:41 faults[0].subtask: there is no subtask 3: expected 0 to 2"),
        (
            "fault: stop_task, operator: s, subtask: 1",
            ":6:51 faults[0].subtask: there is no subtask 1 of 's': expected 0",
        ),
        (
            "fault: stop_task, operator: o, subtask: 3",
            ":6:51 faults[0].subtask: there is no subtask 3 of 'o': expected 0 to 2",
        ),
        (
            "fault: drop_element, operator: m, channel: 7",
            ":6:54 faults[0].channel: channel 7 belongs to o (3/3), which the fault does not name",
        ),
    ],
)
def test_unknown_part_is_refused_with_position_and_nothing_is_written(tmp_path: Path, fault: str, message: str) -> None:
    check_refused(tmp_path, f"{JOB}faults: [{{{fault}}}]\n", message)


NO_CHECKPOINT = "the job takes no checkpoint: set settings.checkpointing.interval, or request one with an action"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "faults: [{fault: stop_task, channel: 0}]",
            ":6:38 faults[0].channel: it breaks the whole task, on every channel: leave out the channel",
        ),
        ("faults: [{fault: acknowledged_twice}]", f":6:18 faults[0].fault: {NO_CHECKPOINT}"),
        (
            "failures: [{fail_task: {task: m, in_snapshot: 1}}]",
            f":6:47 failures[0].fail_task.in_snapshot: {NO_CHECKPOINT}",
        ),
        (
            "failures: [{fail_task: {task: m, in_notification: 1}}]",
            f":6:51 failures[0].fail_task.in_notification: {NO_CHECKPOINT}",
        ),
    ],
)
@pytest.mark.parametrize("settings", ["", "settings: {checkpointing: {retained: 2}}\n"])
def test_fault_without_effect_is_refused(tmp_path: Path, text: str, message: str, settings: str) -> None:
    check_refused(tmp_path, f"{JOB}{text}\n{settings}", message)


@pytest.mark.parametrize(
    "also",
    ["settings: {checkpointing: {interval: 10 ms}}", "actions: [{checkpoint: {at: 1 ms}}]"],
)
def test_failure_in_a_checkpoint_is_possible_with_checkpoints(tmp_path: Path, also: str) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(f"{JOB}failures: [{{fail_task: {{task: m, in_snapshot: 1}}}}]\n{also}\n")
    compile_scenario(load_scenario(path), out_dir=tmp_path / "out")


def test_fault_of_the_caller_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    path, out = tmp_path / "s.yaml", tmp_path / "out"
    path.write_text(JOB)
    compiled = compile_scenario(load_scenario(path), out_dir=out)
    for fault in (Fault("drop_element", channel=99), Fault("drop_element", subtask=9), Fault("lose_all")):
        with pytest.raises(BadInput):
            run_compiled(compiled, out=out, faults=[fault])
    assert list(tmp_path.iterdir()) == [path]
