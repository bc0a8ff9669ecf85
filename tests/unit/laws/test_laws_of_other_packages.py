"""A law of another package: three files make a law that flowsim lists, judges and describes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.support.pages.law_ids import MODULE, law_ids

LAW: Final = '''\
"""Law toy-answers: an input that receives watermarks emits one."""

from flowsim.facts.kinds import ElementKind, Level
from flowsim.laws.findings import FoundByLaw
from flowsim.laws.job_graph import JobGraph, Task
from flowsim.laws.law import Law, needs_channels
from flowsim.laws.machine import Machine, on_row


class Answers(Machine):
    def __init__(self, graph: JobGraph, task: Task, found: FoundByLaw) -> None:
        self._task, self._found = task.task, found["toy-answers"]
        self._received = self._emitted = 0

    @on_row("received", kind=ElementKind.WATERMARK)
    def _receive(self, seq: int) -> None:
        self._found.examined += 1
        self._received += 1

    @on_row("task_watermark", kind=ElementKind.WATERMARK)
    def _emit(self, seq: int) -> None:
        self._emitted += 1

    def end(self, whole: bool) -> None:
        if whole and self._received and not self._emitted:
            self._found.broken("the input emits no watermark", (self._task,), task=self._task)


LAWS = (
    Law("toy-answers", "An input that receives watermarks emits one.", ("8.11",), Level.ELEMENTS, Answers,
        needs_channels, counts="- Rows examined: WATERMARK rows of `received`."),
)
'''

FAULT: Final = '''\
"""A valve that emits no watermark."""

from flowsim.faults.catalogue import Component, FaultKind
from flowsim.faults.faulty_components import FaultyComponents, FaultySubtaskComponents, register_faults
from flowsim.watermark.status_watermark_valve import StatusWatermarkValve

KIND = FaultKind("toy_valve_is_silent", Component.VALVE, "the valve emits no watermark", "toy-answers")


class SilentValve(StatusWatermarkValve):
    __slots__ = ()

    def _emit_minimum(self):
        pass


class OfSubtask(FaultySubtaskComponents):
    __slots__ = ()

    def create_valve(self, channels, output):
        is_silent = KIND.name in self.names(Component.VALVE)
        return SilentValve(channels, output) if is_silent else super().create_valve(channels, output)


class Components(FaultyComponents):
    __slots__ = ()
    of_subtask = OfSubtask


register_faults(Components, [KIND])
'''

CASE: Final = '''\
"""The law holds in a correct run, and the fault violates it; commands, checks of names and the page know it."""

import json
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import flowsim.laws.tasks

flowsim.laws.tasks.__path__.append(str(Path(__file__).with_name("laws")))

from flowsim.cli.main import main
from flowsim.cluster.job_execution import RunOptions
from flowsim.cluster.mini_cluster import MiniCluster
from flowsim.facts.kinds import Level
from flowsim.faults.catalogue import Fault
from flowsim.faults.faulty_components import with_faults
from flowsim.laws.judge import check_all
from flowsim.laws.law_names import why_unknown
from flowsim.recording.memory import MemoryRecorder
from tests.support.jobs.fault_matrix import fault_job
from tests.support.pages.laws_page import laws_page
from toy import silent_valve


def verdict(*faults):
    recorder = MemoryRecorder(Level.FULL)
    MiniCluster(fault_job(), with_faults(RunOptions(recorder=recorder), faults)).run()
    (outcome,) = (outcome for outcome in check_all(recorder) if outcome.law == "toy-answers")
    return outcome.verdict.value


def listed():
    sys.argv, printed = ["flowsim", "laws", "--json"], StringIO()
    try:
        with redirect_stdout(printed):
            main()
    except SystemExit as ended:
        assert not ended.code
    return [law["id"] for law in json.loads(printed.getvalue())]


assert verdict() == "holds"
assert verdict(Fault(silent_valve.KIND.name, "window")) == "violated"
assert why_unknown("toy-answers") == ""
assert "toy-answer'" in why_unknown("toy-answer")
assert "toy-answers" in listed()
assert "\\n## toy-answers\\nAn input that receives watermarks emits one.\\n" in laws_page()
assert "Reads `received` (kind); `task_watermark` (kind).\\n\\n- Rows examined" in laws_page()
'''


def test_three_files_make_a_law_that_is_listed_judged_and_described(tmp_path: Path) -> None:
    for name, text in {"laws/toy_answers.py": LAW, "silent_valve.py": FAULT, "case.py": CASE}.items():
        path = tmp_path / "toy" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    root = Path(__file__).parents[3]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), str(root)])}
    ran = subprocess.run(
        [sys.executable, "-m", "toy.case"], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, ""), ran.stderr


def test_ids_are_generated_from_the_laws() -> None:
    assert MODULE.read_text(encoding="utf-8") == law_ids(), "write it again: make docs"
