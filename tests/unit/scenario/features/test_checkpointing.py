"""Checkpoints, restart strategies, failures and the actions for them in scenarios."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim
from flowsim.cluster.failures import FailTask, LoseJobManager, LoseTaskManager
from flowsim.cluster.run_actions import StopJob, StopWithSavepoint, TriggerCheckpoint, TriggerSavepoint
from flowsim.graph.checkpoint_settings import (
    CheckpointSettings,
    ExponentialDelayRestart,
    FailureRateRestart,
    FixedDelayRestart,
    NoRestart,
    RestartStrategySettings,
)
from tests.support.jobs.scenarios import compiled, refused

JOB = """flowsim: 1
name: t
sources: {s: {collection: {fields: {n: long}, rows: []}}}
sinks: {o: {input: s, collect: {}}}
"""


def test_defaults_are_those_of_flink(tmp_path: Path) -> None:
    assert compiled(JOB, tmp_path).env.settings.checkpointing is None
    assert (
        compiled(JOB + "settings: {checkpointing: {}}\n", tmp_path).env.settings.checkpointing == CheckpointSettings()
    )


def test_settings_of_checkpoints_have_units_and_a_folder_of_the_output(tmp_path: Path) -> None:
    text = (
        "settings: {checkpointing: {interval: 1 s, mode: at_least_once, timeout: 1 min, min_pause: 20 ms, retained: 3,\n"
        "  max_concurrent: 2, tolerable_failed_checkpoints: 4, retention: retain_on_cancellation, directory: chk,\n"
        "  after_tasks_finish: false, interval_during_backlog: 5 s, sync_duration: 2 us, async_duration: 3 ms,\n"
        "  async_bandwidth: 1 MiB}}\n"
    )
    job = compiled(JOB + text, tmp_path)
    folder = job.checkpoint_folders[0]
    assert folder.name == "chk"
    assert job.env.settings.checkpointing == CheckpointSettings(
        interval_ms=1000,
        exactly_once=False,
        timeout_ms=60_000,
        min_pause_ms=20,
        max_concurrent=2,
        tolerable_failures=4,
        retained=3,
        retention="RETAIN_ON_CANCELLATION",
        after_tasks_finish=False,
        interval_during_backlog_ms=5000,
        directory=str(folder),
        async_latency_ns=3_000_000,
        async_bytes_per_second=1 << 20,
        sync_latency_ns=2000,
    )


@pytest.mark.parametrize(
    ("text", "strategy"),
    [
        ("fixed_delay: {attempts: 3, delay: 100 ms}", FixedDelayRestart(3, 100)),
        ("failure_rate: {max_failures_per_interval: 2, delay: 0}", FailureRateRestart(2, 60_000, 0)),
        ("exponential_delay: {jitter_factor: 0.0}", ExponentialDelayRestart(jitter_factor=0.0)),
        ("none: {}", NoRestart()),
    ],
)
def test_restart_strategy_has_the_defaults_of_flink(
    text: str, strategy: RestartStrategySettings, tmp_path: Path
) -> None:
    job = compiled(JOB + f"settings: {{restart_strategy: {{{text}}}}}\n", tmp_path)
    assert job.env.settings.restart_strategy == strategy


def test_actions_trigger_checkpoints_and_savepoints(tmp_path: Path) -> None:
    actions = (
        "actions: [{checkpoint: {at: 1 s}}, {savepoint: {at: 2 s}}, {stop: {at: 3 s}},\n"
        "  {stop: {at: 4 s, drain: true, savepoint: {directory: last}}}]\n"
    )
    job = compiled(JOB + actions, tmp_path)
    (folder,) = job.checkpoint_folders
    assert folder.name == "last"
    second = 1_000_000_000
    assert job.actions == (
        TriggerCheckpoint(second),
        TriggerSavepoint(2 * second),
        StopJob(3 * second),
        StopWithSavepoint(4 * second, True, str(folder)),
    )


def test_failures_name_the_tasks_of_the_graph(tmp_path: Path) -> None:
    failures = (
        "actions: [{checkpoint: {at: 1 s}}]\n"
        "failures: [{fail_task: {task: s, at_record: 7}}, {fail_task: {task: o, subtask: 0, in_snapshot: 2, attempt: 1}},\n"
        "  {lose_task_manager: {name: 'Source: s -> Sink: o (1)', at: 1 ms}}, {lose_job_manager: {at: 2 ms}}]\n"
    )
    assert compiled(JOB + failures, tmp_path).run_options().failures == (
        FailTask("Source: s", at_record=7),
        FailTask("Sink: o", in_snapshot=2, attempt=1),
        LoseTaskManager("Source: s -> Sink: o (1)", 1_000_000),
        LoseJobManager(2_000_000),
    )


def test_names_of_nodes_are_the_uids_of_their_state(tmp_path: Path) -> None:
    nodes = compiled(JOB, tmp_path).stream_graph().nodes.values()
    assert [node.uid for node in nodes] == ["s", "o"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        (
            "settings: {checkpointing: {unaligned: true, max_concurrent: 2}}",
            "unaligned: expected max_concurrent 1, got 2",
        ),
        (
            "settings: {checkpointing: {interval: 9 ms}}",
            "interval: expected at least 10 ms, got 9 ms",
        ),
        ("settings: {checkpointing: {mode: exactly}}", "(did you mean 'exactly_once'?)"),
        ("settings: {checkpointing: {min_pause: 366 d}}", "min_pause: expected at most 365 d"),
        ("settings: {checkpointing: {directory: ../x}}", "is outside of"),
        ("settings: {checkpointing: {directory: recording}}", "expected a folder that only checkpoints use"),
        ("settings: {checkpointing: {directory: run.json}}", "expected a folder that only checkpoints use"),
        ("settings: {checkpointing: {directory: .flowsim.lock}}", "expected a folder that only checkpoints use"),
        ("settings: {checkpointing: {directory: ck/.flowsim.lock}}", "expected a folder that only checkpoints use"),
        ("settings: {checkpointing: {directory: sinks}}", "expected a folder that only checkpoints use"),
        ("actions: [{savepoint: {at: 1 ms, directory: .run.json.tmp}}]", "expected a folder that only checkpoints use"),
        (
            "actions: [{stop: {at: 1 ms, savepoint: {directory: run.json/a}}}]",
            "expected a folder that only checkpoints use",
        ),
        ("settings: {restart_strategy: {}}", "expected one of fixed_delay, failure_rate, exponential_delay, none"),
        ("settings: {restart_strategy: {none: {}, fixed_delay: {}}}", "got fixed_delay and none"),
        ("settings: {restart_strategy: {exponential_delay: {max_backoff: 1 ms}}}", "expected at least initial_backoff"),
        ("failures: [{fail_task: {task: x, at: 1 s}}]", "there is no node 'x'"),
        ("failures: [{fail_task: {task: s}}]", "expected one of at_record, at, in_snapshot, in_notification, got none"),
        ("failures: [{fail_task: {task: s, at: 1 s, at_record: 1}}]", "got at_record and at"),
        ("failures: [{fail_task: {task: s, at: 1 s, subtask: 4}}]", "'s' has 1 subtask, expected 0 to 0, got 4"),
        ("failures: [{lose_task_manager: {name: tm}}]", "the key 'at' is missing"),
        ("actions: [{savepoint: {at: 1 s, directory: /}}]", "is outside of"),
        ("actions: [{stop: {at: 1 s, savepoint: true}}]", "expected a mapping"),
    ],
)
def test_impossible_value_is_refused_at_its_place(text: str, error: str, tmp_path: Path) -> None:
    (line,) = refused(JOB + text + "\n", tmp_path)
    assert error in line
    assert line.startswith("s.yaml:5:")


@pytest.mark.parametrize("folder", ["rows", "rows/ck", "."])
def test_checkpoints_and_the_files_of_a_sink_have_folders_of_their_own(folder: str, tmp_path: Path) -> None:
    job = JOB.replace("collect: {}", "csv: {path: rows}")
    (line,) = refused(f"{job}settings: {{checkpointing: {{directory: {folder}}}}}\n", tmp_path)
    assert line.startswith("s.yaml:5:")
    assert f"expected a folder that only checkpoints use, got {folder!r}" in line


def test_finished_job_takes_no_checkpoint_that_waited_for_the_savepoint_of_its_stop(tmp_path: Path) -> None:
    """Flink's coordinator is shut down in the turn that handles the end of the last task."""
    text = """\
flowsim: 1
name: stopped
settings: {cost: 0, buffer_timeout: 0, checkpointing: {interval: 1 h}}
sources:
  s:
    script:
      fields: {id: long}
      gap: 97 ms
      subtasks: [[{record: [0], timestamp: 1, step: 0}, {record: [1], timestamp: 2, step: 1}, {record: [2], step: 9}]]
    watermarks: {timestamp: timestamp}
operators:
  asked:
    input: s
    partition: rescale
    parallelism: 2
    async: {mode: ordered, latency: {each: "400 + id * 10"}, timeout: 5 s, add: {n: id}}
sinks:
  out: {input: asked, parallelism: 1, collect: {}}
actions: [{stop: {at: 350 ms, drain: true, savepoint: {directory: savepoints}}}, {checkpoint: {at: 400 ms}}]
"""
    run = flowsim.run_scenario(text, out=tmp_path / "out")
    assert run.result is not None
    assert run.result.checkpoints is not None
    assert run.result.checkpoints.completed == 1
    assert [each.checkpoint_id for each in run.result.requested_snapshots] == [1, None]
