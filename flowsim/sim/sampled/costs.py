"""Runs of strategy ``costs``: the costs of work, the next ready task and the next event of one time are random."""

from __future__ import annotations

from flowsim.sim.choice_token import COSTS, ChoiceToken, Recorded, Sampled, job_id
from flowsim.sim.policy import SchedulingPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams


class CostsPolicy(SeededRandomPolicy):
    """Random costs and choices by the seed of ``source``; the job has the form that it has in the runtime space."""

    __slots__ = ("source",)
    name = COSTS

    def __init__(self, source: RandomCosts) -> None:
        super().__init__(RandomStreams(source.seed))
        self.source = source

    def describe(self) -> dict[str, object]:
        return {**super().describe(), **self.source.describe()}


class RandomCosts(Recorded):
    """A run whose work has random costs. It asks for no choices, so its token is the seed."""

    def __init__(self, seed: int, expected: ChoiceToken | None = None) -> None:
        super().__init__("runtime", expected=expected, sampled=Sampled(COSTS, seed))
        self.seed = seed

    def policy(self) -> SchedulingPolicy:
        return CostsPolicy(self)

    def token_of_choices(self, digest: str) -> ChoiceToken:
        return ChoiceToken(job_id(digest), (), "runtime", self.sampled)
