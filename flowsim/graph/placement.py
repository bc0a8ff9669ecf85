"""The task manager of each subtask. Flink: SlotManager, as far as it decides which channels are local (rule 6.18)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from flowsim.errors import BadInput, did_you_mean

TaskManagers = Literal["each", "one"] | Mapping[str, Sequence[str]]
"""``each``: one task manager per subtask; ``one``: all on one; otherwise the places of each task manager by its name.

A place is the name of an operator (all its subtasks), ``name/INDEX`` or ``name/FIRST-LAST``; indexes count from 0. An
operator is placed with its whole chain. A subtask without a place gets its own task manager.
"""

_NAMES_LISTED: Final = 40
_RANGE = re.compile(r"([0-9]{1,5})(?:-([0-9]{1,5}))?")


class PlacementError(BadInput):
    """An invalid place. ``place`` is its index in the list of ``task_manager``."""

    def __init__(self, task_manager: str, place: int, message: str) -> None:
        super().__init__(f"task manager {task_manager!r}: {message}")
        self.task_manager = task_manager
        self.place = place
        self.reason = message


@dataclass(frozen=True, slots=True)
class Chain:
    """A chain to place: the operator names of one vertex, and the number of subtasks."""

    names: Sequence[str]
    parallelism: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The result of placing subtasks: ``task_manager_of`` by subtask id, and ``names`` by task manager id."""

    task_manager_of: Sequence[int] = ()
    names: Sequence[str] = field(default_factory=tuple)

    def share(self, subtask: int, other: int) -> bool:
        """Returns True if two subtasks are on the same task manager, so that the channels between them are local."""
        return self.task_manager_of[subtask] == self.task_manager_of[other]


def place(wanted: TaskManagers, chains: Sequence[Chain]) -> Placement:
    """Places the subtasks on task managers; subtask ids count over ``chains`` in order. Raises BadInput.

    >>> place({"left": ["source/0-1"]}, [Chain(["source", "map"], 3)]).task_manager_of
    [0, 0, 1]
    """
    subtasks = [(chain, index) for chain in chains for index in range(chain.parallelism)]
    if wanted == "one":
        return Placement([0] * len(subtasks), ["task manager"])
    if wanted == "each":
        return Placement(list(range(len(subtasks))), [_own_name(chain, index) for chain, index in subtasks])
    if not isinstance(wanted, Mapping):
        raise BadInput(
            f"task_managers: expected 'each', 'one' or a mapping of names to lists of subtasks, got {wanted!r}"
        )
    placed = _Places(chains)
    for number, (name, places) in enumerate(wanted.items()):
        if isinstance(places, str) or not isinstance(places, Sequence):
            raise BadInput(f"task_managers: {name}: expected a list of subtasks, got {places!r}")
        for index, text in enumerate(places):
            placed.take(number, name, index, text)
    names, task_manager_of = list(wanted), []
    for subtask, (chain, index) in enumerate(subtasks):
        task_manager = placed.task_manager_of.get(subtask)
        if task_manager is None:
            task_manager = len(names)
            names.append(_own_name(chain, index))
        task_manager_of.append(task_manager)
    return Placement(task_manager_of, names)


def _own_name(chain: Chain, index: int) -> str:
    return f"{' -> '.join(chain.names)} ({index + 1})"


class _Places:
    """Collects the places one by one."""

    def __init__(self, chains: Sequence[Chain]) -> None:
        self.task_manager_of: dict[int, int] = {}
        self._by: dict[int, tuple[str, str]] = {}
        """Each placed subtask with the task manager and the operator that placed it."""
        self._taken: dict[tuple[str, int], str] = {}
        """Each placed (operator, index) with its task manager."""
        self._owners: dict[str, list[tuple[int, Chain]]] = {}
        """Each operator name with (first subtask, chain) of all operators with this name."""
        first = 0
        for chain in chains:
            for name in chain.names:
                self._owners.setdefault(name, []).append((first, chain))
            first += chain.parallelism

    def take(self, number: int, task_manager: str, position: int, text: str) -> None:
        """Assigns the subtasks of one place to a task manager."""
        if not isinstance(text, str):
            raise PlacementError(
                task_manager, position, f"expected an operator, NAME/INDEX or NAME/FIRST-LAST, got {text!r}"
            )
        operator, (first, chain), indexes = self._resolve(task_manager, position, text)
        for index in indexes:
            subtask = first + index
            owner = self._taken.get((operator, index))
            if owner is not None:
                raise PlacementError(task_manager, position, f"{operator}/{index} is already placed on {owner!r}")
            self._taken[operator, index] = task_manager
            if self.task_manager_of.setdefault(subtask, number) != number:
                other, by = self._by[subtask]
                raise PlacementError(
                    task_manager,
                    position,
                    f"{operator}/{index} is chained with {by}/{index}, which runs on {other!r}: "
                    f"the operators of a chain ({' -> '.join(chain.names)}) run in one task",
                )
            self._by.setdefault(subtask, (task_manager, operator))

    def _resolve(self, task_manager: str, position: int, text: str) -> tuple[str, tuple[int, Chain], range]:
        """Returns the operator of a place, its vertex, and the indexes of the subtasks."""
        operator, indexes = text, None
        if text not in self._owners:
            operator, slash, tail = text.rpartition("/")
            match = _RANGE.fullmatch(tail) if slash else None
            if match is None:
                operator = text
            else:
                indexes = range(int(match[1]), int(match[2] or match[1]) + 1)
        owners = self._owners.get(operator, [])
        if not owners:
            raise PlacementError(
                task_manager, position, f"there is no operator {operator!r}; there are: {', '.join(self._owners)}"
            )
        if len(owners) > 1:
            raise PlacementError(
                task_manager, position, f"{len(owners)} operators are called {operator!r}: give them different names"
            )
        parallelism = owners[0][1].parallelism
        if indexes is None:
            indexes = range(parallelism)
        if not indexes or indexes[-1] >= parallelism:
            raise PlacementError(task_manager, position, f"{text}: {operator} has the subtasks 0 to {parallelism - 1}")
        return operator, owners[0], indexes


def unknown_task_manager(name: str, placement: Placement) -> str:
    """Returns the reason why no task manager of this name can be lost; '' if there is one."""
    if name in placement.names:
        return ""
    names, more = placement.names[:_NAMES_LISTED], len(placement.names) - _NAMES_LISTED
    rest = f" and {more} more" if more > 0 else ""
    hint = did_you_mean(name, placement.names, is_listed=True)
    return f"no task manager {name!r:.80}; there are: {', '.join(names)}{rest}{hint}"
