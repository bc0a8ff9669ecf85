"""What decides the runs of an exploration, one after the other."""

from __future__ import annotations

from typing import Protocol

from flowsim.sim.choice_token import Recorded, Sampled
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.by_strategy import sampled_run


class Strategy(Protocol):
    """Decides the choices of each run. Equal seeds give equal runs, if the job is the same."""

    @property
    def name(self) -> str:
        """The name on the command line."""

    @property
    def is_finished(self) -> bool:
        """True if the strategy has no further run."""

    def next_run(self, choices: int) -> Recorded:
        """Returns what decides the next run; ``choices``: how many choices the default run had."""

    def ended(self, run: Recorded, is_new: bool) -> None:
        """Called after each run of this strategy; ``is_new``: no run had this result before."""


class Sampling:
    """A strategy whose runs depend on nothing but the seed of each, from the first one on, and the length of the default run."""

    is_finished = False

    def __init__(self, name: str, space: Space, seed: int) -> None:
        self.name = name
        self._space: Space = space
        self._seed = seed

    def next_run(self, choices: int) -> Recorded:
        self._seed += 1
        return sampled_run(self._space, Sampled(self.name, self._seed - 1, choices))

    def ended(self, run: Recorded, is_new: bool) -> None:
        """Does nothing."""
