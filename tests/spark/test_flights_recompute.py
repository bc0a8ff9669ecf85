"""The recomputation of the flights: it accepts a hand-made result, and reports every kind of wrong one."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flowsim.laws.law import Outcome, Verdict
from flowsim.validation.recompute import recompute

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

SCRIPT = Path(__file__).parents[2] / "scenarios" / "01_nyc_flights_recompute.py"
HOUR = 3_600_000
MINUTE = 60_000
HEADER = "departed_ms,scheduled_ms,origin,dest,carrier,flight,tailnum,dep_delay_min,distance_mi"
# Event time, origin, delay, in order of arrival. The watermark before a row is the highest time so far - 30 min - 1 ms.
ARRIVALS = [
    (10 * MINUTE, "EWR", 5),
    (59 * MINUTE, "JFK", 7),
    (89 * MINUTE, "EWR", -3),  # the watermark becomes 59 min - 1 ms: the first hour stays open
    (20 * MINUTE, "EWR", 30),  # on time by a millisecond's grace
    (90 * MINUTE, "LGA", 1),  # the watermark becomes 60 min - 1 ms: the first hour is complete
    (21 * MINUTE, "EWR", 40),  # late
    (95 * MINUTE, "EWR", 9),
    (59 * MINUTE, "JFK", 8),  # late
]
LATE = (5, 7)
WINDOWS = [
    ("EWR", 0, HOUR, 2, 35, 30),
    ("JFK", 0, HOUR, 1, 7, 7),
    ("EWR", HOUR, 2 * HOUR, 2, 6, 9),
    ("LGA", HOUR, 2 * HOUR, 1, 1, 1),
]
WINDOW_NAMES = ("origin", "window_start_ms", "window_end_ms", "flights", "delay_sum_min", "delay_max_min")
LATE_NAMES = (*HEADER.split(","), "route")


def flight(index: int) -> tuple[object, ...]:
    event_time, origin, delay = ARRIVALS[index]
    return (event_time + delay * MINUTE, event_time, origin, "IAH", "UA", index, f"N{index}", delay, 1400)


def write_part(folder: Path, names: tuple[str, ...], rows: list[tuple[object, ...]]) -> None:
    folder.mkdir(parents=True)
    pq.write_table(
        pa.table([list(column) for column in zip(*rows, strict=True)], names=list(names)), folder / "p.parquet"
    )


def judge(
    spark: SparkSession, folder: Path, windows: list[tuple[object, ...]], late: list[tuple[object, ...]]
) -> Outcome:
    source = folder / "flights.csv.gz"
    lines = [HEADER, *(",".join(str(cell) for cell in flight(index)) for index in range(len(ARRIVALS)))]
    source.write_bytes(gzip.compress("\n".join(lines).encode() + b"\n"))
    write_part(folder / "sinks" / "windows", WINDOW_NAMES, windows)
    write_part(folder / "sinks" / "late", LATE_NAMES, late)
    return recompute(spark, SCRIPT, source, folder, allow_python=True)


def late_rows() -> list[tuple[object, ...]]:
    return [(*flight(index), f"{ARRIVALS[index][1]}-IAH") for index in LATE]


def test_correct_result_holds(spark: SparkSession, tmp_path: Path) -> None:
    outcome = judge(spark, tmp_path, list(WINDOWS), late_rows())
    assert (outcome.verdict, outcome.rows_examined, outcome.evidence) == (Verdict.HOLDS, 2 * 4 + 2 * 2, ())


@pytest.mark.parametrize(("wrong", "violations"), [("rows missing", 2), ("rows twice", 2), ("values wrong", 3)])
def test_wrong_result_is_violated(wrong: str, violations: int, spark: SparkSession, tmp_path: Path) -> None:
    windows: list[tuple[object, ...]] = list(WINDOWS)
    late = late_rows()
    match wrong:
        case "rows missing":
            windows.pop()
            late.pop()
        case "rows twice":
            windows.append(windows[0])
            late.append(late[0])
        case "values wrong":
            windows[0] = ("EWR", 0, HOUR, 2, 36, 30)
            late.append((*flight(3), "EWR-IAH"))
    outcome = judge(spark, tmp_path, windows, late)
    assert (outcome.verdict, outcome.violations) == (Verdict.VIOLATED, violations)
    assert len(outcome.evidence) == violations
