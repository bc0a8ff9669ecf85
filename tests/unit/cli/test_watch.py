"""``flowsim watch`` as a process: runs on saves and choices, errors, and its end."""

from __future__ import annotations

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from flowsim.recording.manifest import RunStatus
from flowsim.recording.reader import Recording
from tests.support.watched import Watched, wait_for
from tests.unit.cli.conftest import TINY, Flowsim

Watch = Callable[..., Watched]


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    """Starts the command for a scenario with this text, and files beside it."""
    started: list[Watched] = []

    def start(*options: str, text: str = TINY, files: dict[str, str] | None = None) -> Watched:
        for name, content in {"s.yaml": text, **(files or {})}.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(content)
        started.append(Watched(tmp_path, *options))
        return started[-1]

    yield start
    for watched in started:
        watched.close()


def head_of(report: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="head">(.*?)</script>', report)
    assert found is not None
    head: dict[str, Any] = json.loads(found[1])
    return head


@pytest.mark.slow
def test_each_save_has_its_run_its_line_and_its_report(watch: Watch) -> None:
    watched = watch("--out", "out")
    first = watched.next_outcome()
    before = watched.report(first)
    assert head_of(before)["start"]["name"] == "tiny"
    assert first["line"].startswith("finished: ")
    assert (first["problems"], first["is_of_this_run"]) == ([], True)

    watched.save(TINY.replace("name: tiny", "name: changed"))
    second = watched.next_outcome()
    assert head_of(watched.report(second))["start"]["name"] == "changed"

    watched.save(TINY)
    third = watched.next_outcome()
    assert watched.report(third) == before, "equal runs have equal reports"
    assert watched.end() == 130
    assert watched.errors() == "interrupted\n"
    line = re.escape(first["line"])
    assert re.fullmatch(
        rf"watching  s\.yaml\nrecording out\npage      http://127\.0\.0\.1:\d+/\n(\d\d:\d\d:\d\d  {line}\n){{3}}",
        watched.printed(),
    )
    assert Recording.open(watched.folder / "out").status is RunStatus.COMPLETE


@pytest.mark.slow
def test_invalid_save_shows_its_error_and_the_last_report_and_goes_on(watch: Watch) -> None:
    watched = watch()
    first = watched.next_outcome()
    watched.save(TINY + "actions: [\n")
    broken = watched.next_outcome()
    assert broken["line"] == "not run"
    assert broken["problems"][0].startswith("s.yaml:18:1 invalid YAML: ")
    assert (broken["report"], broken["is_of_this_run"]) == (first["report"], False)
    watched.save(TINY)
    assert watched.next_outcome() | {"time": ""} == first | {"time": ""}
    assert watched.end(signal.SIGTERM) == 130
    assert f"  not run\n          {broken['problems'][0]}\n" in watched.printed()


@pytest.mark.slow
def test_first_run_may_be_invalid(watch: Watch) -> None:
    watched = watch(text="flowsim: 1\n")
    assert watched.next_outcome()["report"] == ""
    watched.save(TINY)
    assert head_of(watched.report(watched.next_outcome()))["start"]["name"] == "tiny"


@pytest.mark.slow
def test_page_chooses_a_value_of_an_option(watch: Watch) -> None:
    watched = watch("--set", "operators.sums.parallelism=2,3", "--set", "settings.seed=5", "--out", "out")
    first = watched.next_outcome()
    choice = {"name": "parallelism", "key": "operators.sums.parallelism", "values": ["2", "3"], "chosen": 0}
    assert first["choices"] == [choice]
    watched.choose(0, 1)
    second = watched.next_outcome()
    assert second["choices"] == [choice | {"chosen": 1}]
    assert second["report"] != first["report"]
    manifest = Recording.open(watched.folder / "out").manifest
    assert manifest.run.options["set"] == ["operators.sums.parallelism=3", "settings.seed=5"]
    watched.save(TINY.replace("name: tiny", "name: other"))
    assert watched.next_outcome()["choices"] == [choice | {"chosen": 1}]
    lines = [line[10:].partition(":")[0] for line in watched.printed().splitlines()[3:]]
    assert lines == ["parallelism=2", "parallelism=3", "parallelism=3"]


PYTHON = """\
flowsim: 1
name: python
sources: {rows: {csv: {path: a/b/rows.csv, columns: {n: long}}}}
operators: {added: {input: rows, map: {python: "adding:add", fields: {n: long}}}}
sinks: {kept: {input: added, print: {}}}
"""
ADDING = "import amount\ndef add(value):\n    return (value[0] + amount.AMOUNT,)\n"
FILES = {"a/b/rows.csv": "n\n1\n", "adding.py": ADDING, "amount.py": "AMOUNT = 1\n"}


@pytest.mark.slow
def test_files_of_the_scenario_are_followed_and_modules_imported_anew(watch: Watch, tmp_path: Path) -> None:
    """The new amount has the size of the old one and is saved in the same second: bytecode would not be renewed."""
    watched = watch("--allow-python", text=PYTHON, files=FILES)
    watched.next_outcome()
    saved_s = (watched.folder / "amount.py").stat().st_mtime_ns // 10**9
    watched.save("AMOUNT = 4\n", "amount.py", changed_ns=saved_s * 10**9 + 1)
    watched.next_outcome()
    watched.save(ADDING.replace("+", "*"), "adding.py")
    watched.next_outcome()
    watched.save("n\n3\n", "a/b/rows.csv")
    watched.next_outcome()
    watched.save("def add(:\n", "adding.py")
    assert "SyntaxError" in watched.next_outcome()["problems"][0]
    watched.save("n\n2\n", "a/b/rows.csv")
    assert "SyntaxError" in watched.next_outcome()["problems"][0]
    watched.save(ADDING, "adding.py")
    watched.next_outcome()
    assert watched.end() == 130
    assert watched.errors() == "".join(f"kept> ({n},)\n" for n in (2, 5, 4, 12, 6)) + "interrupted\n"


ENDLESS = "def add(value):\n    while True:\n        pass\n"


@pytest.mark.slow
def test_save_ends_the_run_under_way_even_in_an_endless_function(watch: Watch, tmp_path: Path) -> None:
    watched = watch("--allow-python", text=PYTHON, files=FILES | {"adding.py": ENDLESS})
    watched.ask("GET", "/")
    watched.save(ADDING, "adding.py")
    state = watched.next_outcome()
    assert state["problems"] == []
    assert len(watched.printed().splitlines()) == 4
    assert watched.end() == 130
    assert watched.errors() == "kept> (2,)\ninterrupted\n"


@pytest.mark.slow
def test_end_also_ends_the_run_under_way_and_keeps_its_recording(watch: Watch) -> None:
    endless = TINY.replace("count: 200", "count: 1000000000").replace("parquet: {}", "print: {}")
    watched = watch("--out", "out", text=endless)
    wait_for(lambda: "kept> " in watched.errors())
    assert watched.end() == 130
    assert Recording.open(watched.folder / "out").status is RunStatus.CANCELED


def is_free(file: int) -> bool:
    """Whether no process holds the lock."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@pytest.mark.slow
def test_process_of_a_run_ends_with_the_command(watch: Watch, tmp_path: Path) -> None:
    """Also when the command is killed and can end nothing."""
    holds_lock = (
        "import fcntl, pathlib\n"
        "lock = open('lock', 'w')\n"
        "fcntl.flock(lock, fcntl.LOCK_EX)\n"
        "pathlib.Path('locked').touch()\n"
    )
    watched = watch("--allow-python", "--out", "out", text=PYTHON, files=FILES | {"adding.py": holds_lock + ENDLESS})
    watched.ask("GET", "/")
    wait_for((tmp_path / "locked").exists)
    watched.end(signal.SIGKILL)
    with (tmp_path / "lock").open() as lock:
        wait_for(lambda: is_free(lock.fileno()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nowhere.yaml",), "error: nowhere.yaml: there is no such file\n"),
        (("tiny.yaml", "--set", "settings.seed=1,1"), "error: --set settings.seed=1,1: the value 1 is listed twice\n"),
        (("tiny.yaml", "--limit", "nonsense=1"), "error: --limit 'nonsense=1': "),
    ],
)
def test_bad_option_is_refused_before_the_first_run(flowsim: Flowsim, arguments: tuple[str, ...], message: str) -> None:
    called = flowsim("watch", *arguments)
    assert (called.code, called.out) == (2, "")
    assert called.err.startswith(message)


def test_page_opens_in_the_default_browser(flowsim: Flowsim, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []

    def end_when_opened(url: str) -> None:
        opened.append(url)
        raise KeyboardInterrupt

    monkeypatch.setattr("webbrowser.open", end_when_opened)
    called = flowsim("watch", "tiny.yaml", "--open")
    assert called.code == 130
    assert f"page      {opened[0]}\n" in called.out


@pytest.mark.parametrize("arguments", ["--help", "check tiny.yaml", "run tiny.yaml"])
def test_other_commands_import_neither_server_nor_watcher(flowsim: Flowsim, tmp_path: Path, arguments: str) -> None:
    program = (
        "import sys\nfrom flowsim.cli.main import main\n"
        f"sys.argv[1:] = {arguments.split()!r}\n"
        "try:\n    main()\nexcept SystemExit:\n    pass\n"
        "print('loaded:', [name for name in ('watchfiles', 'anyio', 'http.server') if name in sys.modules])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "loaded: []"
