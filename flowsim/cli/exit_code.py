"""The exit codes of the command line, documented in ``docs/cli.md``. This module is separate for a fast start."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes for scripts."""

    FINE = 0
    BROKEN = 1
    """A law or an expectation is violated, or was never examined."""
    BAD_INPUT = 2
    JOB_FAILED = 3
    """The job failed or deadlocked, and the scenario does not expect that."""
    OUR_BUG = 70
    """A bug in flowsim."""
    CANNOT_WRITE = 74
    """The recording could not be written completely: the disk is full, or the directory was removed."""
    INTERRUPTED = 130
    """The command was interrupted by Ctrl-C, SIGTERM or SIGHUP."""
