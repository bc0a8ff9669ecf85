"""Random jobs with checkpoints, failures and savepoints violate no law; ``FLOWSIM_HYPOTHESIS_PROFILE=deep`` runs 2,000."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from random import Random
from typing import Any, Literal

import pytest

from flowsim.cluster.job_execution import JobExecutionResult, RunOptions
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.cluster.run_actions import RunAction, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.connectors.memory import CollectSink
from flowsim.datastream import (
    AsyncDataStream,
    AsyncFunction,
    DataStream,
    StreamExecutionEnvironment,
)
from flowsim.datastream.common import Duration, Time, Types, WatermarkStrategy
from flowsim.datastream.window import (
    EventTimeSessionWindows,
    SlidingEventTimeWindows,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from flowsim.facts.kinds import Level
from flowsim.graph.checkpoint_settings import CheckpointSettings, FixedDelayRestart, SavepointRestoreSettings
from flowsim.laws.judge import WHOLE, check_all
from flowsim.laws.law import Verdict
from flowsim.recording.memory import MemoryRecorder
from flowsim.simulation import FailTask, LoseJobManager
from flowsim.units import NS_PER_MS
from tests.support.jobs.counts_and_waits import CountsAndWaits

pytestmark = pytest.mark.property

IS_DEEP = os.environ.get("FLOWSIM_HYPOTHESIS_PROFILE") == "deep"
FIRST, JOBS, PER_TEST = (0, 2000, 50) if IS_DEEP else (10, 20, 10)
STEPS = ("tumbling", "sliding", "session", "processing time", "process", "ordered", "unordered", "map")
Vertices = list[tuple[str, int]]
"""Names of operators, and their parallelism."""


class Answers(AsyncFunction):
    """Answers after 0 to 6 ms."""

    async def async_invoke(self, value: Any) -> list[Any]:
        await asyncio.sleep(0.001 * (value[1] % 7))
        return [value]


def total(left: Any, right: Any) -> Any:
    return left[0], max(left[1], right[1]), left[2] + right[2]


def step(kind: str, stream: DataStream, design: Literal["mailbox", "legacy"]) -> DataStream:
    keyed = stream.key_by(lambda value: value[0], key_type=Types.STRING())
    match kind:
        case "tumbling":
            return keyed.window(TumblingEventTimeWindows.of(Time.milliseconds(50))).reduce(total)
        case "sliding":
            windows = SlidingEventTimeWindows.of(Time.milliseconds(60), Time.milliseconds(20))
            return keyed.window(windows).allowed_lateness(10).reduce(total)
        case "session":
            return keyed.window(EventTimeSessionWindows.with_gap(Time.milliseconds(9))).reduce(total)
        case "processing time":
            return keyed.window(TumblingProcessingTimeWindows.of(Time.milliseconds(10))).reduce(total)
        case "process":
            return keyed.process(CountsAndWaits(lambda value, timestamp: timestamp + 20, 7))
        case "ordered":
            return AsyncDataStream.ordered_wait(stream, Answers(), Time.seconds(1), 8, design=design)
        case "unordered":
            return AsyncDataStream.unordered_wait(stream, Answers(), Time.seconds(1), 8, design=design)
        case _:
            return stream.map(lambda value: value)


def job(random: Random, parallelism: int) -> tuple[StreamExecutionEnvironment, Vertices]:
    """One or two regions, each with one or two sources, a map, one or two steps and a sink that commits."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    env.configure(
        cost_ns=random.choice([50_000, 200_000, 900_000]),
        buffer_timeout_ms=random.choice([0, 1, 20]),
        checkpointing=CheckpointSettings(
            interval_ms=random.choice([10, 12, 25]),
            exactly_once=random.random() < 0.8,
            tolerable_failures=random.choice([0, 100]),
            max_concurrent=random.choice([1, 1, 2]),
            async_latency_ns=random.choice([0, 2 * NS_PER_MS, 15 * NS_PER_MS]),
            min_pause_ms=random.choice([0, 5]),
        ),
        restart_strategy=FixedDelayRestart(random.choice([0, 5]), 5),
    )
    design = random.choice(["mailbox", "legacy"])
    vertices: Vertices = []

    def named(stream: DataStream, name: str, subtasks: int) -> DataStream:
        vertices.append((name, subtasks))
        return stream.set_parallelism(subtasks).name(name).uid(name)

    def source(name: str, records: int) -> DataStream:
        strategy = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(10)).with_timestamp_assigner(
            lambda value, _: value[1] * 3 - value[1] * 7 % 11
        )
        values = [(f"k{number * number % 5}", number, 1) for number in range(records)]
        collected = env.from_collection(values).uid(f"collected {name}")
        return named(collected.assign_timestamps_and_watermarks(strategy), name, 1)

    for region in range(random.choice([1, 1, 2])):
        stream = source(f"numbers {region}", random.choice([3, 40, 120]))
        if random.random() < 0.3:
            stream = stream.union(source(f"more {region}", random.choice([2, 50])))
        stream = named(stream.map(lambda value: value), f"same {region}", parallelism)
        for number in range(random.choice([1, 1, 2])):
            kind = random.choice(STEPS)
            stream = named(step(kind, stream, design), f"{kind} {region} {number}", parallelism)
            if number == 0 and random.random() < 0.2:
                stream = stream.broadcast()
        stream.sink_to(CollectSink()).name(f"out {region}").uid(f"out {region}")
        vertices.append((f"out {region}", parallelism))
    return env, vertices


def disturbances(random: Random, vertices: Vertices, folder: Path | None) -> tuple[list[Any], list[RunAction]]:
    """Failures and actions; ``folder``: the job is stopped with a savepoint."""
    failures: list[Any] = []
    for attempt in range(random.choice([0, 1, 1, 2, 3])):
        task, subtasks = random.choice(vertices)
        place = random.choice(["at_record", "at_ns", "in_snapshot", "in_notification"])
        highest = {"at_record": 60, "at_ns": 60 * NS_PER_MS, "in_snapshot": 4, "in_notification": 4}[place]
        value = random.randint(1, highest)
        failures.append(FailTask(task, random.randrange(subtasks), attempt=attempt, **{place: value}))
    if random.random() < 0.1:
        failures.append(LoseJobManager(random.randrange(60 * NS_PER_MS)))
    actions: list[RunAction] = []
    if random.random() < 0.3:
        actions.append(TriggerCheckpoint(random.randrange(50 * NS_PER_MS)))
    if random.random() < 0.3:
        actions.append(TriggerSavepoint(random.randrange(50 * NS_PER_MS), None))
    if folder is not None:
        at_ns = random.choice([5, 15, 30, 60]) * NS_PER_MS
        actions.append(StopWithSavepoint(at_ns, random.random() < 0.3, str(folder)))
    return failures, actions


def run(seed: int, parallelism: int, folder: Path | None, savepoint: str | None = None) -> JobExecutionResult:
    """Runs the job of a seed; no law is violated."""
    random = Random(seed)
    env, vertices = job(random, parallelism)
    failures, actions = disturbances(random, vertices, folder)
    recorder = MemoryRecorder(Level.FULL)
    options = RunOptions(
        recorder=recorder,
        policy="random",
        seed=seed,
        failures=tuple(failures),
        actions=tuple(actions),
        savepoint=None if savepoint is None else SavepointRestoreSettings(savepoint),
    )
    result = MiniCluster(env.stream_graph(), options).run()
    status = WHOLE if result.status is JobStatus.FINISHED else "failed"
    outcomes = check_all(recorder, status)
    expected = {"progress"} if result.status is JobStatus.DEADLOCKED else set()
    found = {o.law: o.evidence[:2] for o in outcomes if o.verdict is Verdict.VIOLATED and o.law not in expected}
    assert not found, f"seed {seed}, parallelism {parallelism}, {result.status.value}, from {savepoint}"
    assert all(o.reason for o in outcomes if o.verdict is Verdict.NOT_APPLICABLE)
    return result


def _saved(result: JobExecutionResult) -> str | None:
    """The folder of the savepoint with which the job was stopped."""
    made = [each.path for each in result.requested_snapshots if isinstance(each.action, StopWithSavepoint)]
    return made[-1] if made else None


@pytest.mark.parametrize("first", range(FIRST, FIRST + JOBS, PER_TEST))
def test_restored_job_violates_no_law(first: int, tmp_path: Path) -> None:
    """Every second job is stopped with a savepoint, and continued with another parallelism."""
    for seed in range(first, first + PER_TEST):
        folder = tmp_path / str(seed) if seed % 2 else None
        path = _saved(run(seed, 1 + seed % 3, folder))
        if path is not None:
            run(seed, 1 + seed // 2 % 3, None, path)


def test_task_without_state_may_be_notified_of_the_snapshot_from_which_the_job_started(tmp_path: Path) -> None:
    """An abort names the latest completed checkpoint, which the task does not know (rule 12.4)."""
    path = _saved(run(135, 1, tmp_path / "135"))
    assert path is not None
    run(135, 2, None, path)


def test_threads_of_failed_attempts_end() -> None:
    """A task of the asynchronous operator of Flink 1.8 fails in a notification; its emitter ends with it."""
    assert run(6, 1, None).status is JobStatus.FINISHED


def test_event_that_a_failed_task_receives_violates_no_law() -> None:
    """It arrives in a channel whose reserved buffers have been returned."""
    assert run(210, 1, None).status is JobStatus.FINISHED


def test_finished_task_ends_no_asynchronous_part_that_was_aborted() -> None:
    """The checkpoint is aborted while a task that then finishes writes its state, before the next attempt (rule 12.67)."""
    run(3679, 2, None)
