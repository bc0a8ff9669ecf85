"""Searches for a run that has a certain result: changes the runs that come closest to it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from random import Random
from typing import Final

from flowsim.explore.strategies.guided import FollowingRun
from flowsim.sim.exploring_loop import Space
from flowsim.sim.origin import OptionKey
from flowsim.sim.rng import RandomStreams

_KEPT: Final = 10
_CHANGES: Final = (1, 1, 2, 4)
_LENGTHS: Final = (4, 10, 30, 100)
_SHARE_OF_CHANGES: Final = 0.2
"""How often single choices are changed; otherwise one kind of event comes earlier, or later."""


class _EarlierOrLater(FollowingRun):
    """Takes one of the steps of an earlier run whenever it can, or whenever it can avoids it, in a part of the run."""

    def __init__(self, space: Space, random: Random, followed: Sequence[OptionKey], first: int) -> None:
        super().__init__(space, random, followed)
        self._where = range(first, first + random.choice(_LENGTHS))
        self._step = random.choice(followed)
        self._is_earlier = random.random() < 0.5

    def _pick(self, keys: list[OptionKey]) -> int:
        if self.choices not in self._where or self._step not in keys:
            return super()._pick(keys)
        step = keys.index(self._step)
        if self._is_earlier:
            return step
        index = super()._pick(keys)
        return index if index != step else (step + 1 + int(self._random.random() * (len(keys) - 1))) % len(keys)


class Towards:
    """Decides runs, one after the other, that come closer and closer to a result. Equal seeds give equal runs.

    The first one follows no other; further ones change one of the ten closest, most often one of the closest of them.
    """

    def __init__(self, space: Space, seed: int) -> None:
        self._space: Space = space
        self._random = RandomStreams(seed).stream("towards")
        self._closest: list[tuple[int, list[OptionKey]]] = []
        """Runs with how close they came, the closest last; of equal ones the newest."""

    def next_run(self) -> FollowingRun:
        random, kept = self._random, len(self._closest)
        followed = self._closest[max(random.randrange(kept), random.randrange(kept))][1] if kept else []
        if not followed:
            return FollowingRun(self._space, random, ())
        first = random.randrange(len(followed))
        if random.random() >= _SHARE_OF_CHANGES:
            return _EarlierOrLater(self._space, random, followed, first)
        rest = range(first, len(followed))
        changed = random.sample(rest, min(random.choice(_CHANGES), len(rest)))
        return FollowingRun(self._space, random, followed, frozenset(changed))

    def ended(self, run: FollowingRun, closeness: int) -> None:
        """Called after each run, with a number that is larger the closer its result is."""
        self._closest.append((closeness, run.keys))
        self._closest.sort(key=lambda each: each[0])
        del self._closest[:-_KEPT]


def closeness(rows: Sequence[object], wanted: Sequence[object]) -> int:
    """Returns how close a list comes to another: the length of the longest common subsequence, and twice that of the start."""
    lengths = [0] * (len(wanted) + 1)
    for row in rows:
        before = 0
        for number, other in enumerate(wanted, 1):
            longest = before + 1 if row == other else max(lengths[number], lengths[number - 1])
            before, lengths[number] = lengths[number], longest
    equal = takewhile(lambda pair: pair[0] == pair[1], zip(rows, wanted, strict=False))
    return lengths[-1] + 2 * sum(1 for _ in equal)
