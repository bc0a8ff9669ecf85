"""Draws the costs of work: what depends on how long tasks are busy needs them, such as back-pressure."""

from __future__ import annotations

from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import Space
from flowsim.sim.random_costs import RandomCosts


class Costs:
    """Runs with the seeds from the first one on; each draws costs, and chooses the next of the tasks that are ready."""

    name = "costs"
    is_finished = False

    def __init__(self, space: Space, seed: int) -> None:
        self._seed = seed

    def next_run(self, choices: int) -> Recorded:
        self._seed += 1
        return RandomCosts(self._seed - 1)

    def ended(self, run: Recorded, is_new: bool) -> None:
        """Does nothing."""
