"""A recording as the judge opened it: its graph, where its files are, and how its run ended. Workers import this, too."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.facts.kinds import Level
from flowsim.laws.files import RecordedFiles
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.judge import WHOLE, Errand


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One recording; small enough to be sent to every worker."""

    files: RecordedFiles
    graph: JobGraph
    level: Level
    status: str

    @property
    def whole(self) -> bool:
        """Whether the run reached its end; otherwise its facts are a prefix."""
        return self.status == WHOLE

    @property
    def rows(self) -> int:
        """How many facts there are, in all tables."""
        return sum(sum(marker.rows.values()) for marker in self.files.markers)


Work = tuple[int, RecordedRun, Errand]
"""The number of a recording among those that are judged together, the recording, and what to examine in it."""
