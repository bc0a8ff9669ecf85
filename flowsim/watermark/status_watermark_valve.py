"""Merges the watermarks and statuses of the channels of one task input. Flink: StatusWatermarkValve (rules 8.9-8.14)."""

from __future__ import annotations

from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import InvariantViolation
from flowsim.streamrecord.elements import WatermarkStatus
from flowsim.units import NO_TIMESTAMP

_ACTIVE: Final = WatermarkStatus.ACTIVE
_IDLE: Final = WatermarkStatus.IDLE


class ValveOutput(Protocol):
    """Receives the valve's output.

    A Protocol, because this package does not know tasks and operators. Flink: PushingAsyncDataInput.DataOutput.
    """

    def emit_watermark(self, timestamp: int) -> None: ...

    def emit_watermark_status(self, status: WatermarkStatus) -> None: ...


@mypyc_attr(allow_interpreted_subclasses=True)
class StatusWatermarkValve:
    """Computes the event time of a task input: the minimum over its aligned channels, never decreasing.

    Flink: StatusWatermarkValve.

    A channel is *aligned* while it may hold the output back: it is active, and its watermark is not behind the output.
    Timestamps are milliseconds. Invariants, checked by ``validate``: an idle channel is not aligned; every aligned
    channel is at or above the last output; every aligned channel has one heap entry that is not above its watermark.
    """

    __slots__ = (
        "last_output_watermark",
        "last_output_status",
        "_output",
        "_watermarks",
        "_idle",
        "_aligned",
        "_active_count",
        "_heap",
        "_in_heap",
        "_heap_is_filled",
    )

    def __init__(self, channel_count: int, output: ValveOutput) -> None:
        if channel_count < 1:
            raise ValueError(f"a valve needs at least one channel, got {channel_count}")
        self.last_output_watermark = NO_TIMESTAMP
        self.last_output_status = _ACTIVE
        self._output = output
        self._watermarks = [NO_TIMESTAMP] * channel_count
        self._idle = [False] * channel_count
        self._aligned = [True] * channel_count
        self._active_count = channel_count
        # One entry per aligned channel, updated only when it reaches the top: a fast channel adds no heap work and no
        # memory. The first watermark fills the heap: in a large job most channels have none for a long time.
        self._heap: list[tuple[int, int]] = []
        self._in_heap = [False] * channel_count
        self._heap_is_filled = False

    def input_watermark(self, timestamp: int, channel: int) -> None:
        """Handles a watermark on ``channel`` (rule 8.9). A watermark on an idle channel is dropped (rule 8.14)."""
        if self._idle[channel] or timestamp <= self._watermarks[channel] or self.last_output_status is _IDLE:
            return
        self._watermarks[channel] = timestamp
        if len(self._watermarks) == 1:
            self.last_output_watermark = timestamp
            self._output.emit_watermark(timestamp)
            return
        if not self._aligned[channel] and timestamp >= self.last_output_watermark:
            self._align(channel)
        self._emit_minimum()

    def input_watermark_status(self, status: WatermarkStatus, channel: int) -> None:
        """Handles a status change of ``channel`` (rules 8.10, 8.11); a repeated status is ignored (rule 8.12)."""
        if status is _IDLE and not self._idle[channel]:
            self._become_idle(channel)
        elif status is _ACTIVE and self._idle[channel]:
            self._become_active(channel)

    def _become_idle(self, channel: int) -> None:
        self._idle[channel] = True
        self._aligned[channel] = False
        self._active_count -= 1
        held_output = self._watermarks[channel] == self.last_output_watermark
        if self._active_count == 0:
            # Rule 8.10: no channel is left to wait for, so the maximum of the idle channels is emitted before IDLE.
            if held_output:
                self._emit_if_new(max(self._watermarks))
            self.last_output_status = _IDLE
            self._output.emit_watermark_status(_IDLE)
        elif held_output:
            self._emit_minimum()

    def _become_active(self, channel: int) -> None:
        self._idle[channel] = False
        self._active_count += 1
        # Rule 8.11: a channel that fell behind while idle must catch up before it can hold back the task.
        if self._watermarks[channel] >= self.last_output_watermark:
            self._align(channel)
        if self.last_output_status is _IDLE:
            self.last_output_status = _ACTIVE
            self._output.emit_watermark_status(_ACTIVE)

    def _align(self, channel: int) -> None:
        self._aligned[channel] = True
        if not self._in_heap[channel]:
            self._in_heap[channel] = True
            heappush(self._heap, (self._watermarks[channel], channel))

    def _fill_heap(self) -> None:
        self._heap_is_filled = True
        for channel, aligned in enumerate(self._aligned):
            if aligned and not self._in_heap[channel]:
                self._in_heap[channel] = True
                self._heap.append((NO_TIMESTAMP, channel))
        heapify(self._heap)

    def _emit_minimum(self) -> None:
        if not self._heap_is_filled:
            self._fill_heap()
        heap, watermarks = self._heap, self._watermarks
        while heap:
            entry, channel = heap[0]
            if not self._aligned[channel]:
                heappop(heap)
                self._in_heap[channel] = False
            elif entry != watermarks[channel]:
                heapreplace(heap, (watermarks[channel], channel))
            else:
                self._emit_if_new(entry)
                return

    def _emit_if_new(self, timestamp: int) -> None:
        if timestamp > self.last_output_watermark:
            self.last_output_watermark = timestamp
            self._output.emit_watermark(timestamp)

    def validate(self) -> None:
        """Raises InvariantViolation if an invariant of the class docstring does not hold."""
        if not self._heap_is_filled:
            self._fill_heap()
        entries = {channel: entry for entry, channel in self._heap}
        for channel, watermark in enumerate(self._watermarks):
            if not self._aligned[channel]:
                continue
            in_order = channel in entries and entries[channel] <= watermark
            behind = watermark < self.last_output_watermark
            if self._idle[channel] or behind or not in_order:
                raise InvariantViolation(
                    f"valve: channel {channel} is aligned with watermark {watermark}",
                    (
                        f"idle: {self._idle[channel]}",
                        f"last output: {self.last_output_watermark}",
                        f"heap: {self._heap}",
                    ),
                )
        if self._active_count != self._idle.count(False) or len(entries) != len(self._heap):
            raise InvariantViolation(
                "valve: counts of active channels or heap entries are wrong", (f"heap: {self._heap}",)
            )
