"""Signals end a run as the action cancel does: retained checkpoints stay, and the recording is closed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from tests.support.signals import default_signals
from tests.unit.cli.test_processes import command

RETAINED = Path(__file__).parent / "inputs/retained_checkpoints.yaml"


def run_until_checkpoint(folder: Path, ignored: tuple[signal.Signals, ...] = ()) -> subprocess.Popen[str]:
    """A run of the scenario with retained checkpoints, after its first one."""

    def signals() -> None:
        default_signals()
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)

    process = subprocess.Popen(
        command("run", str(RETAINED), "--out", "o", "--set", "sources.numbers.generator.count=3000000"),
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=signals,
    )  # fmt: skip
    for _ in range(600):
        if list((folder / "o/ck").glob("chk-*/manifest.json")):
            return process
        time.sleep(0.05)
    process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_keeps_retained_checkpoints_and_prints_the_summary(tmp_path: Path, number: signal.Signals) -> None:
    """As the action cancel does: the scenario has retention: retain_on_cancellation."""
    process = run_until_checkpoint(tmp_path)
    process.send_signal(number)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err.rpartition("\n")[0].rpartition("\n")[2]) == (130, "interrupted")
    assert "sig: canceled after" in out
    assert "checkpoints " in out
    assert list((tmp_path / "o/ck").glob("chk-*/manifest.json"))
    assert Recording.open(tmp_path / "o").status is RunStatus.CANCELED


@pytest.mark.parametrize("pause_s", [0.0, 0.02, 0.2])
def test_further_signals_leave_a_closed_recording(tmp_path: Path, pause_s: float) -> None:
    process = run_until_checkpoint(tmp_path)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGINT):
        process.send_signal(number)
        time.sleep(pause_s)
    _, err = process.communicate(timeout=120)
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert Recording.open(tmp_path / "o").status is RunStatus.CANCELED
    assert not list((tmp_path / "o").rglob("*.tmp"))


PYTHON_JOB = """\
from flowsim.datastream import ExternalizedCheckpointRetention, StreamExecutionEnvironment
from flowsim.datastream.common.configuration import Configuration

settings = Configuration().set_string("execution.checkpointing.dir", "ck")
env = StreamExecutionEnvironment.get_execution_environment(settings).flowsim_recording("o")
env.flowsim_settings(clock={clock!r})
env.enable_checkpointing(50)
env.get_checkpoint_config().set_externalized_checkpoint_retention(
    ExternalizedCheckpointRetention.RETAIN_ON_CANCELLATION
)
env.from_collection(list(range(3_000_000))).map(lambda n: n + 1).print()
env.execute()
"""


@pytest.mark.parametrize("clock", ["virtual", "real"])
@pytest.mark.parametrize("pause_s", [0.0, 0.02])
def test_signals_close_the_recording_of_a_python_program(tmp_path: Path, clock: str, pause_s: float) -> None:
    (tmp_path / "job.py").write_text(PYTHON_JOB.format(clock=clock))
    process = subprocess.Popen(
        [sys.executable, "job.py"],
        cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=default_signals,
    )  # fmt: skip
    for _ in range(1200):
        if list((tmp_path / "ck").glob("chk-*/manifest.json")) or process.poll() is not None:
            break
        time.sleep(0.05)
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(pause_s)
    _, err = process.communicate(timeout=120)
    assert "RunInterrupted" in err, err
    assert Recording.open(tmp_path / "o").status is RunStatus.CANCELED
    assert list((tmp_path / "ck").glob("chk-*/manifest.json"))
    assert not list(tmp_path.rglob("*.tmp"))
