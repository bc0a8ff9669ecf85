"""Notices that files were saved, replaced, added or removed."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from watchfiles import watch

from flowsim.cli.watching.file_stamps import Stamps, folder_of, stamps_of

_LOOK_EVERY_MS: Final = 500
"""Compared without an event as well: a folder may have been replaced, and some file systems report nothing."""


class SavedFiles:
    """Calls a function in a thread of its own when files differ from their known state.

    Folders are watched, not files: many editors write a new file and rename it to the name of the old one.
    """

    def __init__(self, on_save: Callable[[], object]) -> None:
        self._on_save = on_save
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def follow(self, stamps: Stamps) -> None:
        """From now on compares these files, and no others, with these states."""
        self.end()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._compare, args=(dict(stamps), self._stop), daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stops comparing, within a tenth of a second: the interpreter must not end while the thread waits outside of it."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _compare(self, seen: Stamps, stop: threading.Event) -> None:
        for _ in _events(sorted(set(map(folder_of, seen))), stop):
            found = stamps_of(seen)
            if found != seen and not stop.is_set():
                seen = found
                self._on_save()


def _events(folders: Iterable[str], stop: threading.Event) -> Iterator[object]:
    """Yields when something in the folders may have changed, and at least every half second."""
    there = [folder for folder in folders if os.path.isdir(folder)]
    try:
        if there:
            yield from watch(
                *there,
                watch_filter=None,
                rust_timeout=_LOOK_EVERY_MS,
                yield_on_timeout=True,
                stop_event=stop,
                raise_interrupt=False,
                recursive=False,
            )
    except (OSError, RuntimeError):
        pass  # such as the limit of watched folders: compares without events
    while not stop.wait(_LOOK_EVERY_MS / 1000):
        yield None
