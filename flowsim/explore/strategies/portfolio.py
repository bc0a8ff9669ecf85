"""Several strategies beside each other, each with a share of the runs that follows what it finds."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import Final

from flowsim.explore.strategies.strategy import Strategy
from flowsim.sim.choice_token import Recorded
from flowsim.sim.rng import RandomStreams

_PERIOD: Final = 50
"""The runs after which the shares are computed again."""

_LEAST: Final = 0.05


class Portfolio:
    """No strategy finds every bug first: priorities find starvation, partial orders find races of flushes."""

    name = "portfolio"
    is_finished = False

    def __init__(self, seed: int, shares: Mapping[Strategy, float]) -> None:
        self._random = RandomStreams(seed).stream(self.name)
        self._shares = dict(shares)
        self._least = {part: max(_LEAST, share / 2) for part, share in shares.items()}
        self._running: Strategy | None = None
        self._new: dict[Strategy, int] = {}
        self._runs = 0

    def next_run(self, choices: int) -> Recorded:
        parts = [part for part in self._shares if not part.is_finished]
        sums = list(accumulate(self._shares[part] for part in parts))
        drawn = self._random.random() * sums[-1]
        self._running = next(part for part, most in zip(parts, sums, strict=True) if drawn <= most)
        return self._running.next_run(choices)

    def ended(self, run: Recorded, is_new: bool) -> None:
        if self._running is None:
            return
        self._running.ended(run, is_new)
        self._new[self._running] = self._new.get(self._running, 0) + is_new
        self._runs += 1
        if self._runs % _PERIOD == 0:
            self._share_again()

    def _share_again(self) -> None:
        """Moves each share half the way to the part of the new results that the strategy found."""
        total = sum(self._new.values())
        if total:
            for part, share in self._shares.items():
                self._shares[part] = max(self._least[part], (share + self._new.get(part, 0) / total) / 2)
        self._new.clear()
