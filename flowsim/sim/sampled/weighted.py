"""Gives each kind of event a weight, and the task that ran last a probability to continue; both differ from run to run."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

from flowsim.sim.choice_token import ChoiceToken, Sampled
from flowsim.sim.exploring_loop import Option, Space
from flowsim.sim.origin import OptionKey
from flowsim.sim.sampled.sampled_run import SampledRun

_WEIGHTS: Final = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
_CONTINUES: Final = (0.0, 0.5, 0.9, 0.97)


class WeightedRun(SampledRun):
    """Draws the weight of a kind when it first occurs."""

    def __init__(self, space: Space, sampled: Sampled, expected: ChoiceToken | None = None) -> None:
        super().__init__(space, sampled, expected)
        self._weights: dict[object, float] = {}
        self._continues = self.random.choice(_CONTINUES)
        self._last: OptionKey | None = None

    def pick(self, options: Sequence[Option]) -> int:
        keys = [option.key for option in options]
        if self._last in keys and self.random.random() < self._continues:
            return keys.index(self._last)
        for key in keys:
            if key[0] not in self._weights:
                self._weights[key[0]] = self.random.choice(_WEIGHTS)
        sums = list(accumulate(self._weights[key[0]] for key in keys))
        drawn = self.random.random() * sums[-1]
        index = next(number for number, most in enumerate(sums) if drawn <= most)
        if keys[index][0] == "turn":
            self._last = keys[index]
        return index
