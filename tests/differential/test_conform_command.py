"""``flowsim conform`` as a process with a Java of its own: its answer, its end at an interrupt, where it listens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flowsim.conform.java_machine import FlinkMissing, check_installed
from tests.support.flink.sockets import LOOPBACK, listening
from tests.support.signals import default_signals

JOB = """\
import threading

def endless(n):
    if threading.current_thread() is not threading.main_thread():
        print("called from Java", flush=True)
    return n

def job(env):
    env.from_collection(list(range(20))).map(endless).print()
"""


@pytest.fixture(autouse=True)
def needs_flink() -> None:
    try:
        check_installed()
    except FlinkMissing as missing:
        pytest.skip(str(missing))


def start(folder: Path, cache: Path, *arguments: str) -> subprocess.Popen[str]:
    (folder / "conform_job.py").write_text(JOB)
    (folder / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "flowsim", "conform", "conform_job:job", "--allow-python", *arguments],
        cwd=folder,
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "TMPDIR": str(folder / "tmp")},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter is compiled once."""
    return tmp_path_factory.mktemp("cache")


def java_of(process: subprocess.Popen[str]) -> int:
    """The process of Java that the command started."""
    (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return int(child)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_ends_java_which_listens_on_loopback_only(tmp_path: Path, cache: Path) -> None:
    process = start(tmp_path, cache, "--repeat", "1000")
    assert process.stdout is not None
    while process.stdout.readline() not in ("called from Java\n", ""):
        pass
    java = java_of(process)
    addresses = set(listening(java))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert err.splitlines()[-1] == "interrupted"
    assert not Path(f"/proc/{java}").exists()
    assert list((tmp_path / "tmp").iterdir()) == []
    assert addresses
    assert addresses <= LOOPBACK


@pytest.mark.slow
def test_saved_answers_are_compared_without_java(tmp_path: Path, cache: Path) -> None:
    process = start(tmp_path, cache, "--repeat", "2", "--json", "--save", "answers")
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    document = json.loads(out)
    assert (document["verdict"], document["saved"]) == ("agrees", "answers/conform_job_job.json")
    assert document["phases"][0]["runs"] == {"flowsim": 1, "flink": 2}
    assert [place["records"] for place in document["phases"][0]["subtasks"]] == [20, 20]
    again = subprocess.run(
        [sys.executable, "-m", "flowsim", "conform", "conform_job:job", "--allow-python", "--against", "answers"],
        cwd=tmp_path,
        env={**os.environ, "PATH": "", "JAVA_HOME": ""},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert again.returncode == 0, again.stderr
    assert again.stdout.splitlines()[0] == "conform_job:job: agrees (2 runs on Flink 2.3.0, 1 here)"
