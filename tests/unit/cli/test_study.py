"""``flowsim study``: its files, its output, and its exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest


def test_study_prints_table_and_output_directory(flowsim: Any) -> None:
    called = flowsim("study", "tiny.yaml", "--vary", "operators.sums.parallelism=1,2", "--out", "out/s")
    assert called.code == 0
    assert "parallelism" in called.out
    assert "the job has no async operator: there is no latency, queue or wait to measure" in called.out
    assert called.out.splitlines()[-1] == "study     out/s"


def test_json_output_equals_study_file_plus_exit_code(flowsim: Any) -> None:
    called = flowsim("study", "tiny.yaml", "--vary", "settings.seed=5,6", "--json", "--discard", "--no-plot")
    document = called.document
    assert (document.pop("out"), document.pop("exit_code")) == ("out/tiny-study", 0)
    assert document == json.loads(Path("out/tiny-study/study.json").read_text())
    assert [row["records"] for row in document["rows"]] == [200, 200]
    assert sorted(path.name for path in Path("out/tiny-study").iterdir()) == ["study.csv", "study.json", "study.md"]


def test_options_apply_to_every_combination(flowsim: Any) -> None:
    called = flowsim(
        "study", "tiny.yaml", "--vary", "operators.sums.parallelism=1,2", "--set", "sources.numbers.generator.count=90",
        "--seed", 9, "--json", "--no-plot",
    )  # fmt: skip
    assert ([row["records"] for row in called.document["rows"]], called.document["seed"]) == ([90, 90], 9)


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ("settings.sed=1,2", "did you mean 'seed'?"),
        ("settings.seed", "expected KEY=VALUE,VALUE,... such as settings.seed=1,2,3"),
    ],
)
def test_bad_input_exits_2_and_writes_nothing(vary: str, message: str, flowsim: Any) -> None:
    called = flowsim("study", "tiny.yaml", "--vary", vary, "--out", "out/s")
    assert (called.code, message in called.err, Path("out").exists()) == (2, True, False)


def test_unexpected_job_failure_exits_3(flowsim: Any, write: Any) -> None:
    bad = (
        ("operators:", "operators:\n  bad: {input: numbers, filter: 100 // (n - 50) < 200}"),
        ("input: numbers, key", "input: bad, key"),
    )
    called = flowsim("study", write("f.yaml", *bad), "--vary", "settings.seed=1,2", "--no-plot")
    assert called.code == 3
    assert "seed=1: failed: job failed in task Source: numbers -> bad (1/1), operator bad" in called.out
    expected = write("g.yaml", *bad, append="  job: failed\n")
    assert flowsim("study", expected, "--vary", "settings.seed=1,2", "--no-plot").code == 0


@pytest.mark.slow
@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_keeps_finished_combinations(jobs: str, flowsim: Any, tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "flowsim", "study", "tiny.yaml", "--vary", "sources.numbers.generator.count=9,100000000",
        "--out", "out/s", "--jobs", jobs,
    ]  # fmt: skip
    process = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True, start_new_session=True)
    written = tmp_path / "out" / "s" / "study.json"
    while not (written.exists() and json.loads(written.read_text())["rows"]):
        assert process.poll() is None
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGINT)
    _, message = process.communicate(timeout=60)
    assert (process.returncode, message) == (130, "interrupted\n")
    document = json.loads(written.read_text())
    assert (document["complete"], [row["records"] for row in document["rows"]]) == (False, [9])
    assert (tmp_path / "out" / "s" / "study.md").exists()


def test_ctrl_c_while_a_process_starts_is_left_to_the_command(flowsim: Any, tmp_path: Path) -> None:
    at_start = (
        "import os, signal, sys\nif '--multiprocessing-fork' in sys.argv:\n    os.kill(os.getpid(), signal.SIGINT)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(at_start)
    command = [sys.executable, "-m", "flowsim", "study", "tiny.yaml", "--vary", "settings.seed=5,6", "--jobs", "2"]
    found_first = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    ended = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": found_first}, capture_output=True, text=True, timeout=60
    )
    assert (ended.returncode, ended.stderr) == (0, "")
