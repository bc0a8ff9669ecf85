"""Chooses what runs next: the only choices in a run on the virtual clock (architecture decision D4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import ClassVar, Protocol

from mypy_extensions import mypyc_attr

from flowsim.errors import BadInput
from flowsim.sim.origin import OptionKey
from flowsim.sim.rng import RandomStreams

ChoiceRecorder = Callable[[int, int, int, OptionKey], None]
"""Called as ``(step, index, options, key)`` for every choice between two or more ready actors, or events; ``key``: of the
chosen option.

``step`` counts these choices from 0. If there is only one, the policy is not called and nothing is recorded.
"""


class SchedulingPolicy(Protocol):
    """Chooses among ready actors and among events, and scales the cost of the actors' work."""

    @property
    def name(self) -> str:
        """The name of the policy on the command line."""

    @property
    def chooses_events(self) -> bool:
        """True if the policy chooses the order of events of one time that Flink leaves open; else order of creation."""

    def choose(self, ready: Sequence[int]) -> int:
        """Returns the index of the actor to run, among two or more actors in the order in which they became ready."""

    def choose_event(self, options: int) -> int:
        """Returns the index of the due event that runs next, among two or more in order of creation.

        Only the first event of each origin (``Scheduler.call_at_ns``) is among them. If an actor is ready, the last option
        is its turn. Called only if the policy chooses events.
        """

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        """Returns the scaled cost of a batch of ``actor``, whose nominal cost is ``cost_ns``."""

    def describe(self) -> dict[str, object]:
        """Returns the parameters of this policy without the seed, as plain values for a manifest."""


@mypyc_attr(allow_interpreted_subclasses=True)
class FifoPolicy:
    """The first actor that became ready runs first, at the nominal cost; events of one time in order of creation."""

    __slots__ = ()
    name: ClassVar[str] = "fifo"
    chooses_events: ClassVar[bool] = False

    def choose(self, ready: Sequence[int]) -> int:
        return 0

    def choose_event(self, options: int) -> int:
        return 0

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        return cost_ns

    def describe(self) -> dict[str, object]:
        return {"policy": self.name}


@mypyc_attr(allow_interpreted_subclasses=True)
class SeededRandomPolicy:
    """Chooses uniformly at random, also among events, and scales each batch's cost by a uniform random factor.

    Without the factor a policy could only break ties within one nanosecond. Each actor has its own random stream for
    factors, so they do not depend on the order in which actors run.
    """

    __slots__ = ("_choices", "_cost_factor", "_costs", "_streams")
    name: ClassVar[str] = "random"
    chooses_events: ClassVar[bool] = True

    def __init__(self, streams: RandomStreams, cost_factor: tuple[float, float] = (0.0, 2.0)) -> None:
        low, high = cost_factor
        if not 0 <= low <= high < float("inf"):
            raise BadInput(f"cost_factor: expected two finite numbers 0 <= low <= high, got {low}, {high}")
        self._streams = streams
        self._choices = streams.stream("choice")
        self._cost_factor = (low, high)
        self._costs: dict[int, Random] = {}

    def choose(self, ready: Sequence[int]) -> int:
        return int(self._choices.random() * len(ready))

    def choose_event(self, options: int) -> int:
        return int(self._choices.random() * options)

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        stream = self._costs.get(actor)
        if stream is None:
            stream = self._costs[actor] = self._streams.stream("cost", actor)
        low, high = self._cost_factor
        return int(cost_ns * (low + (high - low) * stream.random()))

    def describe(self) -> dict[str, object]:
        return {"policy": self.name, "cost_factor": list(self._cost_factor)}


class ScriptedPolicy:
    """Repeats a list of recorded choices, then continues first in, first out.

    ``costs`` scales the costs: it is the policy of the recorded run with the same seed. It also decides whether the
    choices contain those of events.
    """

    __slots__ = ("_choices", "_costs", "_next")
    name: ClassVar[str] = "scripted"

    def __init__(self, choices: Sequence[int], costs: SchedulingPolicy | None = None) -> None:
        self._choices = tuple(choices)
        self._costs: SchedulingPolicy = FifoPolicy() if costs is None else costs
        self._next = 0

    @property
    def chooses_events(self) -> bool:
        return self._costs.chooses_events

    def choose(self, ready: Sequence[int]) -> int:
        return self._recorded(len(ready), "ready actors")

    def choose_event(self, options: int) -> int:
        return self._recorded(options, "due events")

    def _recorded(self, count: int, what: str) -> int:
        if self._next >= len(self._choices):
            return 0
        step, index = self._next, self._choices[self._next]
        if not 0 <= index < count:
            raise BadInput(
                f"choice {step}: expected an index below {count}, the number of {what}, got {index}: "
                "these choices were recorded from another scenario, seed or version"
            )
        self._next += 1
        return index

    def scale_cost_ns(self, actor: int, cost_ns: int) -> int:
        return self._costs.scale_cost_ns(actor, cost_ns)

    def describe(self) -> dict[str, object]:
        return {"policy": self.name, "choices": list(self._choices), "costs": self._costs.describe()}


def policy_of(policy: str | SchedulingPolicy, streams: RandomStreams) -> SchedulingPolicy:
    """Returns a policy, or the one with this name. Raises BadInput."""
    if policy == "fifo":
        return FifoPolicy()
    if policy == "random":
        return SeededRandomPolicy(streams)
    if isinstance(policy, str):
        raise BadInput(f"unknown policy '{policy}'; there are: fifo, random")
    return policy
