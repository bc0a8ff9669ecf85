"""Draws a whole scenario of a family: sources, operators, sinks, settings, and what happens to the job."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Final, get_args

from flowsim.errors import BadInput
from flowsim.testing.drawing.async_calls import add_async
from flowsim.testing.drawing.checkpoints import add_checkpoints, add_end, add_failures, add_phases, part_snapshots
from flowsim.testing.drawing.choices import Choices, RandomChoices
from flowsim.testing.drawing.draft import DEFAULT_SIZES, Draft, Family, Sizes
from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.edges import partitions
from flowsim.testing.drawing.features import check_features, has_all
from flowsim.testing.drawing.functions import add_contexts, add_orders, add_orders_of_two, add_rules
from flowsim.testing.drawing.operators import add_alarm, add_rolling, add_stateless, add_watermarks
from flowsim.testing.drawing.settings import add_settings, limit_network_memory
from flowsim.testing.drawing.sources import add_sources, lengthen
from flowsim.testing.drawing.two_inputs import add_broadcast, add_connect, add_interval_join, add_window_join
from flowsim.testing.drawing.windows import add_window

FAMILIES: Final[tuple[Family, ...]] = get_args(Family)
"""The families of scenarios."""
Part = Callable[[Draft], bool]
"""Adds an operator to a draft; returns False if no stream is fit for it."""
_MOST_DRAWS: Final = 200
"""Of a numbered scenario that must have features."""
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

_PART_OF: Final[Mapping[str, Part]] = {
    "windows": add_window, "session windows": add_window, "triggers and evictors": add_window,
    "window joins": add_window_join, "interval joins": add_interval_join, "connected streams": add_connect,
    "timers": add_alarm,
    **dict.fromkeys(("asynchronous calls", "timeouts of calls", "retries of calls", "small queues of calls"), add_async),
}  # fmt: skip
"""The operators that are drawn first in scenarios which must have a feature."""

_ONLY_IN: Final[Mapping[str, tuple[Family, ...]]] = {
    "checkpoints": ("checkpoints", "unaligned"), "unaligned checkpoints": ("unaligned",), "pauses": ("checkpoints", "unaligned"),
    "phases": ("checkpoints", "unaligned"), "blocking exchanges": ("plain", "event_time"),
}  # fmt: skip
"""The families that can have a feature; all have the others."""
_NOT_DETERMINED: Final = frozenset({
    "generated sources", "small buffers", "little network memory", "buffer debloating", "buffer timeouts of operators",
    "slow tasks", "slow links", "latency markers", "blocking exchanges",
})  # fmt: skip


def families_having(families: Sequence[Family], having: Sequence[str], *, determined: bool) -> list[Family]:
    """Returns those of the families that can have the features. Raises BadInput if there is none."""
    check_features(having)
    fit = [family for family in families if all(family in _ONLY_IN.get(name, FAMILIES) for name in having)]
    if determined:
        fit = [] if _NOT_DETERMINED & set(having) else fit
    if not fit:
        kind = "determined scenarios" if determined else "scenarios"
        raise BadInput(f"having: no {kind} of {', '.join(families)} can have {' and '.join(having)}")
    return fit


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
    having: Sequence[str] = (),
) -> DrawnScenario:
    """Draws a scenario of a family.

    ``failing``: without checkpoints, a record or a timeout may fail the job. ``parts``: the operators, instead of those
    of the family. ``may_be_ended``: an action may end the job before its sources do, the job may have phases, and
    failures of a job without periodic checkpoints may repeat records. ``having``: features that are drawn on purpose, which
    makes them more likely.
    """
    draft = Draft(choices, family, determined, sizes, frozenset(having))
    draft.may_fail = failing and family not in ("checkpoints", "unaligned")
    add_sources(draft)
    if not parts:
        weighted = [*_PARTS[family], *((part, weight) for part, its_family, weight in _MORE if its_family == family)]
        parts = [part for part, weight in weighted for _ in range(weight)]
    for part in dict.fromkeys(_PART_OF[name] for name in having if name in _PART_OF) or parts[:1]:
        part(draft)
    choices.some(lambda: choices.one_of(parts)(draft), 0, sizes.operators - 1)
    _add_sinks(draft)
    if family in ("checkpoints", "unaligned"):
        add_checkpoints(draft, must_finish=not may_be_ended)
    elif draft.opens_late or (may_be_ended and draft.wants("failures", 8) and not draft.fails):
        add_failures(draft)
    if family in ("checkpoints", "unaligned") and may_be_ended and draft.wants("phases", 30):
        add_phases(draft)
    elif may_be_ended and draft.wants("actions", 8) and not draft.waits and not draft.read_orders:
        add_end(draft)
    part_snapshots(draft)
    add_settings(draft)
    if draft.waits:
        lengthen(draft, _REST_MS)
    name = f"{family}-scenario".replace("_", "-")
    limit_network_memory(draft, lambda: DrawnScenario(draft.data(name)).least_network_buffers())
    return DrawnScenario(draft.data(name))


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
    number: int,
    *,
    family: Family = "plain",
    seed: int = 0,
    determined: bool = True,
    failing: bool = False,
    having: Sequence[str] = (),
) -> DrawnScenario:
    """Returns a random scenario; the same arguments give the same scenario. Needs no Hypothesis.

    ``failing``: a record or a timeout may fail the job, in the families without checkpoints. ``having``: features
    (``FEATURES``) of every scenario. Raises BadInput.
    """
    if family not in FAMILIES:
        raise BadInput(f"there is no family {family!r} of scenarios; there are: {', '.join(FAMILIES)}")
    families_having([family], having, determined=determined)
    choices = RandomChoices(Random(f"{family}/{seed}/{number}"))
    for _ in range(_MOST_DRAWS if having else 1):
        scenario = draw_scenario(choices, family, determined=determined, failing=failing, having=having)
        if has_all(scenario.data, having):
            return scenario
    raise BadInput(f"no scenario of family {family!r} has {' and '.join(having)}")
