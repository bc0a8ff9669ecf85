"""The goals of puzzles: what a finished run must show."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import msgspec

from flowsim.errors import BadInput
from flowsim.explore.outcome import Outcome


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run that has ended: its outcome, and the laws that it violates."""

    outcome: Outcome
    violated: Collection[str]

    def rows_of(self, sink: str) -> list[object]:
        """Returns the rows of all subtasks of a sink, each as a list. Raises BadInput for a sink that there is not."""
        rows = self.outcome.rows
        if sink not in rows:
            raise BadInput(f"goal: there is no sink {sink!r}, there are: {', '.join(rows)}")
        return [as_list(row) for part in rows[sink] for row in part]


class Holds(msgspec.Struct, frozen=True, tag="holds", tag_field="kind", forbid_unknown_fields=True):
    """A sink holds exactly these rows, in this order."""

    sink: str
    rows: list[list[Any]]

    def is_reached(self, run: EndedRun) -> bool:
        """Returns True if a run that has ended is what the goal asks for."""
        return run.rows_of(self.sink) == self.rows


class Contains(msgspec.Struct, frozen=True, tag="contains", tag_field="kind", forbid_unknown_fields=True):
    """A sink holds this row, at any place."""

    sink: str
    row: list[Any]

    def is_reached(self, run: EndedRun) -> bool:
        return self.row in run.rows_of(self.sink)


class Lacks(msgspec.Struct, frozen=True, tag="lacks", tag_field="kind", forbid_unknown_fields=True):
    """The job finishes, and a sink does not hold this row."""

    sink: str
    row: list[Any]

    def is_reached(self, run: EndedRun) -> bool:
        return run.outcome.status.value == "finished" and self.row not in run.rows_of(self.sink)


class Violates(msgspec.Struct, frozen=True, tag="violates", tag_field="kind", forbid_unknown_fields=True):
    """The run violates a law."""

    law: str

    def is_reached(self, run: EndedRun) -> bool:
        return self.law in run.violated


class Ends(msgspec.Struct, frozen=True, tag="ends", tag_field="kind", forbid_unknown_fields=True):
    """The job ends with a status: ``finished``, ``failed`` or ``deadlocked``."""

    status: str

    def is_reached(self, run: EndedRun) -> bool:
        return run.outcome.status.value == self.status


Goal = Holds | Contains | Lacks | Violates | Ends
"""What a puzzle asks for."""


def as_list(row: object) -> list[object]:
    """Returns a row as goals write it: a list for a record with several fields."""
    return list(row) if isinstance(row, list | tuple) else [row]
