"""Draws a whole scenario of a family: sources, operators, sinks, settings, and what happens to the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, get_args

from flowsim.errors import BadInput
from flowsim.testing.drawing.async_calls import add_async
from flowsim.testing.drawing.checkpoints import add_checkpoints, add_end, add_failures, add_phases
from flowsim.testing.drawing.choices import Choices, RandomChoices
from flowsim.testing.drawing.draft import DEFAULT_SIZES, Draft, Family, Sizes
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.edges import partitions
from flowsim.testing.drawing.functions import add_contexts, add_orders, add_orders_of_two, add_rules
from flowsim.testing.drawing.operators import add_alarm, add_rolling, add_stateless, add_watermarks
from flowsim.testing.drawing.settings import add_settings
from flowsim.testing.drawing.sources import add_sources, lengthen
from flowsim.testing.drawing.two_inputs import add_broadcast, add_connect, add_interval_join, add_window_join
from flowsim.testing.drawing.windows import add_window

FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
"""The families of scenarios."""
Part = Callable[[Draft], bool]
"""Adds an operator to a draft; returns False if no stream is fit for it."""
_REST_MS: Final = 30_000
"""Longer than all retries of a scenario take."""

_PLAIN: Final[tuple[tuple[Part, int], ...]] = (
    (add_stateless, 4), (add_rolling, 2), (add_connect, 2), (add_broadcast, 1), (add_window, 1), (add_alarm, 1),
    (add_orders_of_two, 1), (add_rules, 1), (add_contexts, 1),
)  # fmt: skip
_EVENT_TIME: Final = (
    (add_window, 6), (add_window_join, 3), (add_interval_join, 2), (add_alarm, 2), (add_orders, 2), (add_watermarks, 1),
)  # fmt: skip
_STATEFUL: Final = (
    (add_window, 3), (add_orders, 3), (add_rolling, 3), (add_alarm, 3), (add_async, 3), (add_interval_join, 1),
    (add_window_join, 1), (add_orders_of_two, 2), (add_rules, 2), (add_contexts, 3),
)  # fmt: skip
_PARTS: Final[Mapping[Family, tuple[tuple[Part, int], ...]]] = {
    "plain": _PLAIN,
    "event_time": (*_EVENT_TIME, *_PLAIN),
    "async": ((add_async, 10), *_PLAIN),
    "checkpoints": (*_STATEFUL, *_PLAIN),
    "unaligned": ((add_async, 6), *_STATEFUL, *_PLAIN),
}
"""The operators of each family, with their weights."""


def register_part(part: Part, family: Family, weight: int = 1) -> None:
    """Adds an operator of another package to a family: ``part`` adds it to a draft, or returns False.

    Raises BadInput for a weight below 1.
    """
    if weight < 1:
        raise BadInput(f"register_part: expected a weight >= 1, got {weight}")
    _MORE.append((part, family, weight))


_MORE: Final[list[tuple[Part, Family, int]]] = []


def draw_scenario(
    choices: Choices,
    family: Family,
    *,
    determined: bool,
    failing: bool = False,
    sizes: Sizes = DEFAULT_SIZES,
    parts: Sequence[Part] = (),
    may_be_ended: bool = True,
) -> DrawnScenario:
    """Draws a scenario of a family.

    ``failing``: without checkpoints, a record or a timeout may fail the job. ``parts``: the operators, instead of those
    of the family. ``may_be_ended``: an action may end the job before its sources do, the job may have phases, and
    failures of a job without periodic checkpoints may repeat records.
    """
    draft = Draft(choices, family, determined, sizes)
    draft.may_fail = failing and family not in ("checkpoints", "unaligned")
    add_sources(draft)
    if not parts:
        weighted = [*_PARTS[family], *((part, weight) for part, its_family, weight in _MORE if its_family == family)]
        parts = [part for part, weight in weighted for _ in range(weight)]
    parts[0](draft)
    choices.some(lambda: choices.one_of(parts)(draft), 0, sizes.operators - 1)
    _add_sinks(draft)
    if family in ("checkpoints", "unaligned"):
        add_checkpoints(draft, must_finish=not may_be_ended)
    elif draft.opens_late or (may_be_ended and choices.often(8) and not draft.fails):
        add_failures(draft)
    if family in ("checkpoints", "unaligned") and may_be_ended and choices.often(30):
        add_phases(draft)
    elif may_be_ended and choices.often(8) and not draft.waits and not draft.read_orders:
        add_end(draft)
    add_settings(draft)
    if draft.waits:
        lengthen(draft, _REST_MS)
    return DrawnScenario(draft.data(f"{family}-scenario".replace("_", "-")))


def _add_sinks(draft: Draft) -> None:
    choices = draft.choices
    for number, stream in enumerate(list(draft.unread.values())):
        sink: dict[str, object] = {"input": stream.name, "collect": {}, "parallelism": stream.parallelism}
        if choices.often(20) and not draft.is_determined:
            sink |= {"partition": choices.one_of(partitions(draft)), "parallelism": draft.width()}
        name = f"out{number}"
        draft.sinks[name] = sink
        draft.parallelism[name] = int(str(sink["parallelism"]))


def numbered_scenario(
    number: int, *, family: Family = "plain", seed: int = 0, determined: bool = True, failing: bool = False
) -> DrawnScenario:
    """Returns a random scenario; the same arguments give the same scenario. Needs no Hypothesis.

    ``failing``: a record or a timeout may fail the job, in the families without checkpoints. Raises BadInput.
    """
    if family not in FAMILIES:
        raise BadInput(f"there is no family {family!r} of scenarios; there are: {', '.join(FAMILIES)}")
    choices = RandomChoices(Random(f"{family}/{seed}/{number}"))
    return draw_scenario(choices, family, determined=determined, failing=failing)
