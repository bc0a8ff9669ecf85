"""Delay-bounded search: the default schedule with few other choices, all of them (Emmi, Qadeer, Rakamaric, POPL 2011)."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from msgspec.msgpack import decode, encode

from flowsim.errors import InvariantViolation
from flowsim.sim.choice_token import ChoiceToken, Recorded, Replayed
from flowsim.sim.exploring_loop import Option, Space
from flowsim.sim.rng import RandomStreams

Deviations = tuple[tuple[int, int], ...]
"""Numbers of choices and of their options, which are not the default."""

_State = tuple[bool, int, list[tuple[Deviations, list[int]]]]


class DeviatingRun(Replayed):
    """Makes some choices in another way than the default."""

    def __init__(self, space: Space, deviating: Deviations) -> None:
        super().__init__(ChoiceToken("", deviating, space))
        self.expected = None  # it repeats no token
        self.counts: list[int] = []
        """The number of options of each choice."""

    def decide(self, options: Sequence[Option]) -> int:
        if len(options) > 1:
            self.counts.append(len(options))
        return super().decide(options)


class DelayBounded:
    """All schedules with at most ``most`` choices that are not the default, in random order for each number of them."""

    def __init__(self, space: Space, seed: int, most: int) -> None:
        self.name = f"delay{most}"
        self._space: Space = space
        self._seed = seed
        self._most = most
        self._open: deque[tuple[Deviations, Sequence[int]]] = deque()
        """Runs whose extensions are to be tried: their choices, and the number of options of each choice."""
        self._tried = 0
        """How many extensions of the first of them were tried."""
        self._extensions: list[tuple[int, int]] | None = None
        """Those of the first of them."""
        self._has_begun = False

    @property
    def is_finished(self) -> bool:
        while self._has_begun and self._open and self._tried >= len(self._extended()):
            self._open.popleft()
            self._tried, self._extensions = 0, None
        return self._has_begun and not self._open

    def next_run(self, choices: int) -> Recorded:
        if self.is_finished:
            raise InvariantViolation(f"{self.name} has no further run")
        if not self._has_begun:
            self._has_begun = True
            return DeviatingRun(self._space, ())
        choice = self._extended()[self._tried]
        self._tried += 1
        return DeviatingRun(self._space, (*self._open[0][0], choice))

    def ended(self, run: Recorded, is_new: bool) -> None:
        if isinstance(run, DeviatingRun) and len(run.deviations) < self._most:
            self._open.append((tuple(run.deviations), run.counts))

    def _extended(self) -> list[tuple[int, int]]:
        """Returns the further choices of the first open run, in an order that depends on the seed and on the run."""
        if self._extensions is None:
            deviating, counts = self._open[0]
            first = deviating[-1][0] + 1 if deviating else 0
            more = [(number, option) for number in range(first, len(counts)) for option in range(1, counts[number])]
            RandomStreams(self._seed).stream(self.name, *map(str, deviating)).shuffle(more)
            self._extensions = more
        return self._extensions

    def state(self) -> bytes:
        """Returns where the search is, for ``restore``."""
        return encode((self._has_begun, self._tried, list(self._open)))

    def restore(self, state: bytes) -> None:
        """Continues a search of the same seed."""
        self._has_begun, self._tried, found = decode(state, type=_State)
        self._open, self._extensions = deque(found), None
