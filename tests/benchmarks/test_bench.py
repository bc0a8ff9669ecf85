"""The benchmark: every variant computes the same result, and a wrong one is detected. No timing is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("bench.py")


def run_benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def test_variants_agree_and_figures_are_json() -> None:
    finished = run_benchmark("--records", "12345", "--rounds", "1", "--no-wiring", "--json")
    assert finished.returncode == 0, finished.stderr
    figures = json.loads(finished.stdout)
    assert next(row["variant"] for row in figures["w1"]) == "bare loop"
    assert {row["records"] for row in figures["w1"]} == {12345}
    assert all(row["thousand_records_per_cpu_second"] > 0 for row in figures["w1"])


def test_variant_with_wrong_result_stops_benchmark() -> None:
    program = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
from rounds import WrongResult, measure
from workload import Outcome, Variant, expected_results
def loses_one(count):
    results = expected_results(count)
    results.popitem()
    return Outcome(results)
try:
    measure((Variant("loses one", loses_one),), 5_000, 1, lambda text: None)
except WrongResult as wrong:
    print(wrong)
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert finished.stdout.startswith("loses one: 1 of 1000 windows differ")


def test_tables_name_every_wiring_and_size() -> None:
    finished = run_benchmark("--records", "1000", "--rounds", "1", "--only", "bare loop")
    assert finished.returncode == 0, finished.stderr
    assert "1000 x 1000" in finished.stdout
    assert "slotted objects" in finished.stdout
