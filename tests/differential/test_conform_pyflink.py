"""``flowsim conform PROGRAM.py`` with the real PyFlink, which it installs: only ``make pyflink-conform`` runs these tests."""

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

from tests.support.flink.sockets import LOOPBACK, listening
from tests.support.signals import default_signals, is_running

pytestmark = [pytest.mark.pyflink, pytest.mark.timeout(1800)]

PROGRAMS = Path(__file__).parents[1] / "support/conform/programs"


def start(folder: Path, name: str, *arguments: str) -> subprocess.Popen[str]:
    """Starts the command; the environment of PyFlink is the one in the user's cache."""
    (folder / "tmp").mkdir()
    return subprocess.Popen(
        [sys.executable, "-m", "flowsim", "conform", str(PROGRAMS / name), *arguments],
        cwd=folder,
        env={**os.environ, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": str(Path(__file__).parents[2])},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=default_signals,
    )


def answers(folder: Path, name: str) -> list[Any]:
    """What PyFlink gave in each run, without the order of lines, in which runs may differ."""
    document = json.loads((folder / f"{name}.json").read_text())
    return [
        (
            run[0]["status"],
            run[0]["cause"],
            {place: Counter(each[4] for each in elements) for place, elements in run[0]["seen"].items()},
        )
        for run in document["runs"]
    ]


@pytest.mark.parametrize("name", ["orders.py", "fails.py", "batch.py"])
def test_program_agrees_and_pyflink_still_gives_the_saved_answers(name: str, tmp_path: Path) -> None:
    process = start(tmp_path, name, "--json", "--save", "answers")
    out, err = process.communicate()
    assert process.returncode == 0, out + err
    assert json.loads(out)["verdict"] in ("agrees", "open")
    assert answers(tmp_path / "answers", name) == answers(PROGRAMS / "answers", name)
    assert list((tmp_path / "tmp").iterdir()) == []


def processes_of(process: int) -> list[int]:
    """The descendants of a process."""
    try:
        children = map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split())
        return [each for child in children for each in (child, *processes_of(child))]
    except OSError:
        return []


def addresses_of(process: int) -> set[str]:
    """Where a process listens; nowhere if it has just ended."""
    try:
        return set(listening(process))
    except OSError:
        return set()


def is_java(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/comm").read_text() == "java\n"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_ctrl_c_ends_pyflink_which_listens_on_loopback_only(tmp_path: Path) -> None:
    process = start(tmp_path, "orders.py", "--repeat", "100")
    addresses: set[str] = set()
    seconds_of_java = 0
    while process.poll() is None and seconds_of_java < 20:
        time.sleep(1)
        children = processes_of(process.pid)
        addresses |= {address for each in children for address in addresses_of(each)}
        seconds_of_java += any(map(is_java, children))
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert len(children) > 1
    assert not any(map(is_running, children))
    assert addresses
    assert addresses <= LOOPBACK
    assert list((tmp_path / "tmp").iterdir()) == []
