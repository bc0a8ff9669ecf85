"""Hypothesis strategy for whole scenarios. Examples shrink to one source with a record, one operator and one sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from flowsim.errors import BadInput, MissingExtra
from flowsim.testing.drawing.choices import Choices
from flowsim.testing.drawing.draft import Family
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.families import FAMILIES, draw_scenario

try:
    from hypothesis import strategies as st
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.scenario_strategies") from missing

T = TypeVar("T")
_integers = cache(st.integers)
"""Strategies are checked again whenever they are constructed."""


class _HypothesisChoices(Choices):
    """Lets Hypothesis choose, so that examples shrink."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, least: int, most: int) -> int:
        return self._draw(_integers(least, most))

    def some(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        return self._draw(st.lists(st.builds(make), min_size=least, max_size=most))


@st.composite
def scenarios(
    draw: st.DrawFn,
    families: Sequence[Family] = FAMILIES,
    *,
    determined: bool = False,
) -> DrawnScenario:
    """Draws scenarios of the given families. A counterexample prints as YAML that ``flowsim run`` takes.

    The families are ``plain``, ``event_time``, ``async``, ``checkpoints`` (aligned, with failures) and ``unaligned``.
    ``determined``: each entry of a script has an instant of its own and nothing costs time, so that Flink's rules
    determine the order of what operators see, as in a comparison with the real Flink; otherwise tasks compete, and small
    buffers fill. Raises BadInput.

    ``numbered_scenario`` returns such scenarios by a number and a seed, without Hypothesis.
    """
    if not families or any(family not in FAMILIES for family in families):
        raise BadInput(f"scenarios: expected families of {', '.join(FAMILIES)}, got {families!r:.100}")
    family = draw(st.sampled_from(families))
    return draw_scenario(_HypothesisChoices(draw), family, determined=determined)
