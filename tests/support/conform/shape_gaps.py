"""Which shapes of the old generators ``scenarios()`` does not reach, and why: ``python -m tests.support.conform.shape_gaps``.

Prints every shape that no drawn scenario has, with its gap, and the gaps that are closed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Final

from flowsim.testing.drawing.drawn_scenario import DrawnScenario
from flowsim.testing.drawing.families import FAMILIES, numbered_scenario
from tests.support.conform.job_shapes import Shapes
from tests.support.conform.old_job_shapes import stored
from tests.support.conform.scenario_shapes import shapes_of_scenario

STRATEGY: Final = "strategy"
"""A scenario can say it, ``scenarios()`` does not draw it."""
LANGUAGE: Final = "language"
"""A scenario cannot say it."""

NUMBERS: Final = 300


@dataclass(frozen=True)
class Gap:
    """Shapes that match ``pattern`` are not reached."""

    of: str
    pattern: str
    why: str

    def has(self, shape: str) -> bool:
        return re.fullmatch(self.pattern, shape) is not None


GAPS: Final = (
    Gap(LANGUAGE, r"operator: statuses", "no operator of a scenario emits a watermark status"),
    Gap(LANGUAGE, r"operator: own operator .*", "a scenario has functions, no operators of its own"),
    Gap(LANGUAGE, r"checkpoint: of which tasks need not know .*", "instants are apart: a notification comes before the next"),
    Gap(LANGUAGE, r"sink: commits again later", "the committers of a scenario's sinks retry only what their database refuses"),
    Gap(LANGUAGE, r"window function: (apply|reduce and process)", "`process` is the only function that gets a whole window"),
    Gap(LANGUAGE, r"checkpoint x failure: none x in a .*", "a failure in a snapshot is refused for a job that takes none"),
    Gap(LANGUAGE, r"window x evictor: count x .*", "count windows have an evictor of their own; a global window takes any"),
    Gap(LANGUAGE, r"window x lateness: (.* processing time|global) x allowed", "a lateness is refused where no window is late"),
    Gap(STRATEGY, r"watermark: not above the one before", "the law watermark-monotone reports a script that breaks it"),
    Gap(STRATEGY, r"source: (legacy )?files|sink: (files|database)", "a drawn scenario is one text, without files beside it"),
)  # fmt: skip


def drawn(numbers: int) -> Iterator[DrawnScenario]:
    """Yields scenarios of all families, and more of those with the most pairs of parts: of windows, and of phases."""
    for number, family, is_determined in product(range(numbers), FAMILIES, (True, False)):
        yield numbered_scenario(number, family=family, determined=is_determined, failing=number % 2 == 0)
    for number in range(numbers, 24 * numbers):
        yield numbered_scenario(number, family="event_time", determined=number % 2 == 0)
        yield numbered_scenario(number, family="checkpoints" if number % 2 else "unaligned", determined=number % 4 > 1)


def missing(numbers: int) -> Shapes:
    """Returns the shapes of the old generators that no drawn scenario has."""
    return stored().keys() - {shape for scenario in drawn(numbers) for shape in shapes_of_scenario(scenario.data)}


def by_gap(shapes: Shapes) -> dict[Gap | None, list[str]]:
    """Returns the shapes of each gap; a shape belongs to the first gap that has it, or to none."""
    parts: dict[Gap | None, list[str]] = {gap: [] for gap in (*GAPS, None)}
    for shape in sorted(shapes):
        parts[next((gap for gap in GAPS if gap.has(shape)), None)].append(shape)
    return parts


def main(numbers: int) -> None:
    for gap, shapes in by_gap(missing(numbers)).items():
        print(f"{'no gap' if gap is None else f'{gap.of}: {gap.why}'}: {len(shapes)}", *shapes, sep="\n    ")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else NUMBERS)
