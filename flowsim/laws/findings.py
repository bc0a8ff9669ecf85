"""What a machine found: counts of one law, and its first violations as evidence."""

from __future__ import annotations

import json
from collections.abc import Mapping
from enum import Enum, IntEnum
from typing import Final

EVIDENCE_ROWS: Final = 20
_KEPT: Final = 10 * EVIDENCE_ROWS

At = tuple[int, ...]
"""The position of a violation: (task, seq), (channel, position), ...; evidence has the lowest ones."""


class Findings:
    """Counts examined rows and violations of one law, and stores the first violations as evidence.

    Findings of shards are added, and evidence depends only on positions: the order in which tasks, epochs or shards are
    examined has no effect.
    """

    __slots__ = ("examined", "violations", "_evidence", "_last")

    def __init__(self) -> None:
        self.examined = 0
        self.violations = 0
        self._evidence: list[tuple[At, dict[str, object]]] = []
        self._last: At | None = None
        """Position of the last row that can still be evidence, once there are enough before it."""

    def broken(self, what: str, at: At, **where: object) -> None:
        """Counts one violation: ``what`` is wrong, and ``where`` gives the values by column name."""
        self.violations += 1
        if self._last is not None and at > self._last:
            return
        self._evidence.append((at, {"what": what, **{name: _plain(value) for name, value in where.items()}}))
        if len(self._evidence) >= _KEPT:
            self._keep_the_first()

    def add(self, other: Findings) -> None:
        """Adds the findings of another shard."""
        self.examined += other.examined
        self.violations += other.violations
        self._evidence += other._evidence
        self._keep_the_first()

    def _keep_the_first(self) -> None:
        self._evidence.sort(key=lambda evidence: (evidence[0], json.dumps(evidence[1])))
        del self._evidence[EVIDENCE_ROWS:]
        if len(self._evidence) == EVIDENCE_ROWS:
            self._last = self._evidence[-1][0]

    @property
    def evidence(self) -> tuple[dict[str, object], ...]:
        """The first violations, by position."""
        self._keep_the_first()
        return tuple(row for _, row in self._evidence)


def named(names: type[IntEnum], number: int) -> str | int:
    """The name of a recorded number, for evidence; the number itself if it has none."""
    return names(number).name.lower() if number in names._value2member_map_ else number


def compared(found: int, expected: int, text: str) -> str:
    """A violation of unequal numbers in words; '' without a text.

    >>> compared(3, 4, "records were dropped than were late")
    'fewer records were dropped than were late'
    """
    return text and f"{'fewer' if found < expected else 'more'} {text}"


def _plain(value: object) -> object:
    if isinstance(value, Enum):
        return value.name.lower()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


class FoundByLaw(dict[str, Findings]):
    """The findings of each law, by its id; those of a law that is not examined are discarded."""

    def __missing__(self, law: str) -> Findings:
        return Findings()
