"""The rows of a study and what was asked for."""

from __future__ import annotations

from dataclasses import dataclass

from flowsim.report.async_stage import AsyncStage
from flowsim.report.study_run import StudyRow
from flowsim.report.variation import Variation, combinations_of


@dataclass(frozen=True, slots=True)
class Study:
    """What was asked, and the rows so far, in the order of the combinations."""

    name: str
    scenario_digest: str
    """Of the scenario with all overrides but those of the combinations."""
    seed: int
    overrides: tuple[str, ...]
    variations: tuple[Variation, ...]
    rows: tuple[StudyRow, ...]

    @property
    def is_complete(self) -> bool:
        """Whether every combination has its row."""
        return len(self.rows) == sum(1 for _ in combinations_of(self.variations))

    @property
    def async_operators(self) -> tuple[str, ...]:
        """Their names, in the order of the job; none where the scenario has none."""
        found = dict.fromkeys(stage.operator for row in self.rows for stage in row.measures.stages)
        return tuple(found)


def stage_of(row: StudyRow, operator: str) -> AsyncStage | None:
    """What a row says of one async operator; None where its combination has none of that name."""
    return next((stage for stage in row.measures.stages if stage.operator == operator), None)
