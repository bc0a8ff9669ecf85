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
from flowsim.laws.two_ends import SIDES, Columns, Sums, Words, second_walk, suspects

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
            self._sums.add(side, columns)

    def end(self, whole: bool) -> Sums:
        return self._sums


_COUNTS: Final = """\
- Not applicable: no row in `channels`. Rows examined: all rows of `sent` and of `received`, but UNALIGNED_BARRIER rows,
  which may overtake, and positions below 0, which are restored in-flight data (law in-flight-restored).
- The rows of a channel in `sent` and in `received` are two sequences, each in the order of `seq`. (If two tasks have rows
  for the same channel, they are put in order by their positions.)
- The violations of a channel are the fewest steps that turn the sent sequence into the received one. A step is one of
  - an element is lost: it was sent and never received;
  - an element is added: it was received again, if an equal one is next to it, or was received and never sent;
  - an element is changed: its `kind`, `timestamp` or `fingerprint` differs;
  - two neighbours are exchanged.
- If the run is not whole, sent elements at the end that are not received yet are no steps.
- Where this takes more than 64 steps, or in channels with more than a thousand elements more than 64 in 4,096 elements,
  the elements there are compared place by place instead.
- If no step is needed, 1 if the positions differ between both sequences, or do not ascend.
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
        second=second_walk(_ends, Words("element at position", "elements at positions", "position", _PAYLOAD, ElementKind)),
        counts=_COUNTS,
    ),
)  # fmt: skip
