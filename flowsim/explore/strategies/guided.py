"""Changes runs that reached something new: coverage-guided search, as fuzzers do it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from random import Random
from typing import Final

from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Option, Space
from flowsim.sim.origin import OptionKey
from flowsim.sim.rng import RandomStreams

Edge = tuple[int, OptionKey | None, OptionKey]
"""An actor, and two steps that had an effect on it one after the other."""

_MOST_KEPT: Final = 200
_LOOK_AHEAD: Final = 20
_CHANGES: Final = (1, 1, 2, 4, 8)
_FROM_NOTHING: Final = 0.2
"""The share of runs that follow no other run."""


class FollowingRun(Recorded):
    """Follows the choices of an earlier run as far as they still exist; those with the numbers in ``changed`` are random."""

    def __init__(
        self, space: Space, random: Random, followed: Sequence[OptionKey], changed: Set[int] = frozenset()
    ) -> None:
        super().__init__(space)
        self._random = random
        self._followed = followed
        self._changed = changed
        self._next = 0
        self.keys: list[OptionKey] = []
        """The choices of this run."""

    def decide(self, options: Sequence[Option]) -> int:
        if len(options) == 1:
            return 0
        index = self._pick([option.key for option in options])
        self.keys.append(options[index].key)
        return index

    def _pick(self, keys: list[OptionKey]) -> int:
        if self.choices not in self._changed:
            for ahead, key in enumerate(self._followed[self._next : self._next + _LOOK_AHEAD]):
                if key in keys:
                    self._next += ahead + 1
                    return keys.index(key)
        return int(self._random.random() * len(keys))


class GuidedRun(FollowingRun):
    """Changes some choices of an earlier run, and notes which two steps of a task it had one after the other."""

    def __init__(self, space: Space, random: Random, followed: Sequence[OptionKey]) -> None:
        changes = min(random.choice(_CHANGES), len(followed))
        super().__init__(space, random, followed, frozenset(random.sample(range(len(followed)), changes)))
        self.edges: set[Edge] = set()
        self._last: dict[int, OptionKey] = {}
        self._step: OptionKey | None = None

    def decide(self, options: Sequence[Option]) -> int:
        index = super().decide(options)
        self._step = options[index].key
        return index

    def executed(self, touched: Set[int]) -> None:
        if self._step is not None:
            for actor in touched:
                self.edges.add((actor, self._last.get(actor), self._step))
                self._last[actor] = self._step


class Guided:
    """Keeps the runs that had two steps of a task in an order that no run had before, and changes some choices of them."""

    name = "guided"
    is_finished = False

    def __init__(self, space: Space, seed: int) -> None:
        self._space: Space = space
        self._streams = RandomStreams(seed)
        self._runs = 0
        self._edges: set[Edge] = set()
        self._kept: list[list[OptionKey]] = []

    def next_run(self, choices: int) -> Recorded:
        self._runs += 1
        random = self._streams.stream(self.name, self._runs)
        follows = self._kept and random.random() >= _FROM_NOTHING
        return GuidedRun(self._space, random, random.choice(self._kept) if follows else ())

    def ended(self, run: Recorded, is_new: bool) -> None:
        if isinstance(run, GuidedRun) and not run.edges <= self._edges:
            self._edges |= run.edges
            if len(self._kept) == _MOST_KEPT:
                del self._kept[0]
            self._kept.append(run.keys)
