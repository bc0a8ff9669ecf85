"""What decides the runs of an exploration, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Protocol

from flowsim.sim.choice_token import Recorded
from flowsim.sim.exploring_loop import ANY_FAILURE, Option, Space
from flowsim.sim.rng import RandomStreams


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


class SampledRun(Recorded):
    """Decides the choices of one run. What a step draws is uniformly random, as in Flink."""

    def __init__(self, space: Space, random: Random, choices: int) -> None:
        super().__init__(space)
        self.random = random
        self._length = max(choices, 1)
        self._fails_at: int | None = None
        """The number of the choice at which the next task fails, anywhere in a run of this length."""

    def decide(self, options: Sequence[Option]) -> int:
        if options[0].is_drawn:
            return self.uniform(options)
        if options[-1].key != ANY_FAILURE:
            return self.decide_step(options)
        if self._fails_at is None:
            self._fails_at = self.choices + int(self.random.random() * self._length)
        if self.choices >= self._fails_at:
            self._fails_at = None
            return len(options) - 1
        return self.decide_step(options[:-1])

    def uniform(self, options: Sequence[Option]) -> int:
        """Returns the index of any option, each with the same probability."""
        return int(self.random.random() * len(options))

    def decide_step(self, options: Sequence[Option]) -> int:
        """Returns the index of the next step, which is no choice if there is one option."""
        return self.pick(options) if len(options) > 1 else 0

    def pick(self, options: Sequence[Option]) -> int:
        """Returns the index of one of several steps."""
        raise NotImplementedError


class Sampling:
    """A strategy whose runs depend on nothing but the seed of each, from the first one on, and the length of the default run."""

    is_finished = False

    def __init__(self, name: str, create: Callable[[Space, Random, int], Recorded], space: Space, seed: int) -> None:
        self.name = name
        self._create = create
        self._space: Space = space
        self._seed = seed

    def next_run(self, choices: int) -> Recorded:
        self._seed += 1
        return self._create(self._space, RandomStreams(self._seed - 1).stream(self.name), choices)

    def ended(self, run: Recorded, is_new: bool) -> None:
        """Does nothing."""
