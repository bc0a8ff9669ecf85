"""Chooses each option with the same probability."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.sim.exploring_loop import Option
from flowsim.sim.sampled.sampled_run import SampledRun


class UniformRun(SampledRun):
    """Each option of a choice is equally probable, and each schedule has a positive probability."""

    def pick(self, options: Sequence[Option]) -> int:
        return self.uniform(options)
