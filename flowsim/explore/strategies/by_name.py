"""The strategies of ``flowsim explore``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from flowsim.errors import BadInput
from flowsim.explore.strategies.delay import DelayBounded
from flowsim.explore.strategies.guided import Guided
from flowsim.explore.strategies.portfolio import Portfolio
from flowsim.explore.strategies.strategy import Sampling, Strategy
from flowsim.sim.choice_token import COSTS
from flowsim.sim.exploring_loop import Space

_PARTS: Final[Mapping[str, tuple[float, Callable[[Space, int], Strategy]]]] = {
    "pos": (0.2, partial(Sampling, "pos")),
    "pct2": (0.15, partial(Sampling, "pct2")),
    "pct3": (0.1, partial(Sampling, "pct3")),
    "weighted": (0.15, partial(Sampling, "weighted")),
    COSTS: (0.2, partial(Sampling, COSTS)),
    "delay1": (0.1, partial(DelayBounded, most=1)),
    "guided": (0.05, Guided),
    "uniform": (0.05, partial(Sampling, "uniform")),
}
"""The strategies of the portfolio, each with its first share of the runs."""


def _portfolio(space: Space, seed: int) -> Strategy:
    parts = {name: part for name, part in _PARTS.items() if space == "runtime" or name != COSTS}
    return Portfolio(seed, {create(space, seed): share for share, create in parts.values()})


STRATEGIES: Final[Mapping[str, Callable[[Space, int], Strategy]]] = {
    "portfolio": _portfolio,
    **{name: create for name, (_, create) in _PARTS.items()},
    "delay2": partial(DelayBounded, most=2),
}
"""By the name on the command line; created from a space and the first seed."""

DEFAULT_STRATEGIES: Final[Mapping[Space, str]] = {"order": "uniform", "runtime": "portfolio"}
"""The strategy of each space; in the order space, of the runs beside those of the exhaustive search."""


def strategy_of(name: str, space: Space, seed: int) -> Strategy:
    """Returns a strategy. Raises BadInput for an unknown name, or one of the other space."""
    if name not in STRATEGIES:
        raise BadInput(f"there is no strategy {name!r}; there are: {', '.join(STRATEGIES)}")
    if name == COSTS and space == "order":
        raise BadInput(f"strategy {name} is one of the runtime space: in the order space work costs nothing")
    return STRATEGIES[name](space, seed)
