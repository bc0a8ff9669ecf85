"""Key groups of a snapshot whose rows are created when they are first read.

Most checkpoints of a run are subsumed before anyone reads them: creating a row for each cell and timer took most of the
time of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from flowsim.state.snapshots.stored_streams import StoredCell

T = TypeVar("T")


class DeferredKeyGroups(Mapping[int, tuple[T, ...]], Generic[T]):
    """The rows of each key group, in ascending order of key groups. ``create`` makes them; it is called once."""

    __slots__ = ("_create", "_groups")

    def __init__(self, create: Callable[[], Iterable[tuple[int, T]]]) -> None:
        """``create`` returns key group and row of copies that nothing changes any more, and refers to no operator."""
        self._create: Callable[[], Iterable[tuple[int, T]]] | None = create
        self._groups: dict[int, tuple[T, ...]] = {}

    def __getitem__(self, key_group: int) -> tuple[T, ...]:
        return self._rows()[key_group]

    def __iter__(self) -> Iterator[int]:
        return iter(self._rows())

    def __len__(self) -> int:
        return len(self._rows())

    def _rows(self) -> dict[int, tuple[T, ...]]:
        if self._create is not None:
            by_group: dict[int, list[T]] = {}
            for group, row in self._create():
                by_group.setdefault(group, []).append(row)
            self._groups = {group: tuple(by_group[group]) for group in sorted(by_group)}
            self._create = None
        return self._groups


@dataclass(frozen=True, slots=True)
class CopiedCells:
    """Copies of what an operator keeps outside its keyed state."""

    states: Sequence[str]
    """The names of the states that have cells."""
    create: Callable[[], Iterable[tuple[int, StoredCell]]]
    """Returns key group and cell of the copies, with plain namespaces."""


NO_CELLS: Final = CopiedCells((), tuple)
