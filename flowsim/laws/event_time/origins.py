"""The emissions of the origins of event time in one task, by cause (rules 5.8, 8.16)."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.laws.event_time.marks import Mark, arrived_event_time, generated_event_time
from flowsim.laws.event_time.paths import ACTIVE, IDLE, INPUTS, STATUS, WATERMARK, Emission
from flowsim.laws.machine import reads
from flowsim.laws.slices import Slice
from flowsim.units import NO_TIMESTAMP


class CombinedInputs:
    """The combined event time of one task's inputs; that of a single input passes unchanged (rule 8.16)."""

    __slots__ = ("_all_idle", "_idle", "_inputs", "_reached", "_watermarks")

    def __init__(self, inputs: int) -> None:
        self._inputs = inputs
        self._watermarks: dict[int, int] = {}
        """The watermark of each input that has emitted a watermark or status."""
        self._idle: set[int] = set()
        self._all_idle = False
        self._reached = NO_TIMESTAMP

    @property
    def has_idle(self) -> bool:
        """Whether one of several inputs is idle."""
        return bool(self._idle)

    def take(self, index: int, kind: int, value: int) -> Sequence[Emission]:
        """The watermark or status of the head operator after that of one input."""
        if self._inputs == 1:
            return ((kind, value),)
        if not 0 <= index < self._inputs:
            return ()
        before = self._watermarks.get(index, NO_TIMESTAMP)
        self._watermarks[index] = max(before, value) if kind == WATERMARK else before
        (self._idle.add if kind == STATUS and value == IDLE else self._idle.discard)(index)
        was_idle, self._all_idle = self._all_idle, len(self._idle) == self._inputs
        emitted: list[Emission] = []
        lowest = self._lowest()
        if lowest > self._reached:
            self._reached = lowest
            emitted.append((WATERMARK, lowest))
        if kind == STATUS and self._all_idle is not was_idle:
            emitted.append((kind, value))
        return emitted

    def _lowest(self) -> int:
        if self._all_idle:
            return max(self._watermarks.values())
        if len(self._watermarks) < self._inputs:
            return NO_TIMESTAMP
        return min(watermark for index, watermark in self._watermarks.items() if index not in self._idle)


class Output:
    """The filter of an output: no watermark while it is idle, and only changes of status (rule 5.8)."""

    __slots__ = ("_status",)

    def __init__(self) -> None:
        self._status = ACTIVE

    def passes(self, emission: Emission) -> bool:
        """Processes the next watermark or status; returns whether it passes."""
        kind, value = emission
        if kind == STATUS:
            before, self._status = self._status, value
            return before != value
        return self._status != IDLE


class Origins:
    """Tracks the emissions of one task's inputs and generators, epoch by epoch.

    The sequence number of a mark is that of its cause: the row of an input's or operator's emission. Several marks may
    have one cause.
    """

    __slots__ = ("_inputs", "_is_single", "_outputs")

    def __init__(self, inputs: int) -> None:
        self._is_single = inputs == 1
        self._inputs = CombinedInputs(inputs)
        self._outputs: dict[int, Output] = {}

    @property
    def has_idle_inputs(self) -> bool:
        """Whether the next watermark of an input may change the status of the task."""
        return self._inputs.has_idle

    @reads(generated_event_time, arrived_event_time)
    def causes(self, facts: Slice) -> dict[int, Sequence[Mark]]:
        """The emissions of each origin in an epoch that pass its output."""
        emitted: dict[int, Sequence[Mark]] = dict(facts.once(generated_event_time))
        if facts.has("task_watermark"):
            emitted[INPUTS] = facts.once(arrived_event_time) if self._is_single else self._combined(facts)
        for origin, marks in emitted.items():
            passes = self._outputs.setdefault(origin, Output()).passes
            emitted[origin] = [mark for mark in marks if passes(mark[1])]
        return emitted

    def _combined(self, facts: Slice) -> list[Mark]:
        take, found = self._inputs.take, list[Mark]()
        for seq, index, kind, value in facts.of("task_watermark").tuples(("seq", "input", "kind", "timestamp")):
            found += [(seq, emission) for emission in take(index, kind, value)]
        return found
