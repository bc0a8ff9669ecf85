"""User-defined generators: checks their watermarks and detects whether more may follow."""

from __future__ import annotations

from typing import Protocol

from flowsim.units import NO_TIMESTAMP
from flowsim.watermark.generators import WatermarkGenerator, checked_watermark
from flowsim.watermark.watermark_output import WatermarkOutput


class AnyGenerator(Protocol):
    """The interface of a user-defined generator.

    A Protocol, because the user's class need not inherit from one of flowsim. Flink: WatermarkGenerator.
    """

    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput, /) -> None: ...

    def on_periodic_emit(self, output: WatermarkOutput, /) -> None: ...


class WatchedGenerator(WatermarkGenerator):
    """Runs a user-defined generator.

    More may follow if its last periodic call emitted a watermark, or records arrived later. After a periodic call
    without a new watermark, no watermark follows until the next record. There is no other way to detect the end of a
    run in which all tasks wait (D4).
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
        checked.emitted_new = False
        self._inner.on_periodic_emit(checked)
        self._is_quiet = not checked.emitted_new

    def has_pending_effect(self, emitted: int) -> bool:
        return not self._is_quiet


class _CheckedOutput:
    """Raises an error for an invalid watermark, and detects whether a watermark was new."""

    __slots__ = ("output", "emitted_new", "_highest", "_idle", "_what")

    output: WatermarkOutput

    def __init__(self, name: str) -> None:
        self.emitted_new = False
        self._highest = NO_TIMESTAMP
        self._idle = False
        self._what = f"watermark generator {name}"

    def emit_watermark(self, timestamp: int) -> None:
        if checked_watermark(timestamp, self._what) > self._highest:
            self._highest = timestamp
            self.emitted_new = True
        self.output.emit_watermark(timestamp)

    def mark_idle(self) -> None:
        self.emitted_new |= not self._idle
        self._idle = True
        self.output.mark_idle()

    def mark_active(self) -> None:
        self.emitted_new |= self._idle
        self._idle = False
        self.output.mark_active()


def watched(generator: AnyGenerator) -> WatermarkGenerator:
    """Wraps a user-defined generator; returns a built-in generator itself, which reports whether more may follow."""
    if isinstance(generator, WatermarkGenerator):
        return generator
    for method in ("on_event", "on_periodic_emit"):
        if not callable(getattr(generator, method, None)):
            raise TypeError(f"for_generator: expected a WatermarkGenerator, got {generator!r} without {method}")
    return WatchedGenerator(generator)
