"""What a network class raises when it is used against its contract, in the categories that Flink tells apart.

They are bugs of flowsim's own when they happen in a job; tests compare the categories with those of the real classes.
"""

from __future__ import annotations

from flowsim.errors import FlowsimError, InvariantViolation


class IllegalState(InvariantViolation):
    """The call is not allowed now. Flink: IllegalStateException."""


class IllegalArgument(InvariantViolation):
    """No call with this argument is ever allowed. Flink: IllegalArgumentException."""


class OutOfBounds(InvariantViolation):
    """A position outside of what was written. Flink: IndexOutOfBoundsException."""


class InsufficientNetworkBuffers(FlowsimError):
    """The network memory cannot guarantee what a pool requires (rule 5.39)."""


class BufferPoolDestroyed(FlowsimError):
    """The task that the pool belonged to is going away. Flink: CancelTaskException."""


class InputGateClosed(FlowsimError):
    """The gate was read after it was closed: its task is going away (rule 7.8). Flink: CancelTaskException."""
