"""The orders in the last field of a record, for the functions of ``flowsim.testing.functions``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Record = tuple[Any, ...]


def orders_of(record: Record) -> Iterator[tuple[str, list[int]]]:
    """Yields the orders of a record: a word, and its numbers. Raises ValueError for ``fail`` and for no number."""
    for order in filter(None, (part.strip() for part in (record[-1] or "").split(";"))):
        word, *numbers = order.split()
        if word == "fail":
            raise ValueError(f"refused {text_of(record)}")
        yield word, [int(number) for number in numbers]


def text_of(record: Record) -> str:
    """Returns the record without its orders."""
    return " ".join(map(str, record[:-1]))
