"""The runs of each strategy that is made of random runs, and the run of a token."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from flowsim.errors import BadInput
from flowsim.sim.choice_token import COSTS, ChoiceToken, Recorded, Replayed, Sampled
from flowsim.sim.exploring_loop import Space
from flowsim.sim.sampled.costs import RandomCosts
from flowsim.sim.sampled.pct import PctRun
from flowsim.sim.sampled.pos import PosRun
from flowsim.sim.sampled.sampled_run import SampledRun
from flowsim.sim.sampled.uniform import UniformRun
from flowsim.sim.sampled.weighted import WeightedRun

_RUNS: Final[Mapping[str, Callable[[Space, Sampled, ChoiceToken | None], SampledRun]]] = {
    "uniform": UniformRun,
    "weighted": WeightedRun,
    "pos": PosRun,
    "pct2": partial(PctRun, changes=1),
    "pct3": partial(PctRun, changes=2),
}

SAMPLED: Final = (*_RUNS, COSTS)
"""The strategies whose runs depend on nothing but their seed, and the length of the default run."""


def sampled_run(space: Space, sampled: Sampled, expected: ChoiceToken | None = None) -> Recorded:
    """Returns a run by its seed. ``expected``: the token that it repeats. Raises BadInput for an unknown strategy."""
    if sampled.strategy == COSTS:
        return RandomCosts(sampled.seed, expected)
    if sampled.strategy not in _RUNS:
        raise BadInput(f"the token has strategy {sampled.strategy!r}; there are: {', '.join(SAMPLED)}")
    return _RUNS[sampled.strategy](space, sampled, expected)


def replay(token: ChoiceToken) -> Recorded:
    """Returns what repeats the run of a token. Raises BadInput for an unknown strategy."""
    return Replayed(token) if token.sampled is None else sampled_run(token.space, token.sampled, token)
