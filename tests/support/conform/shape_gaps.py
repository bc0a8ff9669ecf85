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
    Gap(LANGUAGE, r"state.*: operator (list|union list|broadcast).*", "operator state needs a CheckpointedFunction in Python"),
    Gap(LANGUAGE, r".*while an operator opens.*", "an operator fails to open only in Python"),
    Gap(STRATEGY, r".*(retained checkpoint|stop with drain).*", "phases from retained checkpoints and drained stops"),
    Gap(STRATEGY, r"restore: a second time", "a third phase"),
    Gap(STRATEGY, r"checkpoint x failure x restore: .*", "failures before a phase ends"),
    Gap(STRATEGY, r".*x restore.*|restore x .*", "some operators and modes that are rescaled both ways"),
    Gap(STRATEGY, r".*without an interval.*", "checkpoints that only actions take"),
    Gap(STRATEGY, r"operator.*: (keyed )?(co|broadcast) process function.*", "Python functions of two inputs"),
    Gap(STRATEGY, r"state.*: (value|list|map|reducing|aggregating|folding).*", "Python functions with keyed state of every kind"),
    Gap(STRATEGY, r"window function: (process|with state)", "Python functions of windows"),
    Gap(STRATEGY, r"window function: aggregate( without a result)?", "aggregates of global windows, and `having`"),
    Gap(STRATEGY, r".*trigger.*\bown\b.*", "triggers in Python"),
    Gap(STRATEGY, r"async.*: .* x fail", "timeouts that fail the job"),
    Gap(STRATEGY, r"async.* x before.*|async before: .*|operator x before: .*", "flat_map before async, windows behind it"),
    Gap(STRATEGY, r"operator x exchange: (async|stateless function) x hash", "async and Python maps behind key_by"),
    Gap(STRATEGY, r".*failure: .*of a task manager|failure: of a user function.*", "lost task managers, functions that fail"),
    Gap(STRATEGY, r"checkpoint x failure: none x .*", "failures of jobs without checkpoints"),
    Gap(STRATEGY, r"operator x checkpoint: legacy async x at least once", "the legacy design with at-least-once checkpoints"),
    Gap(STRATEGY, r"input: union of a stream with itself", "a stream twice in one union"),
    Gap(STRATEGY, r"key type: int", "fields of 32 bits"),
    Gap(STRATEGY, r"parallelism: 4", "at most 3 subtasks"),
    Gap(STRATEGY, r"record: with the timestamp before", "records without timestamp behind one that has one"),
    Gap(STRATEGY, r"watermark: not above the one before", "watermarks that go back"),
    Gap(STRATEGY, r"watermarks: alignment .*", "alignment of splits, and with idle timeouts"),
    Gap(STRATEGY, r"source: (collection|files|generator|legacy .*|log with partitions)", "sources that are no scripts"),
    Gap(STRATEGY, r"sink: (files|database)", "sinks that do not collect"),
    Gap(STRATEGY, r"window x evictor: count x .*", "evictors of count windows"),
    Gap(STRATEGY, r"trigger x evictor: end of stream x .*", "end_of_stream with every evictor"),
    Gap(STRATEGY, r"window x form: tumbling event time x natural stagger", "staggered windows"),
    Gap(STRATEGY, r"window x lateness: (.* processing time|global) x allowed", "lateness where no window is late"),
    Gap(STRATEGY, r"window x trigger: .* event time x continuous processing time", "triggers by the clock on event time"),
    Gap(STRATEGY, r"window x trigger: global x processing time", "triggers by the clock on a global window"),
    Gap(STRATEGY, r"trigger x (lateness|evictor): (continuous )?processing time x .*", "triggers by the clock with both"),
)  # fmt: skip


def drawn(numbers: int) -> Iterator[DrawnScenario]:
    """Yields scenarios of all families, and more with windows, because a window has the most pairs of parts."""
    for number, family, is_determined in product(range(numbers), FAMILIES, (True, False)):
        yield numbered_scenario(number, family=family, determined=is_determined)
    for number in range(numbers, 12 * numbers):
        yield numbered_scenario(number, family="event_time", determined=True)


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
