"""The shapes that the generators of the old languages reach, counted: ``python -m tests.support.conform.old_job_shapes``.

Writes ``old_job_shapes.json``: by shape, in how many of ``JOBS`` jobs of each generator it is. The file keeps the counts
of generators that no longer exist.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.support.conform.disturbed_shapes import shapes_of_disturbed
from tests.support.conform.job_shapes import Shapes

JOBS: Final = 3_000
"""Of each generator, by the seeds from 0 on."""
COUNTS: Final = Path(__file__).with_name("old_job_shapes.json")


def generators() -> Mapping[str, Callable[[int], Shapes]]:
    """The shapes of the job of a seed, by generator."""
    return {"disturbed jobs": shapes_of_disturbed}


def counted(jobs: int = JOBS) -> dict[str, dict[str, int]]:
    """Returns in how many jobs each shape is, by shape and generator."""
    known = generators()
    before = {shape: {name: n for name, n in each.items() if name not in known} for shape, each in stored().items()}
    counts = {shape: each for shape, each in before.items() if each}
    for generator, shapes_of in known.items():
        reached: Counter[str] = Counter()
        for seed in range(jobs):
            reached.update(shapes_of(seed))
        for shape, count in reached.items():
            counts.setdefault(shape, {})[generator] = count
    return dict(sorted(counts.items()))


def stored() -> dict[str, dict[str, int]]:
    """Returns the counts of the file."""
    counts: dict[str, dict[str, int]] = json.loads(COUNTS.read_text())
    return counts


if __name__ == "__main__":
    lines = ",\n".join(f"{json.dumps(shape)}: {json.dumps(each)}" for shape, each in counted().items())
    COUNTS.write_text(f"{{\n{lines}\n}}\n")
