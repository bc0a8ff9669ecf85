"""The shapes that the generators of the old languages reach, counted: ``python -m tests.support.conform.old_job_shapes``.

Writes ``old_job_shapes.json``: by shape, in how many of ``JOBS`` jobs of each generator it is. The file keeps the counts
of generators that no longer exist.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from flowsim.testing import random_jobs
from tests.support.conform.checkpointed_shapes import shapes_of_disturbed, shapes_of_scripted
from tests.support.conform.described_shapes import shapes_of_described
from tests.support.conform.drawn_shapes import shapes_of_random
from tests.support.conform.job_shapes import Shapes
from tests.support.described.async_job_writer import AsyncJobWriter
from tests.support.described.job_writer import JobWriter
from tests.support.drawn import drawn
from tests.support.jobs.checkpoint_job_writer import CheckpointJobWriter
from tests.support.jobs.unaligned_job_writer import UnalignedJobWriter

JOBS: Final = 3_000
"""Of each generator, by the seeds from 0 on."""
COUNTS: Final = Path(__file__).with_name("old_job_shapes.json")


def without_interval(seed: int) -> dict[str, Any]:
    case = CheckpointJobWriter(seed).case()
    case["params"]["enabled"] = False
    return case


def generators() -> Mapping[str, Callable[[int], Shapes]]:
    """The shapes of the job of a seed, by generator."""
    random = random_jobs()
    return {
        "described jobs": lambda seed: shapes_of_described(JobWriter(seed).job()),
        "described async jobs": lambda seed: shapes_of_described(AsyncJobWriter(seed).job()),
        "jobs with checkpoints": lambda seed: shapes_of_scripted(CheckpointJobWriter(seed).case()),
        "jobs without an interval": lambda seed: shapes_of_scripted(without_interval(seed)),
        "jobs with in-flight data": lambda seed: shapes_of_scripted(UnalignedJobWriter(seed).case()),
        "disturbed jobs": shapes_of_disturbed,
        "random_jobs": lambda seed: shapes_of_random(drawn(random, seed)),
    }


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
