"""Signals of the processes that tests start."""

from __future__ import annotations

import signal


def default_signals() -> None:
    """Under nohup, or in the background of a shell, signals are ignored: flowsim would respect that."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
