"""Whether a job behaves as PyFlink where Java differs: in a program that was written for PyFlink (decision 0021)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from flowsim.values.row import Row

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


def with_key(stream: Any) -> Any:
    """Returns the stream that PyFlink collects: of a keyed ``DataStream`` Rows of key and value."""
    select, _ = stream.key
    if select is None or not is_pyflink_way():
        return stream
    return stream.map(lambda value: Row(f0=select(value), f1=value)).set_parallelism(1)
