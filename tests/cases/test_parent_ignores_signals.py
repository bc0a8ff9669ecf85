"""A run whose parent ignores Ctrl-C or SIGHUP: that signal stays ignored, the others cancel the job."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from tests.cases.test_retained_checkpoints import run_until_checkpoint


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
