"""Measures of jobs with hand-computed times, in ms.

Watermarks after every record, a queue of four: at 0 come the record 0 (until 30), watermark -1, the record 10 (until 10)
and watermark 9; the queue is full. At 30 all of them leave and the records 20, 5 and 40 come with watermark 19, are
answered at 40 and leave. So record 10 was held for 20 of its 30 ms, in both modes, because of the watermark before it.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from flowsim.studies.async_stage import AsyncStage
from flowsim.studies.distribution import Distribution
from flowsim.studies.measures import Measures
from flowsim.studies.run import StudyPlan, run_combination
from flowsim.studies.variation import Combination

WritePlan = Callable[..., StudyPlan]
MS = 1_000_000
NO_WATERMARKS = ("emit: every_record", "emit: never")
NO_WINDOW = ("window: {tumbling: 10 ms}\n    aggregate: {n: count()}", "reduce: {answer: sum}")
ORDER = "operators.ask.async.mode"


def measured(plan: WritePlan, folder: Path, *changes: tuple[str, str], **values: object) -> Measures:
    row = run_combination(plan(*changes), Combination(1, values), folder / "run")
    assert (row.status, row.error, row.is_unexpected) == ("finished", None, False)
    return row.measures


def of_ms(mean: float, p50: int, p90: int, most: int) -> Distribution:
    return Distribution(mean * MS, p50 * MS, p90 * MS, most * MS, most * MS)


@pytest.mark.parametrize("mode", ["ordered", "unordered"])
def test_records_wait_behind_preceding_watermark_in_both_modes(mode: str, plan: WritePlan, tmp_path: Path) -> None:
    found = measured(plan, tmp_path, **{ORDER: mode})
    assert found.stages == (
        AsyncStage(
            operator="ask", mode=mode, capacity=4, records=5, unfinished=0, watermarks=5, calls=5, timeouts=0,
            records_per_s=125.0,
            latency=of_ms(18.0, 10, 30, 30), answer=of_ms(14.0, 10, 30, 30), held=of_ms(4.0, 0, 20, 20),
            held_share=round(20 / 90, 6), full_share=1.0, peak_queued=4, mean_queued=4.0, mean_records=90 / 40,
        ),
    )  # fmt: skip
    assert (found.records, found.late, found.late_rows) == (5, {"counted": 1}, 1)


def test_ordered_mode_without_watermarks_holds_records_back(plan: WritePlan, tmp_path: Path) -> None:
    """0 takes until 30, and so do 10, 20 and 5, which are answered at 10; then 40 and the last watermark until 40."""
    (stage,) = measured(plan, tmp_path, NO_WATERMARKS, NO_WINDOW).stages
    assert stage.latency == of_ms(26.0, 30, 30, 30)
    assert stage.held == of_ms(12.0, 20, 20, 20)
    assert (stage.held_share, stage.records_per_s) == (round(60 / 130, 6), 125.0)
    assert (stage.full_share, stage.mean_queued, stage.mean_records) == (0.75, 140 / 40, 130 / 40)


def test_unordered_mode_without_watermarks_holds_nothing_back(plan: WritePlan, tmp_path: Path) -> None:
    """0 takes until 30 and 10, 20 and 5 until 10, when 40 comes, which takes until 20; the last watermark waits from 10 on."""
    (stage,) = measured(plan, tmp_path, NO_WATERMARKS, NO_WINDOW, **{ORDER: "unordered"}).stages
    assert stage.latency == stage.answer == of_ms(14.0, 10, 30, 30)
    assert (stage.held_share, stage.full_share) == (0.0, round(10 / 30, 6))
    assert (stage.mean_records, stage.mean_queued) == (round(70 / 30, 6), (70 + 20) / 30)
    assert stage.records_per_s == round(5 / 0.030, 3)


def test_calls_count_retries_and_unemitted_records_are_unfinished(plan: WritePlan, tmp_path: Path) -> None:
    again = "timeout: 100 ms, fails: {first_attempts: 1}, retry: {fixed: {max_attempts: 2, delay: 1 ms}}"
    (stage,) = measured(plan, tmp_path, ("capacity: 4", f"capacity: 4, {again}")).stages
    assert (stage.calls, stage.records, stage.timeouts, stage.unfinished) == (10, 5, 0, 0)
    row = run_combination(
        plan(("capacity: 4", "capacity: 4, silent: {when: at_ms == 20}")), Combination(1, {}), tmp_path / "stuck"
    )
    assert row.status == "deadlocked"
    assert row.is_unexpected
    (stage,) = row.measures.stages
    assert (stage.records, stage.unfinished) == (2, 3)  # 20, and behind it 5 and 40


def test_measures_of_subtasks_are_combined(plan: WritePlan, tmp_path: Path) -> None:
    """Over two queues of four: 0, 20 and 40 and a watermark until 30 and 40; 10 and 5 until 10, with a watermark."""
    (stage,) = measured(
        plan,
        tmp_path,
        NO_WATERMARKS,
        NO_WINDOW,
        ("    cost: 0\n    async", "    cost: 0\n    parallelism: 2\n    async"),
    ).stages
    assert (stage.records, stage.calls, stage.latency.max_ns) == (5, 5, 30 * MS)  # type: ignore[union-attr]
    assert (stage.peak_queued, stage.full_share) == (4, 0.75)
    assert (stage.mean_records, stage.mean_queued) == ((90 + 20) / 40, (120 + 30) / 40)
    assert stage.records_per_s == 5 * 2 / 0.040


def test_job_without_async_operators_has_other_measures(plan: WritePlan, tmp_path: Path) -> None:
    change = (
        "    async: {mode: ordered, capacity: 4, latency: {each: takes_ms}, add: {answer: takes_ms + 1}}\n",
        "    map: {add: {answer: takes_ms}}\n",
    )
    found = measured(plan, tmp_path, change)
    assert found.stages == ()
    assert (found.records, found.late_rows) == (5, 1)
    assert set(found.back_pressured.values()) == {0.0}


def test_percentile_is_nearest_rank() -> None:
    assert Distribution.of(np.arange(1, 201)[::-1].astype(np.int64)) == Distribution(100.5, 100, 180, 198, 200)
    assert Distribution.of(np.array([7], dtype=np.int64)) == Distribution(7.0, 7, 7, 7, 7)
    assert Distribution.of(np.empty(0, dtype=np.int64)) is None
