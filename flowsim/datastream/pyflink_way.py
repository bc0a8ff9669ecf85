"""Whether a job behaves as PyFlink where Java differs: in a program that was written for PyFlink (decision 0021)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_PYFLINK_WAY: ContextVar[bool] = ContextVar("pyflink_way", default=False)


def is_pyflink_way() -> bool:
    """Returns True while a program for PyFlink runs."""
    return _PYFLINK_WAY.get()


@contextmanager
def pyflink_way() -> Iterator[None]:
    """Lets jobs that are built meanwhile behave as PyFlink."""
    token = _PYFLINK_WAY.set(True)
    try:
        yield
    finally:
        _PYFLINK_WAY.reset(token)
