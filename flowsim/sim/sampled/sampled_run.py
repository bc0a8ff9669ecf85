"""A run whose choices are random, by a seed."""

from __future__ import annotations

from collections.abc import Sequence

from flowsim.sim.choice_token import ChoiceToken, Recorded, Sampled
from flowsim.sim.exploring_loop import ANY_FAILURE, Option, Space
from flowsim.sim.rng import RandomStreams


class SampledRun(Recorded):
    """Decides the choices of one run by the seed. What a step draws is uniformly random, as in Flink."""

    def __init__(self, space: Space, sampled: Sampled, expected: ChoiceToken | None = None) -> None:
        super().__init__(space, expected=expected, sampled=sampled)
        self.random = RandomStreams(sampled.seed).stream(sampled.strategy)
        self._length = max(sampled.choices, 1)
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
