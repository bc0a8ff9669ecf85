"""Hypothesis strategies for whole scenarios. Examples shrink to one source with a record, one operator and one sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TypeVar

from flowsim.errors import BadInput, MissingExtra
from flowsim.testing.drawing.choices import Choices
from flowsim.testing.drawing.draft import Family, Sizes
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.families import FAMILIES, draw_scenario, families_having
from flowsim.testing.drawing.features import has_all
from flowsim.testing.drawing.windows import add_window

try:
    from hypothesis import assume
    from hypothesis import strategies as st
except ModuleNotFoundError as missing:
    raise MissingExtra("testing", "flowsim.testing.scenario_strategies") from missing

T = TypeVar("T")
_MOST_DRAWS = 8
"""Of an example that must have features."""
_integers = cache(st.integers)
"""Strategies are checked again whenever they are constructed."""


class _HypothesisChoices(Choices):
    """Lets Hypothesis choose, so that examples shrink."""

    def __init__(self, draw: st.DrawFn) -> None:
        self._draw = draw

    def integer(self, least: int, most: int) -> int:
        return self._draw(_integers(least, most))

    def some(self, make: Callable[[], T], least: int, most: int) -> list[T]:
        # Lists without a drawn length would be short: 6 of 36 entries on average.
        length = self.integer(least, most)
        return self._draw(st.lists(st.builds(make), min_size=length, max_size=length))


@st.composite
def scenarios(
    draw: st.DrawFn,
    families: Sequence[Family] = FAMILIES,
    *,
    determined: bool = False,
    failing: bool = False,
    having: Sequence[str] = (),
) -> DrawnScenario:
    """Draws scenarios of the given families. A counterexample prints as YAML that ``flowsim run`` takes.

    The families are ``plain``, ``event_time``, ``async``, ``checkpoints`` (aligned, with failures) and ``unaligned``.
    ``determined``: each entry of a script has an instant of its own and nothing costs time, so that Flink's rules
    determine the order of what operators see, as in a comparison with the real Flink; otherwise tasks compete, and small
    buffers fill. ``failing``: a record or a timeout of a call may fail the job, in the families without checkpoints.
    ``having``: the features (``FEATURES``) that every scenario has, such as ``["window joins", "few buffers"]``. Raises
    BadInput.

    ``numbered_scenario`` returns such scenarios by a number and a seed, without Hypothesis.
    """
    if not families or any(family not in FAMILIES for family in families):
        raise BadInput(f"scenarios: expected families of {', '.join(FAMILIES)}, got {families!r:.100}")
    family = draw(st.sampled_from(families_having(families, having, determined=determined)))
    choices = _HypothesisChoices(draw)
    scenario = draw_scenario(choices, family, determined=determined, failing=failing, having=having)
    for _ in range(_MOST_DRAWS):
        if has_all(scenario.data, having):
            break
        scenario = draw_scenario(choices, family, determined=determined, failing=failing, having=having)
    assume(has_all(scenario.data, having))
    return scenario


@st.composite
def random_jobs(
    draw: st.DrawFn, *, max_sources: int = 3, max_operators: int = 4, max_parallelism: int = 4, max_entries: int = 36
) -> DrawnScenario:
    """Draws scenarios of every family, which finish by themselves: no action ends the job, and it has no phases.

    ``DrawnScenario.expected`` has the records of each sink that no schedule changes. Examples shrink to the family
    ``plain``.
    """
    sizes = Sizes(max_sources, max_operators, max_parallelism, max_entries)
    family = draw(st.sampled_from(FAMILIES))
    return draw_scenario(_HypothesisChoices(draw), family, determined=False, sizes=sizes, may_be_ended=False)


@st.composite
def window_jobs(
    draw: st.DrawFn, *, max_sources: int = 1, max_operators: int = 2, max_parallelism: int = 2, max_entries: int = 36
) -> DrawnScenario:
    """Draws scenarios with windows: every assigner with every trigger and evictor that Flink accepts together.

    Their scripts have records out of order, watermarks, idleness, and pauses. ``max_entries`` limits the entries of all
    scripts together, ``max_operators`` the windows that read the sources, or one another. No action ends the job.
    """
    sizes = Sizes(max_sources, max_operators, max_parallelism, max_entries)
    parts = (add_window,)
    choices = _HypothesisChoices(draw)
    return draw_scenario(choices, "event_time", determined=False, sizes=sizes, parts=parts, may_be_ended=False)


@st.composite
def async_jobs(
    draw: st.DrawFn, *, max_sources: int = 2, max_operators: int = 4, max_parallelism: int = 3, max_entries: int = 24
) -> DrawnScenario:
    """Draws scenarios with asynchronous calls: in chains, between exchanges, several in a row.

    ``DrawnScenario.expected`` has the answers of the calls, and the replacement results after timeouts. No action ends the
    job.
    """
    sizes = Sizes(max_sources, max_operators, max_parallelism, max_entries)
    return draw_scenario(_HypothesisChoices(draw), "async", determined=False, sizes=sizes, may_be_ended=False)
