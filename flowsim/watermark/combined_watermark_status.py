"""Merges the watermarks of several outputs or task inputs. Flink: CombinedWatermarkStatus (rules 8.6, 8.16)."""

from __future__ import annotations

from typing import Protocol

from flowsim.units import NO_TIMESTAMP


class PartialWatermarkListener(Protocol):
    """Hears what one participant says. Flink: WatermarkOutputMultiplexer.WatermarkUpdateListener."""

    def on_watermark_update(self, watermark: int) -> None:
        """It is about to have a higher watermark."""

    def on_idle_update(self, idle: bool) -> None:
        """It spoke; told also where nothing changes."""


class PartialWatermark:
    """What one participant has reached. Flink: CombinedWatermarkStatus.PartialWatermark."""

    __slots__ = ("watermark", "idle", "_listener")

    def __init__(self, listener: PartialWatermarkListener | None = None) -> None:
        self.watermark = NO_TIMESTAMP
        self.idle = False
        self._listener = listener

    def set_watermark(self, timestamp: int) -> bool:
        """True when it grew; a watermark makes its participant active even where it does not grow."""
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
    """Minimum over the active participants; over all of them the maximum when all are idle. Flink: CombinedWatermarkStatus."""

    __slots__ = ("combined_watermark", "idle", "partials")

    def __init__(self) -> None:
        self.combined_watermark = NO_TIMESTAMP
        self.idle = False
        self.partials: list[PartialWatermark] = []

    def update_combined_watermark(self) -> bool:
        """Recomputes after a participant changed; True when the combined watermark grew (it never shrinks)."""
        if not self.partials:
            return False
        combined, self.idle = self._combine()
        if combined <= self.combined_watermark:
            return False
        self.combined_watermark = combined
        return True

    def has_pending_update(self) -> bool:
        """Whether ``update_combined_watermark`` would change something; changes nothing itself."""
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
    """The same for a fixed number of inputs, known by index. Flink: IndexedCombinedWatermarkStatus."""

    __slots__ = ("_partials", "_combined")

    def __init__(self, input_count: int) -> None:
        self._combined = CombinedWatermarkStatus()
        self._partials = [PartialWatermark() for _ in range(input_count)]
        self._combined.partials.extend(self._partials)

    @property
    def combined_watermark(self) -> int:
        """Milliseconds, ``NO_TIMESTAMP`` before every active input had one."""
        return self._combined.combined_watermark

    @property
    def idle(self) -> bool:
        """Whether every input is idle."""
        return self._combined.idle

    def update_watermark(self, input_index: int, timestamp: int) -> bool:
        """Rule 8.16: True when the combined watermark grew; the input counts as active from now on."""
        self._partials[input_index].set_watermark(timestamp)
        return self._combined.update_combined_watermark()

    def update_status(self, input_index: int, idle: bool) -> bool:
        """Rule 8.16: True when the combined watermark grew because an input stopped (or began) to hold it back."""
        self._partials[input_index].set_idle(idle)
        return self._combined.update_combined_watermark()
