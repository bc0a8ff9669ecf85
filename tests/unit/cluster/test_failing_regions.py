"""Failures of one region while the others go on, lost task managers that several regions share, and their splits."""

from __future__ import annotations

import pytest

from flowsim.cluster.failures import FailTask, LoseTaskManager, RunFailure
from flowsim.cluster.job_execution import JobExecutionResult, JobStatus, RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.connectors.memory import CollectSink
from flowsim.connectors.script import ScriptedSource, record, sleep
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.units import NS_PER_MS


def script(first: int, count: int) -> list[object]:
    return [part for n in range(first, first + count) for part in (record(n, n), sleep(1))]


def run(env: StreamExecutionEnvironment, *failures: RunFailure) -> JobExecutionResult:
    """Runs the job; no law is violated."""
    recorder = MemoryRecorder(Level.FULL)
    result = MiniCluster(env.stream_graph(), RunOptions(failures=failures, recorder=recorder)).run()
    assert result.status is JobStatus.FINISHED, result.error
    assert [outcome for outcome in check_all(recorder) if outcome.verdict is Verdict.VIOLATED] == []
    return result


def attempts(result: JobExecutionResult) -> dict[str, int]:
    return {attempt.task: attempt.number + 1 for attempt in result.attempts}


def two_pipelines() -> tuple[StreamExecutionEnvironment, list[CollectSink]]:
    """Two regions, a and b; their sources share the task manager ``left``, and the sink of a is there too."""
    env = StreamExecutionEnvironment.get_execution_environment()
    managers = {"left": ["source a", "source b", "sink a"], "right": ["sink b"]}
    env.configure(
        checkpointing=CheckpointSettings(10), restart_strategy=FixedDelayRestart(5, 20), task_managers=managers
    )
    sinks = [CollectSink(), CollectSink()]
    for name, sink in zip("ab", sinks, strict=True):
        stream = env.add_source(ScriptedSource(script(0, 60))).name(f"source {name}").rebalance()
        stream.sink_to(sink).name(f"sink {name}")
    return env, sinks


@pytest.mark.parametrize(
    ("lost", "restarted"),
    [("left", ["sink a -", "sink b -", "source a", "source b"]), ("right", ["sink b -", "source b"])],
)
def test_lost_task_manager_restarts_the_regions_of_its_tasks(lost: str, restarted: list[str]) -> None:
    env, sinks = two_pipelines()
    result = run(env, LoseTaskManager(lost, 25 * NS_PER_MS))
    assert [sorted(sink.values()) for sink in sinks] == [[*range(60)]] * 2
    assert sorted(task[:8] for task, count in attempts(result).items() if count == 2) == restarted


@pytest.mark.parametrize(("delay_ms", "read_by_neighbour"), [(2, 30), (100, 20)])
def test_splits_of_a_failed_reader_go_back_when_it_restarts(delay_ms: int, read_by_neighbour: int) -> None:
    """Rule 12.112: it has read 15 records, and fails before a checkpoint; its neighbour goes on."""
    env = StreamExecutionEnvironment.get_execution_environment().set_parallelism(2)
    env.configure(checkpointing=CheckpointSettings(1000), restart_strategy=FixedDelayRestart(1, delay_ms))
    source = ScriptedSource(*(script(n * 10, 10) for n in range(4)), assignment="dynamic")
    sink = CollectSink()
    env.add_source(source).name("numbers").sink_to(sink)
    result = run(env, FailTask("numbers", 0, at_record=15))
    assert sorted(attempts(result).values()) == [1, 2]
    assert sorted(sink.values()) == [*range(40)]
    assert len(sink.values(1)) == read_by_neighbour
