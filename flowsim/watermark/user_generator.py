"""A generator that a user wrote: what it does is checked, and watched for whether it may do more."""

from __future__ import annotations

from typing import Protocol

from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator, WatermarkOutput, checked_watermark


class AnyGenerator(Protocol):
    """What a user's generator must offer. Flink: WatermarkGenerator."""

    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput, /) -> None: ...

    def on_periodic_emit(self, output: WatermarkOutput, /) -> None: ...


class WatchedGenerator(WatermarkGenerator):
    """Runs such a generator. It may have something to say while the last periodic call said something, or records came since.

    One that says nothing new when it is asked is taken to be done until the next record: nothing else tells when a run
    in which all wait is over (D4).
    """

    __slots__ = ("_inner", "_checked", "_is_quiet")

    def __init__(self, inner: AnyGenerator) -> None:
        self._inner = inner
        self._checked = _CheckedOutput(type(inner).__name__)
        self._is_quiet = True

    def on_event(self, value: object, timestamp: int, output: WatermarkOutput) -> None:
        self._is_quiet = False
        self._checked.output = output
        self._inner.on_event(value, timestamp, self._checked)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        checked = self._checked
        checked.output = output
        checked.says_news = False
        self._inner.on_periodic_emit(checked)
        self._is_quiet = not checked.says_news

    def has_pending_effect(self, emitted: int) -> bool:
        return not self._is_quiet


class _CheckedOutput:
    """Refuses watermarks that are none, and knows whether what was said was new."""

    __slots__ = ("output", "says_news", "_highest", "_idle", "_what")

    output: WatermarkOutput

    def __init__(self, name: str) -> None:
        self.says_news = False
        self._highest = NO_TIMESTAMP
        self._idle = False
        self._what = f"watermark generator {name}"

    def emit_watermark(self, timestamp: int) -> None:
        if checked_watermark(timestamp, self._what) > self._highest:
            self._highest = timestamp
            self.says_news = True
        self.output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self.says_news |= not self._idle
        self._idle = True
        self.output.mark_idle()

    def mark_active(self) -> None:
        self.says_news |= self._idle
        self._idle = False
        self.output.mark_active()


def watched(generator: AnyGenerator) -> WatermarkGenerator:
    """The generator itself when it is one of ours, which says by itself whether it is done."""
    if isinstance(generator, WatermarkGenerator):
        return generator
    for method in ("on_event", "on_periodic_emit"):
        if not callable(getattr(generator, method, None)):
            raise TypeError(f"for_generator: expected a WatermarkGenerator, got {generator!r} without {method}")
    return WatchedGenerator(generator)
