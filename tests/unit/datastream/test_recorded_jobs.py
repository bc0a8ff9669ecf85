"""Jobs of the DataStream API that write a recording."""

from __future__ import annotations

from pathlib import Path

import pytest

from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import BadInput, JobFailed
from flowsim.facts.kinds import Level
from flowsim.recording.manifest import RunStatus
from flowsim.recording.memory import MemoryRecorder
from flowsim.recording.reader import Recording


@pytest.fixture
def env(tmp_path: Path) -> StreamExecutionEnvironment:
    return StreamExecutionEnvironment.get_execution_environment().flowsim_recording(tmp_path / "r")


def test_each_run_replaces_previous_recording(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    env.flowsim_settings(seed=5, policy="random")
    for count in (3, 2):
        assert len(list(env.from_collection(range(count)).rebalance().execute_and_collect())) == count
    recording = Recording.open(tmp_path / "r")
    assert (recording.status, recording.level) == (RunStatus.COMPLETE, Level.FULL)
    assert (recording.manifest.run.seed, recording.manifest.run.policy) == (5, "random")
    assert recording.manifest.run.settings["segment_size_bytes"] == 32 * 1024
    assert sum(row[5] == 0 for row in recording.rows("received")) == 2


def test_recording_of_failed_job_names_task_operator_and_record(
    env: StreamExecutionEnvironment, tmp_path: Path
) -> None:
    def shares(number: int) -> list[int]:
        return [12 // number]

    env.flowsim_recording(tmp_path / "r", "elements")
    env.from_collection([4, 3, 0, 2]).rebalance().flat_map(shares).name("shares").print()
    with pytest.raises(JobFailed):
        env.execute()
    recording = Recording.open(tmp_path / "r")
    failure = recording.manifest.failure
    assert recording.status is RunStatus.FAILED
    assert failure is not None
    assert failure.task.startswith("shares")
    assert (failure.operator, failure.record) == ("shares", "0")
    assert sum(row[5] == 0 for row in recording.rows("received")) == 3


def test_recording_off_or_second_recorder_is_refused(env: StreamExecutionEnvironment, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="level: expected elements or full, got 'off'"):
        env.flowsim_recording(tmp_path / "r", "off")  # type: ignore[arg-type]
    env.flowsim_settings(recorder=MemoryRecorder(Level.FULL))
    env.from_collection([1]).print()
    with pytest.raises(BadInput, match="a run has one recorder"):
        env.execute()
    assert not (tmp_path / "r").exists()
