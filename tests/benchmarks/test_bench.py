"""The benchmark: every variant computes the same result, and a wrong one is detected. No timing is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).with_name("bench.py")
COMPARE = Path(__file__).with_name("compare.py")


def run_benchmark(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False)


def test_variants_agree_and_figures_are_json() -> None:
    finished = run_benchmark("--records", "12345", "--rounds", "1", "--no-wiring", "--no-flink", "--no-jobs", "--json")
    assert finished.returncode == 0, finished.stderr
    figures = json.loads(finished.stdout)
    assert next(row["variant"] for row in figures["w1"]) == "bare loop"
    assert {row["records"] for row in figures["w1"]} == {12345}
    assert all(row["thousand_records_per_cpu_second"] > 0 for row in figures["w1"])
    compared = [row["variant"] for row in figures["w1"] if row["times_without_checkpoints"] is not None]
    assert compared == [f"flowsim, virtual clock, {kind} checkpoints" for kind in ("aligned", "unaligned")]


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


def test_other_jobs_check_their_results_and_are_compared_with_bare_loop() -> None:
    """All but the flights, which take seconds."""
    program = f"""
import sys
sys.path.insert(0, {str(SCRIPT.parent)!r})
import jobs
from baselines import bare_loop
from workload import source
jobs.SCHEDULES = 2
for one in jobs.measure_jobs(tuple(job for job in jobs.JOBS if "W5" not in job.name), bare_loop, 3_000, 1, lambda text: None):
    assert one.microseconds_each > 0 and one.times_bare_loop > 0
    print(one.name)
jobs.source = jobs.async_jobs.source = lambda count: list(source(count))[:-1]
for job in jobs.JOBS[:2]:
    try:
        job.run(100)
    except jobs.WrongResult as wrong:
        print(str(wrong)[:12])
keyed = jobs.keyed_jobs
elements, keyed.W1Source = keyed.elements, lambda count: jobs.W1Source(count - 1)
keyed.elements = lambda index, count: list(elements(index, count))[1:]
for name, run in keyed.VARIANTS.items():
    try:
        run(100)
    except jobs.WrongResult as wrong:
        print(str(wrong).removeprefix(name)[:20])
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert finished.stdout.splitlines() == [
        "W2: sliding window, 10 panes",
        "W3: asynchronous calls, capacity 100",
        "W3, ordered",
        "W3 on uvloop",
        "W3 on uvloop, ordered",
        "W3, legacy design",
        "W3, legacy design, ordered",
        "W3 in plain asyncio: TaskGroup and semaphore",
        "W3 in plain asyncio, ordered: deque of tasks",
        "W4: interval join",
        *(f"W6: window join{variant}" for variant in ("", ", asyncio.Queue on uvloop", ", SimPy Store")),
        *(f"W7: three states and a timer{variant}" for variant in ("", ", asyncio.Queue on uvloop", ", SimPy Store")),
        "schedule of 4 tasks and 20 records, all laws",
        "schedule of 4 tasks and 20 records, not recorded",
        "W2: expected",
        "W3: expected",
        *[": 49 results instead"] * 3,
        *[": 99 results instead"] * 3,
    ], finished.stderr


def tree(folder: Path, times_bare: float) -> Path:
    """A checkout whose benchmark takes so many times longer than the bare loop."""
    (folder / "tests/benchmarks").mkdir(parents=True)
    figures = {"w1": [{"variant": "one", "times_bare_loop": 1 / times_bare}], "jobs": []}
    (folder / "tests/benchmarks/bench.py").write_text(f"print({json.dumps(json.dumps(figures))})")
    return folder


def test_ratio_of_two_revisions_is_that_of_their_times(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPT.parent)!r})
import compare
compare.ROOT = Path({str(tree(tmp_path / "mine", 4.0))!r})
print(compare.compared(Path({str(tree(tmp_path / "other", 2.0))!r}), 2, []))
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert finished.stdout == "{'one': [2.0, 2.0]}\n", finished.stderr


def test_unknown_revision_is_refused() -> None:
    finished = subprocess.run(
        [sys.executable, str(COMPARE), "no-such-revision"], capture_output=True, text=True, check=False
    )
    assert finished.returncode == 2
    assert finished.stderr.startswith("COMPARE=no-such-revision: git knows no such revision")


def test_history_gets_a_line_and_a_picture(tmp_path: Path) -> None:
    program = f"""
import json, sys
from pathlib import Path
sys.path.insert(0, {str(SCRIPT.parent)!r})
import history
history._git = lambda *arguments: "abc1234 2026-01-31" if arguments[0] == "log" else ""
figures = {{
    "machine": {{"python": "3.11", "core": "compiled"}},
    "w1": [{{"variant": "flowsim, virtual clock", "times_bare_loop": 0.2, "ns_per_fact": None}}],
    "jobs": [{{"job": "W2", "times_bare_loop": 50.0, "microseconds_each": 16.0}}],
}}
lines, picture = Path({str(tmp_path / "lines.jsonl")!r}), Path({str(tmp_path / "picture.svg")!r})
for _ in range(2):
    history.append(figures, lines)
    history.draw(lines, picture)
    print(json.loads(lines.read_text().splitlines()[-1])["w1_times_bare_loop"], picture.read_text().count("abc1234"))
"""
    finished = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert [line[:31] for line in finished.stdout.splitlines()] == ["{'flowsim, virtual clock': 0.2}"] * 2
    assert len((tmp_path / "lines.jsonl").read_text().splitlines()) == 2
