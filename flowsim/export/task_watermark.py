"""The watermark of a task from those of its inputs."""

from __future__ import annotations

from flowsim.facts.kinds import ElementKind
from flowsim.recording.merged_facts import Fact
from flowsim.units import NO_TIMESTAMP


class TaskWatermark:
    """Merges the inputs of a task: the minimum of the active ones, or the maximum of all if all are idle (rules 8.6, 8.16).

    ``time_ms`` never decreases; -2^63: no watermark yet.
    """

    __slots__ = ("time_ms", "_inputs", "_idle")

    def __init__(self, inputs: int) -> None:
        self.time_ms = NO_TIMESTAMP
        self._inputs = [NO_TIMESTAMP] * inputs
        self._idle: set[int] = set()

    def add(self, fact: Fact) -> bool:
        """Adds a fact of table ``task_watermark``; returns True if the watermark of the task increased."""
        *_, number, kind, timestamp = fact.row
        if kind == ElementKind.WATERMARK:
            self._inputs[number] = timestamp
        if kind == ElementKind.STATUS and timestamp < 0:
            self._idle.add(number)
        else:
            self._idle.discard(number)
        active = [time for input_index, time in enumerate(self._inputs) if input_index not in self._idle]
        merged = min(active) if active else max(self._inputs)
        increased = merged > self.time_ms
        self.time_ms = max(merged, self.time_ms)
        return increased
