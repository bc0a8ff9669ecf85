"""An opened recording: its graph, the location of its files, and its status. Workers import this module, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from flowsim.facts.kinds import Level
from flowsim.laws.files import RecordedFiles
from flowsim.laws.job_graph import JobGraph
from flowsim.laws.judge import WHOLE, Errand

EXPLORED: Final = "explored"
"""The policy of a run that made the choices of an exploration."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """One opened recording; it is small enough to be sent to every worker."""

    files: RecordedFiles
    graph: JobGraph
    level: Level
    status: str
    explored: bool = False
    """True if the run made the choices of an exploration: then tasks and timers can be late."""

    @property
    def whole(self) -> bool:
        """True if the run reached its end; otherwise its facts are a prefix."""
        return self.status == WHOLE

    @property
    def rows(self) -> int:
        """The number of facts in all tables."""
        return sum(sum(marker.rows.values()) for marker in self.files.markers)


Work = tuple[int, RecordedRun, Errand]
"""The index of the recording in the request, the recording, and the parts of it to examine."""
