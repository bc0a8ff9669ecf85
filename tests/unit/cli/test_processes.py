"""``flowsim`` as a process: Ctrl-C, kills, exit codes, and equal bytes under any hash seed."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flowsim.distribution import install_command
from flowsim.laws.judge import check_all
from flowsim.laws.law import Verdict
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from tests.support.signals import default_signals

ENDLESS = """\
flowsim: 1
name: endless
settings: {record: elements}
sources:
  numbers: {generator: {count: 1000000000, fields: {n: {sequence: {}}}}}
operators:
  kept: {input: numbers, filter: n >= 0, chaining: never}
sinks:
  shown: {input: kept, chaining: never, print: {}}
  files: {input: kept, chaining: never, parquet: {}}
"""

WINDOWS = """\
flowsim: 1
name: windows
settings: {record: full, seed: 11, policy: random}
sources:
  numbers:
    parallelism: 2
    generator:
      count: 3000
      fields:
        n: {uniform: {low: 0, high: 1000}}
        key: {choice: {values: [a, b, c, d, e]}}
        at: {event_time: {start: 0, step: 7 ms, jitter: 300 ms}}
    watermarks: {timestamp: at, max_out_of_orderness: 100 ms, emit: every_record}
operators:
  hourly:
    input: numbers
    key_by: key
    parallelism: 3
    window: {tumbling: 1 s, late_output: late}
    aggregate: {rows: count(), total: sum(n)}
sinks:
  windows: {input: hourly, parquet: {}}
  late: {input: hourly.late, csv: {}}
"""

ONE_TIME = """\
flowsim: 1
name: one-time
settings: {record: full, seed: 4, policy: random, cost: 0 s}
sources:
  asks: {collection: {fields: {n: long}, rows: [[1], [2], [3], [4]]}}
operators:
  asked:
    input: asks
    async:
      mode: unordered
      timeout: 9 ms
      latency: 10 ms
      silent: {when: n == 2}
      on_timeout: {add: {answer: "0"}}
      add: {answer: n * 10}
sinks:
  all: {input: asked, csv: {}}
"""
"""The timeout of the silent call and the answers of the others are due at one time."""

IN_FIRST_EPOCH = 75_000
"""Lines of output after which the first 2^16 facts of a table must have been written."""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "flowsim", *arguments]


def endless_run(folder: Path, lines: int) -> subprocess.Popen[str]:
    """A run that will not end by itself, after it printed so many records."""
    (folder / "endless.yaml").write_text(ENDLESS)
    process = subprocess.Popen(
        command("run", "endless.yaml", "--out", "o"),
        cwd=folder, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=default_signals,
    )  # fmt: skip
    assert process.stdout is not None
    for _ in range(lines):
        assert process.stdout.readline().startswith("shown> (")
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupt_exits_130_with_readable_recording_and_no_partial_file(
    tmp_path: Path, number: signal.Signals
) -> None:
    process = endless_run(tmp_path, 10)
    process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "interrupted\n")
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.CANCELED
    assert recording.row_count("sent") > 0
    assert list((tmp_path / "o/sinks/files").iterdir()) == []
    assert not [outcome for outcome in check_all(recording, "canceled") if outcome.verdict is Verdict.VIOLATED]


@pytest.mark.parametrize("delay_s", [0.02, 0.1, 0.2, 0.4, 0.8])
def test_ctrl_c_during_start_exits_130_without_traceback(tmp_path: Path, delay_s: float) -> None:
    """From the first line of flowsim on; before it Python itself answers."""
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    program = "import os; from flowsim.__main__ import main; os.write(2, b'begins\\n'); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "run", "endless.yaml", "--out", "o"],
        cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=default_signals,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == "begins\n"
    time.sleep(delay_s)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) == (130, False), err


@pytest.mark.parametrize("delay_s", [0.0, 0.05, 0.3])
def test_three_signals_during_start_exit_130(tmp_path: Path, delay_s: float) -> None:
    (tmp_path / "endless.yaml").write_text(ENDLESS)
    program = "import os; from flowsim.__main__ import main; os.write(2, b'begins\\n'); main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "run", "endless.yaml", "--out", "o"],
        cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, preexec_fn=default_signals,
    )  # fmt: skip
    assert process.stderr is not None
    assert process.stderr.readline() == "begins\n"
    time.sleep(delay_s)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        process.send_signal(number)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, "Traceback" in err) in (
        (130, False),
        (-signal.SIGTERM, False),
        (-signal.SIGHUP, False),
    ), err


@pytest.mark.parametrize("command", ["run", "check", "explore", "study", "graph", "learn"])
def test_validator_of_scenarios_is_built_before_interrupts_raise(command: str) -> None:
    """Pydantic builds it in C, which prints and drops the exception of an interrupt."""
    program = (
        "from flowsim.cli.main import load_called\n"
        f"load_called(['{command}', 'endless.yaml'])\n"
        "from flowsim.scenario.scenario_model import ScenarioModel\n"
        "print(ScenarioModel.__pydantic_complete__)\n"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == "True\n"


def test_full_disk_exits_74_and_keeps_complete_epochs(tmp_path: Path) -> None:
    (tmp_path / "endless.yaml").write_text(
        ENDLESS.replace("  files: {input: kept, chaining: never, parquet: {}}\n", "")
    )
    program = (
        "import resource, sys, flowsim.recording.writer as writer\n"
        "import flowsim.cli.main as main\n"
        "write = writer.write_file\n"
        "def write_file(path, content, **how):\n"
        "    if path.name == 'part-00002.parquet' and path.parent.name == 'received':\n"
        "        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
        "    write(path, content, **how)\n"
        "writer.write_file = write_file\n"
        "main.main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, "run", "endless.yaml", "--out", "o"],
        cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 74, run.stderr
    assert (
        "o/recording: the recording cannot be written: File too large; its 2 complete epochs can be checked"
        in run.stderr
    )
    recording = Recording.open(tmp_path / "o")
    assert (recording.status, len(recording.epochs)) == (RunStatus.RUNNING, 2)
    assert list((tmp_path / "o").rglob("*part-00002*")) == []
    assert not [outcome for outcome in check_all(recording, "running") if outcome.verdict is Verdict.VIOLATED]


def test_killed_run_leaves_readable_recording_with_status_running(tmp_path: Path) -> None:
    process = endless_run(tmp_path, IN_FIRST_EPOCH)
    process.kill()
    process.communicate(timeout=60)
    recording = Recording.open(tmp_path / "o")
    assert recording.status is RunStatus.RUNNING
    assert recording.row_count("sent") >= 1 << 16
    assert len(recording.table("received")) == recording.row_count("received")
    replay = subprocess.run(command("replay", "o"), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert replay.returncode == 2
    assert "the run was killed" in replay.stderr
    # The next run takes its place, whatever the kill left half-written.
    again = subprocess.run(command("run", "endless.yaml", "--out", "o", "--until", "1 ms"), cwd=tmp_path, check=False)
    assert again.returncode == 0
    assert Recording.open(tmp_path / "o").status is RunStatus.STOPPED


@pytest.mark.parametrize("scenario", [WINDOWS, ONE_TIME], ids=["windows", "events of one time"])
def test_equal_runs_write_equal_bytes_under_any_hash_seed(scenario: str, tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text(scenario)
    digests = []
    for hash_seed in ("1", "2"):
        run = subprocess.run(
            command("run", "job.yaml", "--out", hash_seed, "--json"),
            cwd=tmp_path, env={**os.environ, "PYTHONHASHSEED": hash_seed}, capture_output=True, text=True, check=True,
        )  # fmt: skip
        document = json.loads(run.stdout)
        digests.append((document["digest"], [sink["rows"] for sink in document["sinks"]]))
    assert digests[0] == digests[1]
    assert all(rows > 0 for rows in digests[0][1])
    assert written(tmp_path / "1") == written(tmp_path / "2")


def test_different_seeds_give_different_digests(tmp_path: Path) -> None:
    (tmp_path / "windows.yaml").write_text(WINDOWS)
    runs = [
        subprocess.run(
            command("run", "windows.yaml", "--seed", seed, "--out", seed, "--json"),
            cwd=tmp_path, capture_output=True, text=True, check=True,
        )
        for seed in ("1", "2")
    ]  # fmt: skip
    first, second = (json.loads(run.stdout)["digest"] for run in runs)
    assert first != second


@pytest.mark.parametrize(("arguments", "code"), [(("laws",), 0), (("run", "nowhere.yaml"), 2), (("nonsense",), 2)])
def test_exit_code_reaches_the_shell(tmp_path: Path, arguments: tuple[str, ...], code: int) -> None:
    run = subprocess.run(command(*arguments), cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == code
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("bug", "message"),
    [
        ("RuntimeError('seen by nobody yet')", ("Traceback", "RuntimeError: seen by nobody yet")),
        ("errors.InvariantViolation('a queue went negative', ('put', 'take', 'take'))", ("queue went negative", "  take")),
    ],
)  # fmt: skip
def test_internal_error_exits_70_with_report(tmp_path: Path, bug: str, message: tuple[str, ...]) -> None:
    program = (
        "import flowsim.errors as errors, flowsim.recording.reader as reader, flowsim.cli.main as main\n"
        f"def broken(*_, **__): raise {bug}\n"
        "reader.Recording.open = broken\n"
        "main.main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, "replay", "x"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert run.returncode == 70
    assert "a bug in flowsim" in run.stderr
    assert all(text in run.stderr for text in message)


def test_missing_extra_is_reported_before_job_runs(tmp_path: Path) -> None:
    (tmp_path / "windows.yaml").write_text(WINDOWS)
    program = (
        "import importlib.util as util, flowsim.cli.main as main\n"
        "found = util.find_spec\n"
        "util.find_spec = lambda name, *rest: None if name == 'pyspark' else found(name, *rest)\n"
        "main.main()\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", program, "run", "windows.yaml", "--validate", "--engine", "spark"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert run.returncode == 2
    assert install_command("spark") in run.stderr
    assert not (tmp_path / "out").exists()


def written(out: Path) -> dict[str, bytes]:
    """Every file of a run by its path, but for what tells the time of day."""
    return {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in sorted(out.rglob("*"))
        if path.is_file() and path.name != "wall.json"
    }


def test_fault_of_tests_is_refused_with_a_list_of_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(WINDOWS + "faults: [{fault: leak_segment}]\n")
    called = subprocess.run(command("check", "s.yaml"), cwd=tmp_path, capture_output=True, text=True)
    assert called.returncode == 2
    assert re.fullmatch(
        r"error: s\.yaml:\d+:18 faults\[0\]\.fault: there is no fault 'leak_segment'; there are: "
        r"drop_element, valve_takes_maximum, idle_valve_not_flushed, late_row_kept, lose_credit\n",
        called.stderr,
    )
