"""Checks that jobs leave no greenlets behind: a suspended one would never be collected (D3)."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

from greenlet import getcurrent, greenlet


@contextmanager
def no_greenlet_is_left() -> Iterator[None]:
    """Fails if the block leaves a live greenlet. What exists before is frozen, so that the search leaves it out."""
    getcurrent()  # That of the thread itself is counted from its first use on.
    gc.collect()
    gc.freeze()
    yield
    gc.collect()
    assert not [found for found in gc.get_objects() if isinstance(found, greenlet) and found and not found.dead]
