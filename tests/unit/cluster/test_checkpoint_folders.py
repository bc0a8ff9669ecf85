"""Folders of checkpoints: one run at a time writes to each."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from flowsim import BadInput, run_scenario
from flowsim.cluster.checkpoint_folders import locked_folders
from flowsim.datastream.environment import StreamExecutionEnvironment
from flowsim.graph.checkpoint_settings import CheckpointSettings

SCENARIO = """\
flowsim: 1
name: saved
settings: {checkpointing: {directory: FOLDER}}
sources: {numbers: {generator: {count: 5, pace: 10 ms, fields: {n: {sequence: {}}}}}}
sinks: {all: {input: numbers, collect: {}}}
actions: [{savepoint: {at: 25 ms}}]
"""


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_second_run_on_a_folder_is_refused_until_the_first_ends(tmp_path: Path) -> None:
    folder = tmp_path / "a/checkpoints"
    owner = re.escape(f"another run (process {os.getpid()} on ")
    with locked_folders([folder, folder]):
        with (
            pytest.raises(BadInput, match=rf"{owner}.*\) is writing there: .* another directory for checkpoints"),
            locked_folders([tmp_path / "other", folder]),
        ):
            pass
        assert tree(tmp_path) == ["a", "a/checkpoints", "a/checkpoints/.flowsim.lock"]
    assert tree(tmp_path) == []
    with locked_folders([folder]):
        (folder / "chk-1").mkdir()
    assert tree(tmp_path) == ["a", "a/checkpoints", "a/checkpoints/chk-1"]


def test_file_as_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("")
    with (
        pytest.raises(BadInput, match="mine: is a file; give a directory for checkpoints"),
        locked_folders([tmp_path / "mine"]),
    ):
        pass
    with (
        pytest.raises(BadInput, match="below: cannot be used for checkpoints"),
        locked_folders([tmp_path / "mine/below"]),
    ):
        pass


def test_scenario_with_the_folder_of_another_run_is_refused_and_keeps_the_earlier_run(tmp_path: Path) -> None:
    folder, out = tmp_path / "shared", tmp_path / "out"
    scenario = SCENARIO.replace("FOLDER", str(folder))
    run_scenario(scenario, out=out, allow_path=True)
    before = tree(tmp_path)
    assert "shared/savepoint-1/manifest.json" in before
    with locked_folders([folder]), pytest.raises(BadInput, match="is writing there"):
        run_scenario(scenario, out=out, allow_path=True)
    assert tree(tmp_path) == before


def test_job_with_the_folder_of_another_run_is_refused(tmp_path: Path) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.configure(checkpointing=CheckpointSettings(directory=str(tmp_path)))
    env.from_collection([1, 2]).print()
    with locked_folders([tmp_path]), pytest.raises(BadInput, match="is writing there"):
        env.execute()


def test_scenario_starts_from_a_savepoint_with_another_parallelism(tmp_path: Path) -> None:
    stop = "actions=[{stop: {at: 25 ms, savepoint: {}}}]"
    first = run_scenario(SCENARIO.replace("FOLDER", "checkpoints"), out=tmp_path / "first", overrides=[stop])
    savepoint = tmp_path / "first/checkpoints/savepoint-1"
    second = run_scenario(
        SCENARIO.replace("FOLDER", "checkpoints"),
        out=tmp_path / "second",
        overrides=["actions=[]", "settings.parallelism=2"],
        from_savepoint=savepoint,
        claim_mode="legacy",
    )
    assert 0 < first.sinks[0].rows < 5
    assert first.sinks[0].rows + second.sinks[0].rows == 5
    assert (savepoint / "manifest.json").exists()


def test_options_of_a_restore_need_a_savepoint(tmp_path: Path) -> None:
    for options in ({"claim_mode": "claim"}, {"allow_non_restored_state": True}):
        with pytest.raises(BadInput, match="apply to a restored job only: give from_savepoint="):
            run_scenario(SCENARIO, out=tmp_path, **options)  # type: ignore[arg-type]


def test_scenario_with_checkpoints_in_files_needs_a_directory() -> None:
    with pytest.raises(BadInput, match="its checkpoints or savepoints are files: give their directory with out="):
        run_scenario(SCENARIO.replace("FOLDER", "checkpoints"))
