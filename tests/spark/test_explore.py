"""``flowsim explore --spark`` has the table of one process, and keeps it in the same file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.explore_plan import ExplorePlan
from flowsim.cli.explored_subjects import JobArguments
from flowsim.cli.exploring import Workers, explored_results
from flowsim.cli.progress import CountProgress
from flowsim.explore import plan
from flowsim.validation.shipping import ship_flowsim
from tests.unit.cli.test_explored_results import PAIRS

SPLIT = {"_TURNS_OF_ONE_SEARCH": 1, "_LARGEST": 10}
"""Settings with which the search is split after 5 runs."""

PLAN = ExplorePlan({"order": "uniform", "runtime": "portfolio"}, 120, 600, "exact", 1, 5, False, False)


@pytest.mark.parametrize("settings", [{}, SPLIT])
def test_exploration_on_spark_has_the_table_of_one_process(
    spark: Any, tmp_path: Path, settings: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, number in settings.items():
        monkeypatch.setattr(plan, name, number)
    ship_flowsim(spark)
    (tmp_path / "pairs.yaml").write_text(PAIRS)
    job, kept = JobArguments(str(tmp_path / "pairs.yaml"), "full"), tmp_path / "kept"

    def explored(workers: Workers, file: Path | None) -> dict[str, Any]:
        return explored_results(job, PLAN, workers, CountProgress(None, None), file).data()

    here = explored(Workers(), None)
    assert here["findings"]
    assert here["spaces"]["order"]["searched"] == 15
    assert explored(Workers(spark=True), kept) == here
    assert explored(Workers(), kept) == here
