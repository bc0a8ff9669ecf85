"""Jobs whose checkpoints are in a directory: which folders remain, and that their bytes are the same in each run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from flowsim.checkpoints.storage.directory.stored_snapshot import StoredSnapshot
from flowsim.cluster.failures import FailTask
from flowsim.cluster.job_execution import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster, RunOptions
from flowsim.cluster.run_actions import CancelJob, StopWithSavepoint
from flowsim.connectors.generator import GeneratorSource, SequenceOf
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.datastream.common.watermark_strategy import WatermarkStrategy
from flowsim.graph.checkpoint_settings import CheckpointSettings, ClaimMode, FixedDelayRestart, SavepointRestoreSettings
from flowsim.graph.stream_graph import StreamGraph
from flowsim.units import NS_PER_MS


def job(settings: CheckpointSettings) -> StreamGraph:
    env = StreamExecutionEnvironment.get_execution_environment()
    source = GeneratorSource(None, {"n": SequenceOf(0, 1, None)}, pace_ns=NS_PER_MS)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers").rebalance().sink_to(CollectSink())
    graph = env.stream_graph()
    graph.settings = replace(graph.settings, checkpointing=settings, restart_strategy=FixedDelayRestart(1, 0))
    return graph


def run(directory: Path, retention: str, retained: int = 1) -> list[str]:
    """Runs the job for 45 ms; returns the checkpoints that remain."""
    settings = CheckpointSettings(10, directory=str(directory), retention=retention, retained=retained)  # type: ignore[arg-type]
    result = MiniCluster(job(settings), RunOptions(actions=(CancelJob(45 * NS_PER_MS),))).run()
    assert result.status is JobStatus.CANCELED
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.parametrize(
    ("retention", "retained", "remain"),
    [
        ("NO_EXTERNALIZED_CHECKPOINTS", 2, []),
        ("RETAIN_ON_CANCELLATION", 1, ["chk-4"]),
        ("RETAIN_ON_CANCELLATION", 2, ["chk-3", "chk-4"]),
    ],
)
def test_retained_checkpoints_remain_after_cancellation(
    retention: str, retained: int, remain: list[str], tmp_path: Path
) -> None:
    """Rules 12.60 and 12.63."""
    assert run(tmp_path, retention, retained) == remain


@pytest.mark.parametrize(
    ("mode", "remain"),
    [
        ("CLAIM", ["chk-6", "first"]),
        ("NO_CLAIM", ["chk-6", "first", "savepoint-2"]),
        ("LEGACY", ["chk-6", "first", "savepoint-2"]),
    ],
)
def test_claimed_savepoint_is_deleted_when_a_checkpoint_subsumes_it(
    mode: ClaimMode, remain: list[str], tmp_path: Path
) -> None:
    """Rule 12.62: before its first checkpoint, the job restarts from the savepoint."""
    settings = CheckpointSettings(10, directory=str(tmp_path / "first"))
    stop = StopWithSavepoint(15 * NS_PER_MS, directory=str(tmp_path))
    assert MiniCluster(job(settings), RunOptions(actions=(stop,))).run().status is JobStatus.FINISHED
    settings = CheckpointSettings(10, directory=str(tmp_path), retention="RETAIN_ON_CANCELLATION")
    options = RunOptions(
        actions=(CancelJob(25 * NS_PER_MS),),
        failures=(FailTask("Source: numbers", at_record=3),),
        savepoint=SavepointRestoreSettings(str(tmp_path / "savepoint-2"), mode),
    )
    result = MiniCluster(job(settings), options).run()
    assert (result.status, result.restarts) == (JobStatus.CANCELED, 1)
    assert sorted(path.name for path in tmp_path.iterdir()) == remain


def test_same_run_writes_the_same_bytes(tmp_path: Path) -> None:
    contents = []
    for name in ("a", "b"):
        run(tmp_path / name, "RETAIN_ON_CANCELLATION")
        files = sorted(path for path in tmp_path.joinpath(name).rglob("*") if path.is_file())
        contents.append([(str(path.relative_to(tmp_path / name)), path.read_bytes()) for path in files])
    assert contents[0] == contents[1]


def test_directory_names_the_operators_of_the_job(tmp_path: Path) -> None:
    run(tmp_path, "RETAIN_ON_CANCELLATION")
    stored = StoredSnapshot(tmp_path / "chk-4")
    stored.verify()
    names = [operator.name for operator in stored.manifest.operators]
    assert names == ["Source: numbers", "Sink: Unnamed", "Sink: Unnamed: Committer"]
