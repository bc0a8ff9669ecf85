"""Delay-bounded search: the default schedule with few other choices, all of them (Emmi, Qadeer, Rakamaric, POPL 2011)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

from flowsim.errors import InvariantViolation
from flowsim.sim.choice_token import ChoiceToken, Recorded, Replayed
from flowsim.sim.exploring_loop import Option, Space
from flowsim.sim.rng import RandomStreams

Deviations = tuple[tuple[int, int], ...]
"""Numbers of choices and of their options, which are not the default."""


class DeviatingRun(Replayed):
    """Makes some choices in another way than the default."""

    def __init__(self, space: Space, deviating: Deviations) -> None:
        super().__init__(ChoiceToken("", deviating, space))
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
        self._random = RandomStreams(seed).stream(self.name)
        self._most = most
        self._next: deque[Iterator[Deviations]] = deque([iter([()])])
        self._planned: Deviations | None = None

    @property
    def is_finished(self) -> bool:
        while self._planned is None and self._next:
            self._planned = next(self._next[0], None)
            if self._planned is None:
                self._next.popleft()
        return self._planned is None

    def next_run(self, choices: int) -> Recorded:
        if self.is_finished or self._planned is None:
            raise InvariantViolation(f"{self.name} has no further run")
        run, self._planned = DeviatingRun(self._space, self._planned), None
        return run

    def ended(self, run: Recorded, is_new: bool) -> None:
        if isinstance(run, DeviatingRun) and len(run.deviations) < self._most:
            self._next.append(self._extensions(tuple(run.deviations), run.counts))

    def _extensions(self, deviating: Deviations, counts: Sequence[int]) -> Iterator[Deviations]:
        first = deviating[-1][0] + 1 if deviating else 0
        more = [(number, option) for number in range(first, len(counts)) for option in range(1, counts[number])]
        self._random.shuffle(more)
        for choice in more:
            yield (*deviating, choice)
