"""``flowsim metrics --format openmetrics``: names and labels of Flink, values of the table, dropped late records."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

import pytest
from prometheus_client.metrics_core import Metric
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from typer.testing import CliRunner

from flowsim import Recording, open_recording, run_scenario
from flowsim.cli.main import app

SCENARIO = """\
flowsim: 1
name: late-rows
settings:
  {record: full, seed: 3, metrics_interval: 50 ms, segment_size: 64 B, floating_buffers_per_gate: 1, buffer_timeout: 0}
sources:
  readings:
    generator:
      count: 200
      pace: 1 ms
      fields:
        key: {choice: {values: [a, b, c]}}
        at_ms: {event_time: {start: 1000, step: 1 ms, jitter: 40 ms}}
    watermarks: {timestamp: at_ms, max_out_of_orderness: 1 ms}
operators:
  counts:
    input: readings
    key_by: key
    parallelism: 2
    cost: 4 ms
    window: {tumbling: 5 ms}
    aggregate: {rows: count()}
sinks:
  kept: {input: counts, collect: {}}
"""
SECONDS = 1_000_000_000
DROPPED = "flink_taskmanager_job_task_operator_numLateRecordsDropped"
GAUGES = {
    "busyTimeMsPerSecond": "busy_ms", "idleTimeMsPerSecond": "idle_ms", "numRecordsIn": "records_in",
    "softBackPressuredTimeMsPerSecond": "soft_ms", "hardBackPressuredTimeMsPerSecond": "hard_ms",
    "numRecordsOut": "records_out", "numBuffersOut": "buffers_out", "numBytesOut": "bytes_out",
    "mailboxQueueSize": "mailbox_size", "Shuffle_Netty_Input_Buffers_inputQueueLength": "input_queue",
    "Shuffle_Netty_Output_Buffers_outputQueueLength": "output_queue",
}  # fmt: skip


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    out = tmp_path_factory.mktemp("metrics")
    run_scenario(SCENARIO, out=out)
    return open_recording(out)


@pytest.fixture(scope="module")
def found(recording: Recording) -> dict[str, Metric]:
    return families(recording)


def families(recording: Recording, *options: str) -> dict[str, Metric]:
    called = CliRunner().invoke(app, ["metrics", str(recording.directory), "--format", "openmetrics", *options])
    assert called.exit_code == 0, called.output
    return {family.name: family for family in text_string_to_metric_families(called.stdout)}


def points(family: Metric, *labels: str) -> dict[tuple[str, ...], float]:
    """The values by labels and time in nanoseconds."""
    found = {}
    for sample in family.samples:
        sec, nsec = sample.timestamp.sec, sample.timestamp.nsec
        found[*(sample.labels[label] for label in labels), str(sec * SECONDS + nsec)] = sample.value
    return found


def rows(recording: Recording) -> Iterable[dict[str, int]]:
    """The last sample of each task and time."""
    return {(row["task"], row["time_ns"]): row for row in recording.table("metrics").to_pylist()}.values()


@pytest.mark.parametrize(("name", "column"), GAUGES.items())
def test_gauge_of_task_equals_column_of_table(
    recording: Recording, found: dict[str, Metric], name: str, column: str
) -> None:
    tasks = {row["task"]: row for row in recording.table("tasks").to_pylist()}

    family = found[f"flink_taskmanager_job_task_{name}"]

    assert family.type == "gauge"
    assert points(family, "task_id", "subtask_index") == {
        (f"{tasks[row['task']]['vertex']:016x}{0:016x}", str(tasks[row["task"]]["subtask"]), str(row["time_ns"])):
            row[column]
        for row in rows(recording)
    }  # fmt: skip
    assert len(family.samples) > 2 * len(tasks)


def test_shares_watermarks_and_back_pressure_have_units_of_flink(
    recording: Recording, found: dict[str, Metric]
) -> None:
    prefix = "flink_taskmanager_job_task_"
    back_pressured = [sample.value for sample in found[f"{prefix}backPressuredTimeMsPerSecond"].samples]
    assert sorted(back_pressured) == sorted(row["soft_ms"] + row["hard_ms"] for row in rows(recording))
    usage = [sample.value for sample in found[f"{prefix}Shuffle_Netty_Input_Buffers_inPoolUsage"].samples]
    assert sorted(usage) == sorted(row["input_pool_usage"] / 1e6 for row in rows(recording))
    assert max(back_pressured) > 0 < max(usage) <= 1
    watermarks = found[f"{prefix}currentInputWatermark"]
    assert {sample.labels["task_name"] for sample in watermarks.samples} == {"counts", "Sink:_kept"}
    assert {sample.labels["operator_name"] for sample in found[f"{prefix}operator_currentOutputWatermark"].samples} == {
        "Source:_readings", "counts", "Sink:_kept",
    }  # fmt: skip


def test_labels_are_variables_of_flink_without_special_characters(
    recording: Recording, found: dict[str, Metric]
) -> None:
    sample = next(one for one in found[DROPPED].samples if one.labels["subtask_index"] == "0")
    job_id = recording.manifest.digest[:32]
    assert sample.labels == {
        "host": "counts__1_", "tm_id": "counts__1_", "job_id": job_id, "job_name": "late_rows",
        "task_id": f"{1:016x}{0:016x}", "task_name": "counts", "task_attempt_num": "0", "subtask_index": "0",
        "task_attempt_id": f"{job_id}_{1:016x}{0:016x}_0_0", "operator_id": f"{1:016x}{0:016x}",
        "operator_name": "counts",
    }  # fmt: skip


def test_dropped_late_records_are_counted_until_each_sample(recording: Recording, found: dict[str, Metric]) -> None:
    late = [(row["task"], row["seq"]) for row in recording.table("late_drop").to_pylist()]
    windows = [row["task"] for row in recording.table("tasks").to_pylist() if row["vertex"] == 1]
    expected = {
        (str(windows.index(row["task"])), str(row["time_ns"])):
            float(sum(task == row["task"] and seq < row["seq"] for task, seq in late))
        for row in rows(recording) if row["task"] in windows
    }  # fmt: skip

    counts = points(found[DROPPED], "subtask_index")

    assert counts == expected
    assert len({*counts.values()}) > 3


def test_late_records_in_side_output_are_not_dropped(tmp_path: Path) -> None:
    scenario = SCENARIO.replace("window: {tumbling: 5 ms}", "window: {tumbling: 5 ms, late_output: late}")
    run_scenario(scenario + "  late: {input: counts.late, collect: {}}\n", out=tmp_path)
    recording = open_recording(tmp_path)
    assert recording.row_count("late_drop") > 0

    assert set(points(families(recording)[DROPPED], "subtask_index").values()) == {0.0}


def test_busy_time_of_legacy_source_is_not_a_number(tmp_path: Path) -> None:
    run_scenario(SCENARIO, out=tmp_path, overrides=["sources.readings.legacy=true"])
    found = families(open_recording(tmp_path))["flink_taskmanager_job_task_busyTimeMsPerSecond"]
    assert {sample.labels["task_name"] for sample in found.samples if math.isnan(sample.value)} == {
        "Source:_readings____readings_watermarks"
    }  # fmt: skip


def test_selection_of_no_sample_is_an_empty_document(recording: Recording) -> None:
    assert families(recording, "--from", "1 h") == {}


RESTARTED = """\
flowsim: 1
name: restarted
settings:
  checkpointing: {interval: 1 h, min_pause: 1 h}
  restart_strategy: {fixed_delay: {delay: 10 ms}}
  metrics_interval: 20 ms
sources:
  numbers: {generator: {count: 20, pace: 10 ms, fields: {n: {sequence: {}}, k: {choice: {values: [a, b, c]}}}}}
operators:
  sums: {input: numbers, key_by: k, parallelism: 2, reduce: {n: sum}}
sinks: {kept: {input: sums, collect: {}}}
actions: [{checkpoint: {at: 55 ms}}, {savepoint: {at: 75 ms}}]
failures: [{fail_task: {task: numbers, at_record: 15}}]
"""


@pytest.fixture(scope="module")
def restarted(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    out = tmp_path_factory.mktemp("restarted")
    run_scenario(RESTARTED, out=out)
    return open_recording(out)


def test_gauges_of_the_job_count_checkpoints_and_restarts(restarted: Recording) -> None:
    of_job = {
        name.removeprefix("flink_jobmanager_job_"): {
            sample.timestamp.sec * 1000 + sample.timestamp.nsec // 1_000_000: sample.value for sample in family.samples
        }
        for name, family in families(restarted).items()
        if name.startswith("flink_jobmanager_job_")
    }
    events = restarted.table("checkpoints").to_pylist()
    completed = {row["checkpoint"]: row for row in events if row["action"] == 4}
    metrics = restarted.table("checkpoint_metrics").to_pylist()

    end = max(of_job["numRestarts"])
    assert of_job["totalNumberOfCheckpoints"] == {1000: 0, 1055: 1, 1075: 2, 1150: 2, 1160: 2, end: 3}
    assert of_job["numberOfCompletedCheckpoints"] == of_job["totalNumberOfCheckpoints"]
    assert of_job["lastCompletedCheckpointId"] == {1000: -1, 1055: 1, 1075: 2, 1150: 2, 1160: 2, end: 3}
    assert of_job["numRestarts"] == of_job["fullRestarts"] == {1000: 0, 1055: 0, 1075: 0, 1150: 1, 1160: 1, end: 1}
    assert (
        of_job["lastCheckpointRestoreTimestamp"][1150] == 1000 < of_job["lastCheckpointRestoreTimestamp"][1160] == 1160
    )
    for name in ("lastCheckpointSize", "lastCheckpointFullSize"):
        assert of_job[name][1055] == completed[1]["state_bytes"] > of_job[name][end] == completed[3]["state_bytes"]
        assert of_job[name][1000] == -1
    processed = sum(row["alignment_bytes"] for row in metrics if row["checkpoint"] == 2)
    assert of_job["lastCheckpointProcessedData"][1075] == processed > 0
    assert {*of_job["numberOfFailedCheckpoints"].values(), *of_job["numberOfInProgressCheckpoints"].values()} == {0}


def test_gauges_of_tasks_have_the_last_checkpoint_of_their_attempt(restarted: Recording) -> None:
    found = families(restarted)
    rows = restarted.table("checkpoint_metrics").to_pylist()
    tasks = {
        row["task"]: (f"{row['vertex']:016x}{0:016x}", str(row["subtask"]))
        for row in restarted.table("tasks").to_pylist()
    }
    alignments = points(
        found["flink_taskmanager_job_task_checkpointAlignmentTime"], "task_id", "subtask_index", "task_attempt_num"
    )
    for (task_id, subtask, attempt, time_ns), value in alignments.items():
        before = [
            row["alignment_ns"]
            for row in rows
            if tasks[row["task"]] == (task_id, subtask)
            and str(row["task_attempt"]) == attempt
            and row["time_ns"] <= int(time_ns)
        ]
        assert value == (before[-1] if before else 0)
    assert max(alignments.values()) > 0
    delays = found["flink_taskmanager_job_task_checkpointStartDelayNanos"]
    assert "Source:_numbers" in {sample.labels["task_name"] for sample in delays.samples}
    assert f"{0:016x}{0:016x}" not in {task_id for task_id, *_ in alignments}


def test_run_without_checkpoints_has_no_gauges_of_them(found: dict[str, Metric]) -> None:
    assert not [name for name in found if "heckpoint" in name or "estarts" in name]


def test_job_samples_are_printed_without_task_and_in_the_selected_time(restarted: Recording) -> None:
    def job_samples(*options: str) -> list[dict[str, int]]:
        called = CliRunner().invoke(app, ["metrics", str(restarted.directory), "--json", *options])
        return list(json.loads(called.stdout)["job_samples"])

    assert len(job_samples()) == 8
    assert [one["numberOfInProgressCheckpoints"] for one in job_samples("--from", "50 ms", "--to", "80 ms")] == [
        1,
        0,
        1,
        0,
    ]
    assert job_samples("--task", "sums") == []
    printed = CliRunner().invoke(app, ["metrics", str(restarted.directory)], env={"COLUMNS": "80"}).stdout
    assert max(map(len, printed.splitlines())) <= 80
    assert "completed" in printed
