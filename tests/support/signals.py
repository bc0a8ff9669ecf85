"""Signals of the processes that tests start."""

from __future__ import annotations

import signal
from pathlib import Path


def default_signals() -> None:
    """Under nohup, or in the background of a shell, signals are ignored: flowsim would respect that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def is_running(process: int) -> bool:
    """Returns False for a process that has ended, even if no parent has asked for its status."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
