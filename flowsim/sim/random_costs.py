"""Runs of strategy ``costs``: the costs of work, the next ready task and the next event of one time are random."""

from __future__ import annotations

from flowsim.sim.choice_token import ChoiceToken, Recorded, Replayed, job_id
from flowsim.sim.policy import SchedulingPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams


class CostsPolicy(SeededRandomPolicy):
    """Random costs and choices by the seed of ``source``; the job has the form that it has in the runtime space."""

    __slots__ = ("source",)
    name = "costs"

    def __init__(self, source: RandomCosts) -> None:
        super().__init__(RandomStreams(source.seed))
        self.source = source

    def describe(self) -> dict[str, object]:
        described = super().describe()
        expected = self.source.expected
        return described if expected is None else described | {"token": str(expected)}


class RandomCosts(Recorded):
    """A run whose work has random costs. It asks for no choices, so its token is the seed."""

    def __init__(self, seed: int, expected: ChoiceToken | None = None) -> None:
        super().__init__("runtime", expected=expected)
        self.seed = seed

    def policy(self) -> SchedulingPolicy:
        return CostsPolicy(self)

    def token(self, digest: str) -> ChoiceToken:
        return ChoiceToken(job_id(digest), (), "runtime", self.seed)


def replay(token: ChoiceToken) -> Recorded:
    """Returns what repeats the run of a token."""
    return Replayed(token) if token.costs_seed is None else RandomCosts(token.costs_seed, token)
