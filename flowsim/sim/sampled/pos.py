"""Partial order sampling: the step with the highest random priority is next (Yuan, Yang and Gu, CAV 2018)."""

from __future__ import annotations

from collections.abc import Sequence, Set

from flowsim.sim.choice_token import ChoiceToken, Sampled
from flowsim.sim.exploring_loop import ANY_ACTOR, Option, Space
from flowsim.sim.origin import OptionKey
from flowsim.sim.sampled.sampled_run import SampledRun


class PosRun(SampledRun):
    """Draws a priority for each pending step, and again for those that race with the step that was executed."""

    def __init__(self, space: Space, sampled: Sampled, expected: ChoiceToken | None = None) -> None:
        super().__init__(space, sampled, expected)
        self._priorities: dict[OptionKey, float] = {}
        self._chosen: OptionKey | None = None

    def decide_step(self, options: Sequence[Option]) -> int:
        for option in options:
            if option.key not in self._priorities:
                self._priorities[option.key] = self.random.random()
        drawn = [self._priorities[option.key] for option in options]
        index = drawn.index(max(drawn))
        self._chosen = options[index].key
        return index

    def executed(self, touched: Set[int]) -> None:
        if self._chosen is None:
            return
        self._priorities.pop(self._chosen, None)
        for key in self._priorities:
            if ANY_ACTOR in touched or key[1] in touched or key[1] == ANY_ACTOR:
                self._priorities[key] = self.random.random()
