"""Law channel-fifo: the received elements of a channel are the sent ones, position by position."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, reads
from flowsim.laws.slices import Slice
from flowsim.laws.two_ends import SIDES, Columns, Sums, second_walk, suspects

ID: Final = "channel-fifo"
_PAYLOAD: Final = ("kind", "timestamp", "fingerprint")
_COLUMNS: Final = ("channel", "position", *_PAYLOAD)


@reads(sent=_COLUMNS, received=_COLUMNS)
def _ends(facts: Slice) -> Iterator[tuple[int, Columns]]:
    for side, table in enumerate(SIDES):
        rows = facts.of(table)
        if len(rows):
            columns = tuple(rows.column(name) for name in _COLUMNS)
            compared = (columns[2] != ElementKind.UNALIGNED_BARRIER) & (columns[1] >= 0)
            if compared.any():
                yield side, columns if compared.all() else tuple(column[compared] for column in columns)


class Elements(Machine):
    """What one task sent and received."""

    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._found = found[ID]
        self._sums = Sums()

    @reads(_ends)
    def _add_sums(self, facts: Slice) -> None:
        for side, columns in _ends(facts):
            self._found.examined += len(columns[0])
            self._sums.add(side, columns, self._found)

    def end(self, whole: bool) -> Sums:
        return self._sums


_COUNTS: Final = """\
- Not applicable: no row in `channels`. Rows examined: all rows of `sent` and of `received`, but UNALIGNED_BARRIER rows,
  which may overtake, and positions below 0, which are restored in-flight data (law in-flight-restored).
- A row is a violation when its position is below that of the row before with the same task, table and channel.
- A pair (channel, position) is a violation when
  - `sent` has more than one row for it, or `received` has more than one row for it;
  - each table has one row for it, and `kind`, `timestamp` or `fingerprint` differ;
  - `received` has a row for it, and `sent` has none;
  - the run is whole, `sent` has a row for it, and `received` has none.
"""

LAWS: Final = (
    Law(
        ID,
        "A receiver decodes exactly the elements that the sender wrote to the channel: in the same order, "
        "with equal payload, none lost and none duplicated.",
        ("5.11", "6.14", "7.16"),
        Level.ELEMENTS,
        Elements,
        needs_channels,
        join=suspects,
        second=second_walk(_ends, ("position", *_PAYLOAD), ElementKind),
        counts=_COUNTS,
    ),
)  # fmt: skip
