"""The bounds of a run: how long it may take before it is ended."""

from __future__ import annotations

from dataclasses import dataclass, fields

from flowsim.errors import BadInput
from flowsim.units import NS_PER_MS


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Ends a run on the virtual clock after this many steps, or at this virtual time; None: no bound.

    A step is a callback of the event loop: a turn of a task, a timer, or a step of asynchronous code. ``virtual_ms``
    counts from the start of the job. A run that reaches a bound has status ``stopped`` and the error ``RunTooLong``.
    """

    steps: int | None = None
    virtual_ms: int | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and (type(value) is not int or value < 1):
                raise BadInput(f"bounds of a run: {each.name}: expected an integer >= 1 or None, got {value!r:.40}")

    @property
    def virtual_ns(self) -> int | None:
        """As ``virtual_ms``, in ns."""
        return None if self.virtual_ms is None else self.virtual_ms * NS_PER_MS


UNBOUNDED = RunBounds()
