"""Ctrl-C, SIGTERM and SIGHUP during a run: the first one stops it, one that comes a second later breaks off."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LIKE_CTRL_C: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command as Ctrl-C does; Windows has no SIGHUP."""


PATIENCE_SECONDS: Final = 1.0
"""The time that a run has for its step after the first signal.

A step of flowsim itself ends sooner. An exception at any of its instructions would leave half a row or half an event
loop, and the recording could not be closed; a step that takes longer is in a function of the user, or waits.
"""


class Interrupts:
    """What the signals do during one run.

    The first one calls the function of ``stop_with``, which ends the run between two callbacks; before that function is
    known, the signal waits for it. One that comes later than PATIENCE_SECONDS raises KeyboardInterrupt. After that, and
    after ``end``, none has an effect: nothing cuts short the opening and closing of files.
    """

    def __init__(self) -> None:
        self._stop: Callable[[], object] | None = None
        self._stopped_s: float | None = None
        self._is_ended = False

    def stop_with(self, stop: Callable[[], object]) -> None:
        """Lets ``stop`` end the run; calls it if a signal came before."""
        self._stop = stop
        if self._stopped_s is not None:
            stop()

    def end(self) -> None:
        """Lets further signals have no effect."""
        self._is_ended = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._is_ended:
            return
        if self._stopped_s is None:
            self._stopped_s = time.monotonic()
            if self._stop is not None:
                self._stop()
        elif time.monotonic() >= self._stopped_s + PATIENCE_SECONDS:
            self._is_ended = True
            raise KeyboardInterrupt


_current: Interrupts | None = None


@contextmanager
def interrupts_of_run() -> Iterator[Interrupts]:
    """Handles the signals that would raise KeyboardInterrupt, in the main thread; inside of another call the same object."""
    global _current
    if _current is not None:
        yield _current
        return
    interrupts = Interrupts()
    replaced = []
    if threading.current_thread() is threading.main_thread():
        replaced = [n for n in (signal.SIGINT, *LIKE_CTRL_C) if signal.getsignal(n) is signal.default_int_handler]
    for number in replaced:
        signal.signal(number, interrupts)
    _current = interrupts if replaced else None
    try:
        yield interrupts
    finally:
        _current = None
        for number in replaced:
            signal.signal(number, signal.default_int_handler)
