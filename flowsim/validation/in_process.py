"""Checks recordings in this process: one pass over the files of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count

from flowsim.errors import BadInput
from flowsim.laws.judge import Judgement, examine
from flowsim.laws.law import reads_of
from flowsim.validation.recorded_run import Work

Progress = Callable[[int, int, str], None]
"""A function that is called with the amount done, the total, and the unit of both."""


class InProcess:
    """The engine without Spark; ``name`` is shown in reports."""

    name = "in this process"

    def examine(self, works: Sequence[Work], progress: Progress) -> Iterator[Judgement | BadInput]:
        """Returns the result of each pass of ``works``, in order, or the reason why its recording cannot be checked."""
        total = sum(len(run.files.markers) for _, run, _ in works)
        done = count(1)
        for _, run, errand in works:
            slices = run.files.slices(
                reads_of(errand.laws, run.graph), on_epoch=lambda: progress(next(done), total, "epochs")
            )
            try:
                yield examine(slices, run.graph, errand, run.whole, run.graph.tasks)
            except BadInput as error:
                yield error
