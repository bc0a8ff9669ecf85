"""What the real Flink cannot run."""

from __future__ import annotations

from flowsim.errors import BadInput


class Unsupported(BadInput):
    """A part of a job that Flink does not have, or that the interpreter cannot build."""
