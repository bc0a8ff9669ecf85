"""A run whose parent ignores Ctrl-C or SIGHUP: that signal stays ignored, the others cancel the job."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from tests.cases.test_retained_checkpoints import run_until_checkpoint
from tests.support.signals import default_signals


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_run_whose_parent_ignores_ctrl_c(tmp_path: Path, number: signal.Signals) -> None:
    """A shell starts background commands so."""
    process = run_until_checkpoint(tmp_path, (signal.SIGINT,))
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(number)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert Recording.open(tmp_path / "o").status is RunStatus.CANCELED


def test_hangup_stays_ignored_under_nohup_and_sigterm_still_ends_the_run(tmp_path: Path) -> None:
    process = run_until_checkpoint(tmp_path, (signal.SIGHUP,))
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert Recording.open(tmp_path / "o").status is RunStatus.CANCELED


STARTS = "import os; from flowsim.__main__ import main; os.write(1, b'begins\\n'); main()"
COMMANDS = {
    "explore": ["explore", "job.yaml", "--runs", "3"],
    "study": ["study", "job.yaml", "--vary", "settings.seed=1,2", "--out", "study"],
}


@pytest.mark.parametrize("numbers", [(signal.SIGTERM,), (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP)])
@pytest.mark.parametrize("name", COMMANDS)
def test_signal_ends_other_commands_whose_parent_ignores_ctrl_c(
    tmp_path: Path, name: str, numbers: tuple[signal.Signals, ...]
) -> None:
    """No process of a study stays behind."""
    text = (
        "flowsim: 1\nname: long\nsources: {a: {generator: {count: 9000000, pace: 1 ms, fields: {n: {sequence: {}}}}}}\n"
    )
    (tmp_path / "job.yaml").write_text(text + "sinks: {o: {input: a, csv: {}}}\n")

    def signals() -> None:
        default_signals()
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    process = subprocess.Popen(
        [sys.executable, "-c", STARTS, *COMMANDS[name]],
        cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=signals, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "begins\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.1)
    assert process.poll() is None
    for number in numbers:
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (130, False), err
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
