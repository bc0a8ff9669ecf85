"""The unwritten rows of one fact table as packed bytes."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct

from librt.strings import BytesWriter, write_i16_le

from flowsim.facts.table import Table


class RowBuffer:
    """Stored rows of a fact table, one after the other; the attempt of their task is 0 until the recorder sets it.

    ``append`` adds a row of any table. The facts of every record write their columns to ``out`` themselves, in the order
    of the table, then call ``end_row``: that costs a fifth. When ``rows_max`` rows are complete, ``on_full`` is called,
    which must ``take`` them; without ``on_full`` there is no bound.
    """

    __slots__ = ("out", "_layout", "_has_attempt", "_full_bytes", "_on_full")

    out: BytesWriter

    def __init__(self, table: Table, rows_max: int = 0, on_full: Callable[[], None] | None = None) -> None:
        self.out = BytesWriter()
        self._layout: Struct = table.layout
        self._has_attempt: bool = table.has_attempt
        self._full_bytes: int = table.layout.size * rows_max
        self._on_full = on_full

    def append(self, *row: int) -> None:
        """Adds a row; takes the values of its columns in the order of the table."""
        self.out.write(self._layout.pack(*row))
        if self._on_full is not None and len(self.out) >= self._full_bytes:
            self._on_full()

    def end_row(self) -> None:
        """Completes a row whose columns were written to ``out``."""
        out = self.out
        if self._has_attempt:
            write_i16_le(out, 0)
        if self._on_full is not None and len(out) >= self._full_bytes:
            self._on_full()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.out) // self._layout.size

    def rows(self) -> list[tuple[int, ...]]:
        """Returns all rows, without the attempt of their task."""
        return list(self._layout.iter_unpack(self.out.getvalue()))

    def take(self) -> bytes:
        """Returns all rows packed, and removes them."""
        packed = self.out.getvalue()
        self.out.truncate(0)
        return packed
