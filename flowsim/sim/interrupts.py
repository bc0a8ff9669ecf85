"""Ctrl-C, SIGTERM and SIGHUP during a run: the first one stops it, the second one breaks off, later ones change nothing."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

LIKE_CTRL_C: Final = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""The signals that end a command as Ctrl-C does; Windows has no SIGHUP."""


class Interrupts:
    """What the signals do during one run.

    Without ``stop``, the first one raises KeyboardInterrupt. With it, the first one calls ``stop``, which ends the run
    between two callbacks, and the second one raises KeyboardInterrupt. After that, and after ``end``, none has an effect:
    nothing cuts short the closing of files.
    """

    def __init__(self) -> None:
        self.stop: Callable[[], object] | None = None
        self._is_stopping = False
        self._is_ended = False

    def end(self) -> None:
        """Lets further signals have no effect."""
        self._is_ended = True

    def __call__(self, number: int, frame: FrameType | None) -> None:
        if self._is_ended:
            return
        if self.stop is not None and not self._is_stopping:
            self._is_stopping = True
            self.stop()
            return
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
