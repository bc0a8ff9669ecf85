"""The exit codes of the command line, documented in ``docs/cli.md``; apart from the commands, for a quick start."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """What a script may rely on."""

    FINE = 0
    BROKEN = 1
    """A law or an expectation is broken, or was never examined."""
    BAD_INPUT = 2
    JOB_FAILED = 3
    """It failed or deadlocked, and the scenario does not expect that."""
    OUR_BUG = 70
    """A bug in flowsim itself."""
    CANNOT_WRITE = 74
    """The recording could not be written any further: the disk is full, or the directory is gone."""
    INTERRUPTED = 130
    """By Ctrl-C, SIGTERM or SIGHUP."""
