"""A program for PyFlink on both sides: what each run gave, as the answer of a job."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from flowsim.conform.both_sides import Conformed, OnRun
from flowsim.conform.comparison import compared
from flowsim.conform.java_machine import JAVA_OPTIONS
from flowsim.conform.programs.child import ran
from flowsim.conform.programs.loopback import classes_on_loopback, home_of_flink, link_library
from flowsim.conform.programs.outcome import MARK, Outcome
from flowsim.conform.seen import Answer, SeenElement
from flowsim.conform.settings import Difference
from flowsim.conform.unsupported import Unsupported
from flowsim.errors import BadInput
from flowsim.validation.java import find_java

NOT_COMPARED: Final = (
    Difference("default parallelism", "1 on both sides; PyFlink takes the number of cores"),
    Difference("clock", "virtual here, that of the machine on PyFlink: processing time, and what depends on its date"),
    Difference("files", "their lines are compared, in any order, not their names and the folders of dates"),
    Difference("standard error", "it has the messages of each side"),
)
_PREFIX: Final = re.compile(rf"{MARK}(\d+)(?::(\d+))?> ")
"""What ``print`` writes before a record: its number, and that of the subtask if there are several."""
_DATE: Final = re.compile(r"\d{4}-\d\d-\d\d--\d\d")
_MOST_LINES: Final = 300_000
_JAVA_OPTIONS: Final = " ".join(
    (
        *JAVA_OPTIONS,
        *(f"-D{name}.encoding=UTF-8" for name in ("stdout", "sun.stdout", "file")),
    )
)
_VARIABLES: Final = re.compile(r"_?(PY)?FLINK_|SUBMIT_ARGS$")
"""Variables with which PyFlink would run another Flink."""


@dataclass(frozen=True)
class ComparedProgram:
    """A program, its arguments, and how long a run of it may take."""

    path: Path
    arguments: Sequence[str]
    patience_s: float

    def digest(self) -> str:
        """Returns the SHA-256 of the program and its arguments, not of other modules and files."""
        text = json.dumps([self.path.read_text(encoding="utf-8", errors="replace"), *self.arguments])
        return hashlib.sha256(text.encode()).hexdigest()

    def here(self, schedule: int = 0) -> Answer:
        """Runs the program here; first in, first out, or with the random schedule of a number above 0. Raises BadInput."""
        # -P: the program does not find modules in the working directory.
        command = [sys.executable, "-P", "-m", "flowsim.conform.programs.here", str(schedule)]
        root = str(Path(__file__).resolve().parents[3])
        paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
        return self._run("here", command, {**os.environ, "PYTHONPATH": paths})

    def on_pyflink(self, python: Path) -> Answer:
        """Runs the program on the PyFlink of this Python. Raises BadInput."""
        command = [str(python), str(Path(__file__).with_name("on_pyflink.py"))]
        environment = {name: value for name, value in os.environ.items() if not _VARIABLES.match(name)}
        environment |= {
            "JAVA_HOME": str(find_java().home),
            "PATH": os.pathsep.join([str(python.parent), environment.get("PATH", "")]),
            "PYTHONUNBUFFERED": "1",
        }
        home = home_of_flink(python)
        classes = classes_on_loopback(home)
        with TemporaryDirectory(prefix="flowsim-conform-") as name:
            library = Path(name, "lib")
            link_library(library, home, classes)
            environment |= {"FLINK_HOME": str(home), "FLINK_LIB_DIR": str(library)}
            answer = self._run("on PyFlink", command, environment)
        missing = re.match(r"ModuleNotFoundError: No module named '(\w+)", answer.cause or "")
        if missing:
            raise BadInput(
                f"{self.path}: the environment of PyFlink has no module {missing[1]!r}: "
                f"{python} -m pip install {missing[1]}"
            )
        return answer

    def _run(self, side: str, command: Sequence[str], environment: Mapping[str, str]) -> Answer:
        with TemporaryDirectory(prefix="flowsim-conform-") as name:
            folder = Path(name)
            answer, files, temporary = folder / "answer", folder / "files", folder / "tmp"
            temporary.mkdir()
            environment = {
                **environment,
                "PYTHONUTF8": "1",
                "TMPDIR": str(temporary),
                "FLINK_LOG_DIR": str(temporary),
                "JVM_ARGS": f"{_JAVA_OPTIONS} -Djava.io.tmpdir={temporary}",
            }
            command = [*command, str(answer), str(files), str(self.path), *self.arguments]
            ran(command, environment, folder, self.patience_s, f"{self.path} {side}")
            outcome = Outcome.read(answer)
            if outcome.refused is not None:
                raise Unsupported(outcome.refused)
            return answer_of(outcome, (folder / "out").read_text(encoding="utf-8", errors="replace"), files)


def conformed_program(
    program: ComparedProgram, here: Answer, flink: Sequence[Answer], schedules: int, on_run: OnRun
) -> Conformed:
    """Compares the runs on PyFlink with the first run here, and with other schedules, at most ``schedules``, until they agree."""
    ours = [here]
    found = compared(ours, flink)
    for schedule in range(1, schedules):
        if found.agrees:
            break
        on_run("here", schedule + 1, schedules)
        ours.append(program.here(schedule))
        found = compared(ours, flink)
    return Conformed([found], [[answer] for answer in flink])


def answer_of(outcome: Outcome, printed: str, files: Path) -> Answer:
    """Returns what a run gave: the lines that the program and its sinks printed, its results, and the lines of its files."""
    places: dict[str, list[str]] = {}
    for line in printed.splitlines():
        match = _PREFIX.match(line)
        if match is None:
            places.setdefault("lines of the program/0", []).append(line)
        else:
            name = " ".join(filter(None, ["print", match[1], outcome.prints[int(match[1]) - 1]]))
            places.setdefault(f"{name}/{match[2] or 0}", []).append(line[match.end() :])
    for number, values in enumerate(outcome.collected, 1):
        places[f"collected {number}/0"] = values
    for name, lines in _lines_of_files(files).items():
        places[f"files {name}/0"] = sorted(lines)
    if sum(map(len, places.values())) > _MOST_LINES:
        raise Unsupported(f"the program gives more than {_MOST_LINES:,} lines and results: give it less input")
    seen = {
        place: [SeenElement(0, 0, "record", 0, value, None) for value in values] for place, values in places.items()
    }
    return Answer(_status(outcome), seen, outcome.cause)


def _status(outcome: Outcome) -> str:
    if outcome.cause is not None:
        return "failed"
    return f"exit status {outcome.exit_status}" if outcome.exit_status else "finished"


def _lines_of_files(folder: Path) -> dict[str, list[str]]:
    """Returns the lines of all finished files of a folder of a sink; folders with the date of a record count as that one."""
    lines: dict[str, list[str]] = {}
    for file in sorted(folder.rglob("*")):
        if file.is_file() and not file.name.startswith("."):
            parts = [part for part in file.parent.relative_to(folder).parts if not _DATE.fullmatch(part)]
            text = file.read_text(encoding="utf-8", errors="replace")
            lines.setdefault("/".join(parts), []).extend(text.splitlines())
    return lines
