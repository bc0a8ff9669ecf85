"""Chooses each option with the same probability."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from flowsim.explore.strategies.strategy import SampledRun
from flowsim.sim.exploring_loop import Option, Space


class UniformRun(SampledRun):
    """Each option of a choice is equally probable, and each schedule has a positive probability."""

    def __init__(self, space: Space, random: Random, choices: int) -> None:
        super().__init__(space, random, choices)

    def pick(self, options: Sequence[Option]) -> int:
        return self.uniform(options)
