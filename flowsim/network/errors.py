"""Errors for illegal use of network classes, in Flink's categories.

In a job they are bugs of flowsim; tests compare the categories with those of Flink's classes.
"""

from __future__ import annotations

from flowsim.errors import FlowsimError, InvariantViolation


class IllegalState(InvariantViolation):
    """The call is not allowed in the current state. Flink: IllegalStateException."""


class IllegalArgument(InvariantViolation):
    """The argument is never allowed. Flink: IllegalArgumentException."""


class OutOfBounds(InvariantViolation):
    """A position outside the written bytes. Flink: IndexOutOfBoundsException."""


class InsufficientNetworkBuffers(FlowsimError):
    """The network memory cannot guarantee what a pool requires (rule 5.39)."""


class BufferPoolDestroyed(FlowsimError):
    """The task of the pool is ending. Flink: CancelTaskException."""


class InputGateClosed(FlowsimError):
    """The gate was read after it was closed, because its task is ending (rule 7.8). Flink: CancelTaskException."""
