"""The bounds of a run: how long it may take before it is ended."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

from flowsim.checkpoints.failover.execution_failure_handler import TooManyRestarts
from flowsim.errors import BadInput, EndlessTimers, JobFailed, MemoryLimitReached, RunTooLong
from flowsim.limits import Limits, to_raise
from flowsim.units import NS_PER_MS

_LIMITS: Final = {"steps": "steps", "virtual_ms": "virtual_time", "restarts": "restarts"}
"""The limit of the caller that bounds every run in the same way."""
_UNITS: Final = {"steps": "steps", "virtual_ms": "ms of virtual time", "restarts": "restarts"}


@dataclass(frozen=True, slots=True)
class RunBounds:
    """Fails a run after this many steps, at this virtual time, or instead of a further restart; None: the limit.

    A step is a callback of the event loop: a turn of a task, a timer, or a step of asynchronous code. ``virtual_ms``
    counts from the start of the job. These two apply on the virtual clock only. A run that reaches a bound has status
    ``failed`` and the error ``RunTooLong``. ``Limits`` bounds every run, also one without bounds of its own.
    """

    steps: int | None = None
    virtual_ms: int | None = None
    restarts: int | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and (type(value) is not int or value < 1):
                raise BadInput(f"bounds of a run: {each.name}: expected an integer >= 1 or None, got {value!r:.40}")


UNBOUNDED = RunBounds()


class EffectiveBounds:
    """The tighter ones of the bounds of a run and the limits of its caller."""

    def __init__(self, bounds: RunBounds, limits: Limits) -> None:
        self._bounds = bounds
        self._limits = limits
        self.steps = self._tighter("steps")
        self.virtual_ns = self._tighter("virtual_ms") * NS_PER_MS
        self.restarts = self._tighter("restarts")

    def reached(self, name: str) -> str:
        """Returns the start of the message of a run that reached its bound ``name``."""
        value, limit = self._tighter(name), _LIMITS[name]
        is_limit = value == getattr(self._limits, limit)
        needed = f"a higher limit {limit} {to_raise(limit)}" if is_limit else "higher bounds"
        return f"the run was ended after {value} {_UNITS[name]}: it works without end, or needs {needed}"

    def ended_by(self, name: str, report: str) -> RunTooLong:
        """Returns the error of a run that reached its bound ``name``; ``report``: the wait-for report."""
        return RunTooLong(f"{self.reached(name)}; {_waits(report)}")

    def ended_by_memory(self, reached: str, report: str) -> RunTooLong:
        """Returns the error of a run that reached this bound of its memory."""
        return MemoryLimitReached(f"{_out_of_memory(reached)}; {_waits(report)}")

    def ended_by_failure(self, error: BaseException, failed: JobFailed) -> RunTooLong | None:
        """Returns the error of a run that a failure ended because of a bound; None for other failures."""
        if isinstance(error, TooManyRestarts):
            return RunTooLong(f"{self.reached('restarts')}; the last failure: {failed}")
        if isinstance(error, EndlessTimers):
            return RunTooLong(f"the job is livelocked, and Flink would work on without end: {failed}")
        if isinstance(error, MemoryError):
            return MemoryLimitReached(f"{_out_of_memory('what the system has left')}; the last failure: {failed}")
        return None

    def _tighter(self, name: str) -> int:
        own: int | None = getattr(self._bounds, name)
        limit: int = getattr(self._limits, _LIMITS[name])
        return limit if own is None else min(own, limit)


def _out_of_memory(reached: str) -> str:
    return (
        f"the run was ended at its limit of memory, {reached}: it works without end, or needs more memory and a limit "
        f"memory_bytes of that size {to_raise('memory_bytes')}"
    )


def _waits(report: str) -> str:
    return f"its tasks waited:\n{report}" if report else "none of its tasks was running"
