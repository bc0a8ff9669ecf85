"""W1 on the real Flink 2.3.0: an embedded cluster in a Java process of its own, where the extra and a JDK are there."""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

from rounds import Measured, WrongResult
from workload import expected_results

from flowsim.conform.java_machine import OPENED_MODULES, FlinkMissing, classpath, compiled, java_program

ROOT = Path(__file__).parents[2]

__all__ = ["NAME", "FlinkMissing", "measure_flink"]

NAME = "Flink 2.3.0, embedded cluster, warm"
RUNS_BEFORE = 5
"""The virtual machine compiles the job meanwhile."""


def measure_flink(records: int, rounds: int) -> Measured:
    """CPU seconds of the whole Java process in each round, start and end of the job included.

    Raises ``FlinkMissing`` where Flink or a JDK is not there, and WrongResult.
    """
    sources = Path(__file__).with_name("java")
    classes = compiled(ROOT / "build" / "bench-classes", (sources,))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "results")
        command = [
            str(java_program()), "-Xmx2g", *OPENED_MODULES, "-cp", os.pathsep.join([*classpath(), str(classes)]),
            "W1", str(records), str(RUNS_BEFORE), str(rounds), str(file),
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        if done.returncode:
            raise WrongResult(f"{NAME}: {done.stderr[-1000:]}")
        results = {}
        for line in file.read_text().splitlines():
            key, start_ms, total = map(int, line.split())
            results[key, start_ms] = total
    if results != expected_results(records):
        raise WrongResult(f"{NAME}: {len(results)} windows, which are not those of the batch computation")
    lines = [line.split() for line in done.stdout.splitlines()]
    return Measured(NAME, records, [int(line[1]) / 1e9 for line in lines if line[0] == "cpu_ns"])
