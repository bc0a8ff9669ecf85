"""A record that always fails: progress, summary and recording of a job that restarts for ever name the cause."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from typer.testing import CliRunner

import flowsim
from flowsim.cli.main import app
from flowsim.cli.progress import progress_text
from flowsim.cluster.job_execution import Progress
from flowsim.cluster.job_master.failover import RootException
from flowsim.cluster.job_master.job_master import JobMaster
from flowsim.errors import JobFailed
from flowsim.scenario.compiler import compile_scenario
from flowsim.scenario.loader import load_scenario
from flowsim.scenario.runner import run_compiled
from flowsim.units import NS_PER_MS

SCENARIO = Path(__file__).parent / "inputs" / "r7b_poison_record.yaml"
CAUSE = "ZeroDivisionError: integer division or modulo by zero"
REASON = f"operator divided, record (50,): {CAUSE}"
TASK = "Source: orders -> divided -> Sink: out -> Sink: out: Committer (1/1)"


def command(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "300"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout


@pytest.fixture
def interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, str]:
    """Presses Ctrl-C in the delay after the third failure; returns the directory of the run and the summary."""
    handle = JobMaster.on_failure

    def on_failure(self: JobMaster, number: int, failure: RootException) -> None:
        handle(self, number, failure)
        if number == 2:
            scheduler = self.failover._scheduler
            scheduler.call_at_ns(scheduler.now_ns + 7 * NS_PER_MS, lambda: signal.raise_signal(signal.SIGINT))

    monkeypatch.setattr(JobMaster, "on_failure", on_failure)
    code, shown = command("run", SCENARIO, "--out", tmp_path / "o")
    assert code == 130
    return tmp_path / "o", shown


def test_summary_after_an_interrupt_announces_no_restart_that_never_happened(interrupted: tuple[Path, str]) -> None:
    failures = [line for line in interrupted[1].splitlines() if line.startswith("failure ")]
    assert failures == [
        f"failure   250 ms: {TASK}: {REASON}: restarted 1 task after 1.059 s",
        f"failure   1.406 s: {TASK}: {REASON}: restarted 1 task after 1.384 s",
        f"failure   2.887 s: {TASK}: {REASON}: the job ended before 1 task could restart, 2.058 s later",
    ]


def test_commands_show_the_recorded_cause_of_each_failure(interrupted: tuple[Path, str]) -> None:
    out, _ = interrupted
    code, history = command("checkpoints", out / "recording")
    assert (code, f"failures 0 to 2: {REASON}" in history.splitlines()) == (0, True)
    document = json.loads(command("checkpoints", out / "recording", "--json")[1])
    assert [(one["operator"], one["record"], one["cause"]) for one in document["failures"]] == [
        ("divided", "(50,)", CAUSE)
    ] * 3
    code, trace = command("trace", out, "--kinds", "restarts")
    sentence = f"receives the failure of attempt 2 of Source: orders (1/1): failure 2 ({REASON}), restart in 2,058 ms"
    assert (code, sentence in trace) == (0, True)


def test_manifest_records_failures_from_which_the_job_recovered(tmp_path: Path) -> None:
    flowsim.run_scenario(SCENARIO, out=tmp_path / "o", until_ns=2_000 * NS_PER_MS)
    manifest = flowsim.open_recording(tmp_path / "o").manifest
    assert manifest.failure is None
    assert [(one.failure, one.task, one.operator, one.record, one.cause) for one in manifest.failures] == [
        (number, TASK, "divided", "(50,)", CAUSE) for number in (0, 1)
    ]


def test_progress_has_virtual_time_records_restarts_and_last_cause() -> None:
    seen: list[Progress] = []
    compiled = compile_scenario(load_scenario(SCENARIO), out_dir=Path("never-written"))
    run_compiled(compiled, until_ns=3_000 * NS_PER_MS, on_progress=seen.append)
    assert progress_text(seen[0], 5.0).endswith("of job time, 5 records/s")
    assert progress_text(seen[-1], 5.0) == (
        f"90 records, 2.882 s of job time, 5 records/s, 2 restarts, last failure: {CAUSE}"
    )
    assert [each.records for each in seen[:3]] == [1, 2, 3]
    assert {each.restarts for each in seen} == {0, 1, 2}


def test_progress_shows_the_beginning_of_a_long_cause() -> None:
    failed = JobFailed("task", None, None, ValueError("x" * 99))
    shown = progress_text(Progress(1, 0, 1, failed), 1.0).partition("last failure: ")[2]
    assert (len(shown), shown[:11], shown[-3:]) == (60, "ValueError:", "...")
