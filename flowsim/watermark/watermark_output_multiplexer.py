"""Combines the watermarks of the splits of one source subtask. Flink: WatermarkOutputMultiplexer (rule 8.6)."""

from __future__ import annotations

from flowsim.watermark.combined_watermark_status import (
    CombinedWatermarkStatus,
    PartialWatermark,
    PartialWatermarkListener,
)
from flowsim.watermark.watermark_output import WatermarkOutput


class WatermarkOutputMultiplexer:
    """One output for many splits: the minimum watermark of the active splits. Flink: WatermarkOutputMultiplexer.

    A registered split without a watermark holds the output back; the combined watermark never decreases, even if a
    split is registered later.
    """

    __slots__ = ("_output", "_combined", "_partials")

    def __init__(self, output: WatermarkOutput, combined: CombinedWatermarkStatus | None = None) -> None:
        self._output = output
        self._combined = CombinedWatermarkStatus() if combined is None else combined
        self._partials: dict[str, PartialWatermark] = {}

    def register_new_output(self, output_id: str, listener: PartialWatermarkListener | None = None) -> None:
        """Registers a split and its ``listener``; raises ValueError if it is already registered."""
        if output_id in self._partials:
            raise ValueError(f"the split {output_id!r} is already registered")
        partial = PartialWatermark(listener)
        self._partials[output_id] = partial
        self._combined.partials.append(partial)

    def unregister_output(self, output_id: str) -> bool:
        """Removes a split from the next update on; returns False if the split was not registered."""
        partial = self._partials.pop(output_id, None)
        if partial is None:
            return False
        self._combined.partials.remove(partial)
        return True

    def immediate_output(self, output_id: str) -> ImmediateOutput:
        """Returns the split's output for ``on_event``, which updates the combined watermark at once.

        Raises ValueError for an unknown split.
        """
        return ImmediateOutput(self, self._registered(output_id))

    def deferred_output(self, output_id: str) -> DeferredOutput:
        """Returns the split's output for ``on_periodic_emit``; the combined watermark is updated after all splits.

        Raises ValueError for an unknown split.
        """
        return DeferredOutput(self._registered(output_id))

    def _registered(self, output_id: str) -> PartialWatermark:
        partial = self._partials.get(output_id)
        if partial is None:
            raise ValueError(f"no output is registered for the split {output_id!r}")
        return partial

    def watermark_of(self, output_id: str) -> int:
        """Returns the watermark of one split in ms; raises ValueError if the split is not registered."""
        return self._registered(output_id).watermark

    def on_periodic_emit(self) -> None:
        """Updates the combined watermark after the periodic emission of all splits."""
        self.update_combined_watermark()

    def has_pending_effect(self) -> bool:
        """True if the next update has an effect, for example after the end of a split that held other splits back."""
        return self._combined.has_pending_update()

    @property
    def combined_watermark(self) -> int:
        return self._combined.combined_watermark

    def update_combined_watermark(self) -> None:
        """Emits a change: a higher watermark, or idleness if no split is active."""
        if self._combined.update_combined_watermark():
            self._output.emit_watermark(self._combined.combined_watermark)
        if self._combined.idle:
            self._output.mark_idle()


class ImmediateOutput:
    """The output of a split for ``on_event``. Flink: WatermarkOutputMultiplexer.ImmediateOutput."""

    __slots__ = ("_multiplexer", "_partial")

    def __init__(self, multiplexer: WatermarkOutputMultiplexer, partial: PartialWatermark) -> None:
        self._multiplexer = multiplexer
        self._partial = partial

    def emit_watermark(self, timestamp: int) -> None:
        grew = self._partial.set_watermark(timestamp)
        if grew and timestamp > self._multiplexer.combined_watermark:
            self._multiplexer.update_combined_watermark()

    def mark_idle(self) -> None:
        """Makes the split idle and updates the combined watermark at once: other splits may advance now."""
        self._partial.set_idle(True)
        self._multiplexer.update_combined_watermark()

    def mark_active(self) -> None:
        """Emits the effect of earlier deferred watermarks."""
        self._partial.set_idle(False)
        self._multiplexer.update_combined_watermark()


class DeferredOutput:
    """The output of a split for ``on_periodic_emit``. Flink: WatermarkOutputMultiplexer.DeferredOutput."""

    __slots__ = ("_partial",)

    def __init__(self, partial: PartialWatermark) -> None:
        self._partial = partial

    def emit_watermark(self, timestamp: int) -> None:
        self._partial.set_watermark(timestamp)

    def mark_idle(self) -> None:
        self._partial.set_idle(True)

    def mark_active(self) -> None:
        self._partial.set_idle(False)
