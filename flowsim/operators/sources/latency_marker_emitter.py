"""Emits latency markers periodically. Flink: LatencyMarkerEmitter (rule 8.20)."""

from __future__ import annotations

from flowsim.operators.stream_operator import OperatorContext
from flowsim.streamrecord.elements import LatencyMarker
from flowsim.streamrecord.output import Output


class LatencyMarkerEmitter:
    """Emits the markers of one source subtask: one at once, then one every ``interval_ms``, as mails of the source.

    Flink: LatencyMarkerEmitter.
    """

    __slots__ = ("_ctx", "_output", "_closed")

    def __init__(self, ctx: OperatorContext, output: Output, interval_ms: int) -> None:
        self._ctx = ctx
        self._output = output
        self._closed = False
        timers = ctx.processing_time
        timers.register_timer(timers.current_processing_time_ms() - 1, self._emit, daemon_while_not=_no_effect)
        timers.schedule_with_fixed_delay(interval_ms, self._emit, daemon_while_not=_no_effect)

    def close(self) -> None:
        """Stops the markers."""
        self._closed = True

    def _emit(self, timestamp: int) -> None:
        if not self._closed:
            ctx = self._ctx
            now_ms = ctx.processing_time.current_processing_time_ms()
            self._output.emit_latency_marker(LatencyMarker(now_ms, ctx.vertex_id, ctx.subtask_index))


def _no_effect() -> bool:
    """Returns False: a marker only measures, so it does not keep a run alive."""
    return False
