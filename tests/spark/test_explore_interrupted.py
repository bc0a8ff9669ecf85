"""Ctrl-C while Spark makes the runs of ``flowsim explore``: what was found until then is in the table and in the file."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from flowsim.cli.exit_code import ExitCode
from tests.support.signals import default_signals

ROWS = [[number] for number in range(9)]
MERGED = f"""\
flowsim: 1
name: merged
sources:
  left: {{collection: {{fields: {{n: long}}, rows: {ROWS}}}}}
  right: {{collection: {{fields: {{n: long}}, rows: {ROWS}}}}}
operators:
  both: {{input: [left, right], map: {{add: {{m: n * 2}}}}}}
sinks:
  all: {{input: both, collect: {{}}}}
"""
"""Two tasks of Spark are busy for more than a minute with the units of its third job."""

CLAIM = """\
import os
from pathlib import Path


def noted(rows):
    with (Path(__file__).parent / "noted").open("a") as lines:
        lines.write(f"{os.getpid()}\\n")
"""
"""Is called with each new result of a process."""

RESULTS = 20
"""Of each of the two processes: by then, the first units of 5 and 10 runs have ended in both."""


def noted(folder: Path) -> list[int]:
    """How many results each process had."""
    file = folder / "noted"
    return list(Counter(file.read_text().split()).values()) if file.exists() else []


def kept_runs(kept: Path) -> list[dict[str, Any]]:
    """The kept units without the line about the exploration."""
    return [json.loads(line) for line in kept.read_text().splitlines()[1:]] if kept.exists() else []


@pytest.mark.spark
@pytest.mark.timeout(280)
def test_interrupt_keeps_the_units_of_the_job_that_spark_was_running(tmp_path: Path) -> None:
    (tmp_path / "merged.yaml").write_text(MERGED)
    (tmp_path / "claims.py").write_text(CLAIM)
    kept = tmp_path / "kept"
    command = ["explore", "merged.yaml", "--claim", "claims:noted", "--allow-python"]
    command += ["--runs", "100000", "--seconds", "600", "--resume"]
    with subprocess.Popen(
        [sys.executable, "-m", "flowsim", *command, "kept", "--spark", "--master", "local[2]", "--json"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=default_signals,
    ) as run:  # fmt: skip
        while sum(results >= RESULTS for results in noted(tmp_path)) < 2:
            assert run.poll() is None, run.stderr and run.stderr.read()
            time.sleep(0.1)
        before = kept_runs(kept)
        os.killpg(run.pid, signal.SIGINT)
        out, err = run.communicate(timeout=120)
    assert (run.returncode, err) == (ExitCode.INTERRUPTED, "")
    document, units = json.loads(out), kept_runs(kept)
    assert document["interrupted"]
    assert len(units) > len(before), "the units of the running job that were finished"
    assert document["runs"] > sum(unit["runs"] for unit in units), "the runs of those that were not"
    assert not any(unit["is_interrupted"] for unit in units)
    runs = str(2 * sum(unit["runs"] for unit in units))
    here = [sys.executable, "-m", "flowsim", *command, "here", "--runs", runs]
    subprocess.run(here, cwd=tmp_path, check=True, capture_output=True, timeout=120)
    assert units == kept_runs(tmp_path / "here")[: len(units)], "as if one process had made them"
