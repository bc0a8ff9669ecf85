"""Probabilistic concurrency testing: random priorities, and few changes of them (Burckhardt et al., ASPLOS 2010)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from flowsim.sim.choice_token import ChoiceToken, Sampled
from flowsim.sim.exploring_loop import TIME, Option, Space
from flowsim.sim.origin import OptionKey
from flowsim.sim.sampled.sampled_run import SampledRun

_TIMES_IN_A_ROW: Final = 5
"""How often time may pass while something else could happen: with timers that repeat, it could pass for ever."""


class PctRun(SampledRun):
    """The step of the origin with the highest priority is next; at each change, that origin gets the lowest one.

    A bug that needs d = ``changes`` + 1 steps in an order is found with a probability of at least 1 / (n k^(d - 1)), for n
    origins and the k choices of the default run.
    """

    def __init__(self, space: Space, sampled: Sampled, expected: ChoiceToken | None = None, *, changes: int) -> None:
        super().__init__(space, sampled, expected)
        self._priorities: dict[OptionKey, float] = {}
        self._changes = frozenset(self.random.sample(range(max(sampled.choices, changes)), changes))
        self._lowest = 0.0
        self._times = 0

    def pick(self, options: Sequence[Option]) -> int:
        for option in options:
            if option.key not in self._priorities:
                self._priorities[option.key] = 1 + self.random.random()
        index = self._first(options)
        is_time = options[index].key == TIME.key
        self._times = self._times + 1 if is_time else 0
        if self.choices in self._changes or self._times > _TIMES_IN_A_ROW:
            self._lowest -= 1
            self._priorities[options[index].key] = self._lowest
            index = self._first(options)
        return index

    def _first(self, options: Sequence[Option]) -> int:
        priorities = [self._priorities[option.key] for option in options]
        return priorities.index(max(priorities))
