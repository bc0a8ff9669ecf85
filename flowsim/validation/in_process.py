"""Judges recordings in this process: one walk over the files of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import count

from flowsim.laws.judge import Judgement, examine
from flowsim.laws.law import reads_of
from flowsim.validation.recorded_run import Work

Progress = Callable[[int, int, str], None]
"""Called with how much is done, how much there is, and of what."""


class InProcess:
    """The engine without Spark; ``name`` is shown in reports."""

    name = "in this process"

    def examine(self, works: Sequence[Work], progress: Progress) -> list[Judgement]:
        """What each walk showed, in the order of ``works``."""
        total = sum(len(run.files.markers) for _, run, _ in works)
        done = count(1)

        found = []
        for _, run, errand in works:
            slices = run.files.slices(reads_of(errand.laws), on_epoch=lambda: progress(next(done), total, "epochs"))
            found.append(examine(slices, run.graph, errand, run.whole, run.graph.tasks))
        return found
