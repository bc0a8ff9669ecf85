"""The results of ``execute_and_collect``."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import Self


class CloseableIterator:
    """Iterates over collected records; usable in a ``with`` statement. PyFlink: CloseableIterator."""

    def __init__(self, values: Iterable[object]) -> None:
        self._values = iter(values)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> object:
        return next(self._values)

    def next(self) -> object:
        """Returns the next record; raises StopIteration after the last record."""
        return next(self._values)

    def close(self) -> None:
        """Discards the records that were not read."""
        self._values = iter(())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
