"""Commands on scenarios whose tasks fail and restart: interrupted, replayed, explored, without restarts left."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from flowsim.cluster.job_master.failover import RootException
from flowsim.cluster.job_master.job_master import JobMaster
from flowsim.recording.reader import Recording, RunStatus
from flowsim.units import NS_PER_MS
from tests.unit.cli.conftest import Flowsim

SHORT = ("count: 200", "count: 90\n      pace: 1ms"), ("rows: {kept: 200}", "rows: {kept: 90}")
RECOVERING = """\
settings:
  record: full
  seed: 3
  buffer_debloat: {period: 20 ms, target: 40 ms, samples: 2}
  checkpointing: {interval: 10 ms}
  restart_strategy: {fixed_delay: {attempts: 3, delay: 15 ms}}"""
FAILURES = """\
failures:
  - fail_task: {task: sums, subtask: 1, at_record: 20}
  - fail_task: {task: kept, in_notification: 3}
  - fail_task: {task: sums, in_snapshot: 6, attempt: 1}
"""


@pytest.fixture
def restarting(write: Callable[..., Path]) -> Path:
    """``tiny.yaml`` with checkpoints, debloating and failures."""
    return write("restarting.yaml", *SHORT, ("settings: {record: full, seed: 3}", RECOVERING), append=FAILURES)


def press_ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def in_the_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    handle = JobMaster.on_failure

    def on_failure(self: JobMaster, number: int, failure: RootException) -> None:
        handle(self, number, failure)
        scheduler = self.failover._scheduler
        scheduler.call_at_ns(scheduler.now_ns + 7 * NS_PER_MS, press_ctrl_c)

    monkeypatch.setattr(JobMaster, "on_failure", on_failure)


def in_the_restart(monkeypatch: pytest.MonkeyPatch) -> None:
    restart = JobMaster.restart_tasks

    def restart_tasks(self: JobMaster, *arguments: Any, **options: Any) -> None:
        press_ctrl_c()
        restart(self, *arguments, **options)

    monkeypatch.setattr(JobMaster, "restart_tasks", restart_tasks)


@pytest.mark.parametrize(("interrupt", "restarts"), [(in_the_delay, 0), (in_the_restart, 4)])
def test_ctrl_c_while_tasks_restart_exits_130_with_readable_recording(
    interrupt: Callable[[pytest.MonkeyPatch], None],
    restarts: int,
    restarting: Path,
    flowsim: Flowsim,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    interrupt(monkeypatch)
    assert flowsim("run", restarting, "--out", "o").code == 130
    recording = Recording.open(Path("o"))
    assert recording.status is RunStatus.CANCELED
    assert recording.computed_facts_digest == recording.manifest.facts_digest
    assert len(list(recording.rows("restarts"))) == 1 + restarts
    assert flowsim("validate", "o").code == 0


def test_run_with_several_attempts_replays_equal_and_violates_no_law(restarting: Path, flowsim: Flowsim) -> None:
    done = flowsim("run", restarting, "--out", "o", "--validate", "--json").document
    assert (done["exit_code"], len(done["failures"]), done["sinks"][0]["rows"]) == (0, 2, 90)
    assert {attempt["number"] for attempt in done["attempts"]} == {0, 1, 2}
    assert flowsim("replay", "o", "--json").document["same"] is True
    times = {(row["task"], row["time_ns"]) for row in flowsim("metrics", "o", "--json").document["samples"]}
    assert len(times) == 12, "every attempt has a last sample"


def test_restarting_scenario_is_checked_and_explored(restarting: Path, flowsim: Flowsim) -> None:
    assert flowsim("check", restarting).code == 0
    called = flowsim("explore", restarting, "--runs", 2, "--json")
    assert (called.code, called.document["findings"], called.document["runs"]) == (0, [], 2)


def test_job_without_restarts_left_exits_3_and_reports_every_attempt(
    restarting: Path, flowsim: Flowsim, tmp_path: Path
) -> None:
    (tmp_path / "exhausted.yaml").write_text(restarting.read_text().replace("attempts: 3", "attempts: 1"))
    called = flowsim("run", "exhausted.yaml", "--out", "o")
    assert called.code == 3
    assert "restarted 4 tasks after 15 ms" in called.out
    assert "no restart" in called.out
    document = flowsim("run", "exhausted.yaml", "--out", "o", "--json").document
    states = [(attempt["task"], attempt["number"], attempt["state"]) for attempt in document["attempts"]]
    assert [state for _, _, state in states].count("FAILED") == 2
    assert len(states) == 8
    assert flowsim("replay", "o").code == 0
