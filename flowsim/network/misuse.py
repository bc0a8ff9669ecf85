"""What a network class raises when it is used against its contract, in the categories that Flink tells apart.

They are bugs of flowsim's own when they happen in a job; tests compare the categories with those of the real classes.
"""

from __future__ import annotations

from flowsim.errors import InvariantViolation


class IllegalState(InvariantViolation):
    """The call is not allowed now. Flink: IllegalStateException."""


class IllegalArgument(InvariantViolation):
    """No call with this argument is ever allowed. Flink: IllegalArgumentException."""


class OutOfBounds(InvariantViolation):
    """A position outside of what was written. Flink: IndexOutOfBoundsException."""
