"""The strategies by which an exploration changes the schedule from run to run."""

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
        """The name of the strategy on the command line and in tokens."""

    @property
    def choices(self) -> tuple[int, ...] | None:
        """The choices of a scripted schedule, for its token; None for other schedules."""

    def policy(self, seed: int) -> SchedulingPolicy:
        """Creates a new policy for one run."""


class RandomSchedules:
    """Chooses the next actor, the next event of one time, and the cost of work at random, by the seed."""

    name = "random"
    choices = None

    def policy(self, seed: int) -> SchedulingPolicy:
        return SeededRandomPolicy(RandomStreams(seed))


class FifoSchedules:
    """Runs actors first in, first out; only the job's own random choices depend on the seed."""

    name = "fifo"
    choices = None

    def policy(self, seed: int) -> SchedulingPolicy:
        return FifoPolicy()


class ScriptedSchedule:
    """Uses the same list of choices for every seed. Costs are scaled as in random schedules."""

    name = "scripted"

    def __init__(self, choices: tuple[int, ...]) -> None:
        self.choices = choices

    def policy(self, seed: int) -> SchedulingPolicy:
        return ScriptedPolicy(self.choices, SeededRandomPolicy(RandomStreams(seed)))


def strategy_of(name: str) -> Strategy:
    """Returns the strategy of that name on the command line. Raises BadInput."""
    known: dict[str, Strategy] = {"random": RandomSchedules(), "fifo": FifoSchedules()}
    if name not in known:
        raise BadInput(f"there is no policy {name!r}; there are: {', '.join(known)}")
    return known[name]


def strategy_of_token(token: Token) -> Strategy:
    """Returns the strategy of a token. Raises BadInput."""
    if token.policy == ScriptedSchedule.name:
        return ScriptedSchedule(token.choices or ())
    return strategy_of(token.policy)
