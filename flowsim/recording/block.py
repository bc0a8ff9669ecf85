"""The unwritten rows of one table: packed bytes in one growing buffer."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from struct import Struct
from typing import Final

from flowsim.facts.schema import Table
from flowsim.facts.tracer import Append, Stamp

_FIRST_ROWS: Final = 1024
_STAMPS: Final = ("seq", "task", "time_ns")

# Generated for each table's columns, as namedtuple does: with *row, Python would build and unpack a tuple, which costs
# nearly as much as packing the row. Closures over cells, because attribute access would cost a third more. The names
# that ``append`` uses must differ from column names: a test fills a row of every table.
_APPEND_SOURCE: Final = """\
def make_append(pack_into, _size, buffer, end_of_block, on_full):
    offset, limit = 0, len(buffer)

    def append({columns}):
        nonlocal offset
        pack_into(buffer, offset, {columns})
        offset += _size
        if offset == limit:
            grow_or_close()

    def stamped(stamp):
        task, clock = stamp.task, stamp.clock

        def append_stamped({unstamped}):
            nonlocal offset
            seq = stamp.seq
            stamp.seq = seq + 1
            time_ns = clock.now_ns
            pack_into(buffer, offset, {columns})
            offset += _size
            if offset == limit:
                grow_or_close()

        return append_stamped

    def grow_or_close():
        nonlocal limit
        if limit == end_of_block:
            on_full()
        else:
            buffer.extend(bytes(min(limit, end_of_block - limit)))
            limit = len(buffer)

    def take():
        nonlocal offset
        rows = bytes(memoryview(buffer)[:offset])
        offset = 0
        return rows

    return append, take, stamped
"""


_Functions = tuple[Append, Callable[[], bytes], Callable[[Stamp], Append]]


@cache
def _make_append(columns: tuple[str, ...]) -> Callable[..., _Functions]:
    """Returns the maker of a block's functions; compiling it takes longer than recording a small job's rows."""
    scope: dict[str, Callable[..., _Functions]] = {}
    unstamped = (name for name in columns if name not in _STAMPS)
    exec(_APPEND_SOURCE.format(columns=", ".join(columns), unstamped=", ".join(unstamped)), scope)
    return scope["make_append"]


class Block:
    """At most ``rows_max`` packed rows of a fact table.

    ``append`` is the hot path: one ``pack_into`` and one comparison. The buffer doubles up to ``rows_max``; the append
    that fills it then calls ``on_full``, which must ``take`` the rows.
    """

    __slots__ = ("append", "row_size", "stamped", "take")

    append: Append
    stamped: Callable[[Stamp], Append]
    """An append function for one task, which adds ``seq``, ``task`` and ``time_ns`` itself."""
    take: Callable[[], bytes]
    """Returns the packed rows and empties the block."""

    def __init__(self, table: Table, rows_max: int, on_full: Callable[[], None]) -> None:
        # The buffer contains stored rows. Their task_attempt stays 0 here: the writer sets other values.
        layout = Struct("<" + "".join(column.code for column in table.columns))
        self.row_size = row_size = Struct(table.struct_format).size
        buffer = bytearray(min(_FIRST_ROWS, rows_max) * row_size)
        self.append, self.take, self.stamped = _make_append(tuple(table.names))(
            layout.pack_into, row_size, buffer, rows_max * row_size, on_full
        )
