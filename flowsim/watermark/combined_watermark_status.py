"""Combines the watermarks of several outputs or task inputs. Flink: CombinedWatermarkStatus (rules 8.6, 8.16)."""

from __future__ import annotations

from typing import Protocol

from flowsim.units import NO_TIMESTAMP


class PartialWatermarkListener(Protocol):
    """A listener that is notified of one participant's updates.

    A Protocol, because this package does not know operators: the outputs of a source's splits listen.
    Flink: WatermarkOutputMultiplexer.WatermarkUpdateListener.
    """

    def on_watermark_update(self, watermark: int) -> None:
        """Called before the participant's watermark increases."""

    def on_idle_update(self, idle: bool) -> None:
        """Called for every update of the participant, even without a change."""


class PartialWatermark:
    """The watermark and status of one participant. Flink: CombinedWatermarkStatus.PartialWatermark."""

    __slots__ = ("watermark", "idle", "_listener")

    def __init__(self, listener: PartialWatermarkListener | None = None) -> None:
        self.watermark: int = NO_TIMESTAMP
        self.idle: bool = False
        self._listener = listener

    def set_watermark(self, timestamp: int) -> bool:
        """Sets the watermark in ms and makes the participant active; returns True if the watermark increased."""
        self.set_idle(False)
        if timestamp <= self.watermark:
            return False
        if self._listener is not None:
            self._listener.on_watermark_update(timestamp)
        self.watermark = timestamp
        return True

    def set_idle(self, idle: bool) -> None:
        self.idle = idle
        if self._listener is not None:
            self._listener.on_idle_update(idle)


class CombinedWatermarkStatus:
    """The minimum watermark of the active participants; the maximum of all participants if all are idle.

    Flink: CombinedWatermarkStatus.
    """

    __slots__ = ("combined_watermark", "idle", "partials")

    def __init__(self) -> None:
        self.combined_watermark: int = NO_TIMESTAMP
        self.idle: bool = False
        self.partials: list[PartialWatermark] = []

    def update_combined_watermark(self) -> bool:
        """Recomputes the combined watermark after a change; returns True if it increased (it never decreases)."""
        if not self.partials:
            return False
        combined, self.idle = self._combine()
        if combined <= self.combined_watermark:
            return False
        self.combined_watermark = combined
        return True

    def has_pending_update(self) -> bool:
        """True if ``update_combined_watermark`` would have an effect."""
        if not self.partials:
            return False
        combined, idle = self._combine()
        return combined > self.combined_watermark or idle is not self.idle

    def _combine(self) -> tuple[int, bool]:
        active = [partial.watermark for partial in self.partials if not partial.idle]
        if active:
            return min(active), False
        return max(partial.watermark for partial in self.partials), True


class IndexedCombinedWatermarkStatus:
    """The combined status of a fixed number of inputs, by index. Flink: IndexedCombinedWatermarkStatus."""

    __slots__ = ("_partials", "_combined")

    def __init__(self, input_count: int) -> None:
        self._combined = CombinedWatermarkStatus()
        self._partials = [PartialWatermark() for _ in range(input_count)]
        self._combined.partials.extend(self._partials)

    @property
    def combined_watermark(self) -> int:
        """The combined watermark in ms; ``NO_TIMESTAMP`` until every active input has a watermark."""
        return self._combined.combined_watermark

    @property
    def idle(self) -> bool:
        """True if every input is idle."""
        return self._combined.idle

    def update_watermark(self, input_index: int, timestamp: int) -> bool:
        """Sets an input's watermark, which makes it active; True if the combined watermark increased (rule 8.16)."""
        self._partials[input_index].set_watermark(timestamp)
        return self._combined.update_combined_watermark()

    def update_status(self, input_index: int, idle: bool) -> bool:
        """Sets an input's status; True if the combined watermark increased because of this change (rule 8.16)."""
        self._partials[input_index].set_idle(idle)
        return self._combined.update_combined_watermark()
