"""A run that reaches its limit of memory fails while its recording can still be closed."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

import flowsim as api
from flowsim.cluster import memory_watch
from flowsim.cluster.job_status import JobStatus
from flowsim.cluster.memory_watch import MemoryWatch
from flowsim.compiled_modules import PURE
from flowsim.datastream import StreamExecutionEnvironment
from flowsim.errors import MemoryLimitReached
from flowsim.limits import Limits
from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from flowsim.testing import run_job

GROWING: Final = """\
flowsim: 1
name: growing
settings: {record: full}
sources:
  numbers:
    generator: {count: 20000000, fields: {n: {sequence: {}}}}
operators:
  long:
    input: numbers
    map: {add: {text: "str(n) + 'LONG'"}}
sinks:
  out: {input: long, collect: {}}
""".replace("LONG", "x" * 130)
"""Its sink holds all rows; at one go they need several gigabytes."""
ADVICE: Final = "sink out (collect) holds all its rows: use csv, jsonl or parquet"
MIB: Final = 1 << 20
ADDRESS_SPACE: Final = 800 * MIB

needs_proc = pytest.mark.skipif(not Path(memory_watch.USED).exists(), reason="the system has no /proc/self/statm")


@pytest.fixture
def growing(tmp_path: Path) -> Path:
    path = tmp_path / "growing.yaml"
    path.write_text(GROWING)
    return path


@needs_proc
@pytest.mark.parametrize("pure", ["", "1"])
def test_run_without_address_space_fails_and_its_recording_is_readable(
    flowsim: Any, growing: Path, tmp_path: Path, pure: str
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "flowsim", "run", growing, "--out", tmp_path / "o"],
        env=os.environ | {PURE: pure, "COLUMNS": "200"},
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE)),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 3, ended.stderr[-2000:]
    assert f"the {ADDRESS_SPACE} bytes of address space (RLIMIT_AS, ulimit -v)" in ended.stdout
    assert "--limit memory_bytes=N" in ended.stdout
    assert ADVICE in ended.stdout
    recording = Recording.open(tmp_path / "o")
    recording.verify()
    assert recording.status is RunStatus.FAILED
    assert recording.manifest.failure is not None
    assert "memory_bytes" in recording.manifest.failure.cause
    assert flowsim("trace", "o", "--limit", "3").code == 0
    assert flowsim("validate", "o", "--engine", "python").code == 0
    assert flowsim("why", "o", "--record", "growing").code != 70


@needs_proc
def test_limit_of_memory_fails_run_which_cannot_be_replayed(flowsim: Any, tmp_path: Path) -> None:
    called = flowsim("run", "tiny.yaml", "--out", "o", "--limit", "memory_bytes=1 MiB")
    assert called.code == 3
    assert "the run was ended at its limit of memory, 1048576 bytes of memory" in called.out
    assert "--limit memory_bytes=N raises the limit" in called.out
    assert "collect" not in called.out
    assert Recording.open(tmp_path / "o").status is RunStatus.FAILED
    replayed = flowsim("replay", "o", "--limit", "memory_bytes=1 MiB")
    assert (replayed.code, "its limit of memory ended it" in replayed.err) == (2, True)


@needs_proc
def test_limit_of_memory_holds_for_explore_study_and_python(flowsim: Any, growing: Path) -> None:
    limit = ("--limit", "memory_bytes=1 MiB")
    explored = flowsim("explore", growing, "--space", "runtime", "--runs", "1", *limit)
    assert (explored.code, "its limit of memory" in explored.out) == (3, True)
    studied = flowsim("study", growing, "--vary", "settings.seed=1", "--out", "s", "--json", "--no-plot", *limit)
    assert (studied.code, "its limit of memory" in studied.document["rows"][0]["error"]) == (3, True)
    run = api.run_scenario(growing, limits=Limits(memory_bytes=MIB))
    assert (run.result.status, type(run.result.error)) == (JobStatus.FAILED, MemoryLimitReached)
    assert str(run.result.error).endswith(ADVICE)
    assert run.sinks[0].records == ()


def test_memory_error_of_task_fails_job_that_does_not_restart() -> None:
    def fail(value: object) -> object:
        raise MemoryError

    env = StreamExecutionEnvironment.get_execution_environment()
    env.enable_checkpointing(100)
    env.from_collection([1]).map(fail).name("grows")
    run = run_job(env)
    assert (run.result.status, type(run.result.error)) == (JobStatus.FAILED, MemoryLimitReached)
    assert run.result.restarts == 0
    assert "memory_bytes" in str(run.result.error)
    assert "operator grows, record 1: MemoryError" in str(run.result.error)


class Used:
    """The memory of the process, as a file that the watch reads, and a clock that passes between two readings."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._now_ns = 1
        self.set(0, 0)

    def set(self, space_mib: int, resident_mib: int) -> None:
        pages = [size * MIB // os.sysconf("SC_PAGE_SIZE") for size in (space_mib, resident_mib)]
        self._path.write_text(f"{pages[0]} {pages[1]} 390 5 0 123 0\n")

    def now_ns(self) -> int:
        self._now_ns += 5_000_000
        return self._now_ns


@pytest.fixture
def used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Used:
    used = Used(tmp_path / "statm")
    monkeypatch.setattr(memory_watch, "USED", str(tmp_path / "statm"))
    monkeypatch.setattr(memory_watch.time, "monotonic_ns", used.now_ns)
    bounds = [(1000 * MIB, True, "address space"), (500 * MIB, False, "control group")]
    monkeypatch.setattr(memory_watch, "_system_bounds", lambda: iter(bounds))
    return used


@pytest.mark.parametrize(
    ("space_mib", "resident_mib", "reached"),
    [
        (935, 100, None),
        (936, 100, "address space"),
        (600, 435, None),
        (600, 436, "control group"),
    ],
)
def test_reserve_remains_of_what_system_gives(
    used: Used, space_mib: int, resident_mib: int, reached: str | None
) -> None:
    watch = MemoryWatch(1 << 40)
    used.set(space_mib, resident_mib)
    assert watch.reached() == reached


def test_limit_of_caller_has_no_reserve(used: Used) -> None:
    watch = MemoryWatch(200 * MIB)
    used.set(600, 199)
    assert watch.reached() is None
    used.set(600, 200)
    assert watch.reached() == f"{200 * MIB} bytes of memory"


def test_run_that_starts_with_little_memory_keeps_half_of_it(used: Used) -> None:
    used.set(940, 100)
    watch = MemoryWatch(1 << 40)
    used.set(969, 100)
    assert watch.reached() is None
    used.set(970, 100)
    assert watch.reached() == "address space"


def test_growth_between_two_readings_must_fit_too_and_is_forgotten(used: Used) -> None:
    watch = MemoryWatch(1 << 40)
    used.set(600, 100)
    assert watch.reached() is None
    used.set(700, 300)
    assert watch.reached() == "control group"
    for _ in range(8):
        watch.reached()
    assert watch.reached() is None


def test_nothing_is_watched_without_proc(used: Used, tmp_path: Path) -> None:
    (tmp_path / "statm").unlink()
    assert MemoryWatch(1).reached() is None


@pytest.mark.parametrize(
    ("line", "file"),
    [
        ("0::/box/job", "box/memory.max"),
        ("0::/box/job", "box/job/memory.max"),
        ("0::/", "memory.max"),
        ("4:cpu,memory:/box/job", "memory/box/memory.limit_in_bytes"),
        ("4:memory:/elsewhere", "memory/memory.limit_in_bytes"),
    ],
)
def test_limits_of_control_groups_are_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, file: str
) -> None:
    (tmp_path / "cgroup").write_text(f"5:cpuset:/x\n{line}\n")
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text("1234567\n")
    monkeypatch.setattr(memory_watch, "OWN_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory_watch, "CGROUPS", tmp_path)
    assert list(memory_watch._cgroup_limits()) == [1234567]


def test_limits_of_control_groups_are_read_once_in_a_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cgroup").write_text("0::/\n")
    (tmp_path / "memory.max").write_text("1234567\n")
    monkeypatch.setattr(memory_watch, "OWN_CGROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(memory_watch, "CGROUPS", tmp_path)
    memory_watch._limits_of_process.cache_clear()
    try:
        assert memory_watch._limits_of_process() == (1234567,)
        (tmp_path / "memory.max").unlink()
        assert memory_watch._limits_of_process() == (1234567,)
    finally:
        memory_watch._limits_of_process.cache_clear()
