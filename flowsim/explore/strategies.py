"""How an exploration varies the schedule from run to run."""

from __future__ import annotations

from typing import Protocol

from flowsim.errors import BadInput
from flowsim.explore.token import Token
from flowsim.sim.policy import FifoPolicy, SchedulingPolicy, ScriptedPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams


class Strategy(Protocol):
    """Gives each seed a policy of its own; equal seeds give equal schedules."""

    @property
    def name(self) -> str:
        """As on the command line and in tokens."""

    @property
    def choices(self) -> tuple[int, ...] | None:
        """Of a scripted schedule, as a token keeps them."""

    def policy(self, seed: int) -> SchedulingPolicy:
        """A fresh policy for one run."""


class RandomSchedules:
    """Who runs next, and how long work takes, drawn evenly from the seed."""

    name = "random"
    choices = None

    def policy(self, seed: int) -> SchedulingPolicy:
        return SeededRandomPolicy(RandomStreams(seed))


class FifoSchedules:
    """First come first served: only what the job itself draws from the seed varies."""

    name = "fifo"
    choices = None

    def policy(self, seed: int) -> SchedulingPolicy:
        return FifoPolicy()


class ScriptedSchedule:
    """The same list of choices for every seed; costs as random schedules scale them."""

    name = "scripted"

    def __init__(self, choices: tuple[int, ...]) -> None:
        self.choices = choices

    def policy(self, seed: int) -> SchedulingPolicy:
        return ScriptedPolicy(self.choices, SeededRandomPolicy(RandomStreams(seed)))


def strategy_of(name: str) -> Strategy:
    """The strategy of a name on the command line; raises BadInput."""
    known: dict[str, Strategy] = {"random": RandomSchedules(), "fifo": FifoSchedules()}
    if name not in known:
        raise BadInput(f"there is no policy {name!r}; there are: {', '.join(known)}")
    return known[name]


def strategy_of_token(token: Token) -> Strategy:
    """The strategy that a token came from; raises BadInput."""
    if token.policy == ScriptedSchedule.name:
        return ScriptedSchedule(token.choices or ())
    return strategy_of(token.policy)
