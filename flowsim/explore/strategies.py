"""How an exploration varies the schedule from run to run."""

from __future__ import annotations

from typing import Protocol

from flowsim.errors import BadInput
from flowsim.explore.token import Token
from flowsim.sim.policy import FifoPolicy, SchedulingPolicy, ScriptedPolicy, SeededRandomPolicy
from flowsim.sim.rng import RandomStreams


class Strategy(Protocol):
    """Returns a policy for each seed; equal seeds give equal schedules."""

    @property
    def name(self) -> str:
        """The name on the command line and in tokens."""

    @property
    def choices(self) -> tuple[int, ...] | None:
        """The choices of a scripted schedule, for its token; None for other schedules."""

    def policy(self, seed: int) -> SchedulingPolicy:
        """A new policy for one run."""


class RandomSchedules:
    """The next actor and the cost of work, uniformly random by the seed."""

    name = "random"
    choices = None

    def policy(self, seed: int) -> SchedulingPolicy:
        return SeededRandomPolicy(RandomStreams(seed))


class FifoSchedules:
    """First in, first out: only the job's own random choices depend on the seed."""

    name = "fifo"
    choices = None

    def policy(self, seed: int) -> SchedulingPolicy:
        return FifoPolicy()


class ScriptedSchedule:
    """The same list of choices for every seed; costs are scaled as in random schedules."""

    name = "scripted"

    def __init__(self, choices: tuple[int, ...]) -> None:
        self.choices = choices

    def policy(self, seed: int) -> SchedulingPolicy:
        return ScriptedPolicy(self.choices, SeededRandomPolicy(RandomStreams(seed)))


def strategy_of(name: str) -> Strategy:
    """The strategy of a command line name; raises BadInput."""
    known: dict[str, Strategy] = {"random": RandomSchedules(), "fifo": FifoSchedules()}
    if name not in known:
        raise BadInput(f"there is no policy {name!r}; there are: {', '.join(known)}")
    return known[name]


def strategy_of_token(token: Token) -> Strategy:
    """The strategy of a token; raises BadInput."""
    if token.policy == ScriptedSchedule.name:
        return ScriptedSchedule(token.choices or ())
    return strategy_of(token.policy)
