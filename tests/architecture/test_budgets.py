"""How large each package may become. Who raises a number says in its commit what the new lines are for."""

from __future__ import annotations

from pathlib import Path

import pytest

import flowsim

PACKAGE = Path(flowsim.__file__).parent
LINES_OF_PYTHON = {
    "checkpoints": 5_600,
    "cli": 8_730,
    "cluster": 5_760,
    "conform": 4_190,
    "connectors": 10_904,
    "datastream": 6_194,
    "explore": 3_754,
    "export": 1_300,
    "facts": 1_860,
    "faults": 620,
    "graph": 2_780,
    "history": 3_500,
    "laws": 14_804,
    "learn": 1_500,
    "legacy": 2_300,
    "mailbox": 400,
    "network": 7_345,
    "operators": 11_275,
    "play": 1_000,
    "pyflink": 809,
    "recording": 3_168,
    "report": 2_366,
    "scenario": 11_500,
    "sim": 2_935,
    "state": 5_610,
    "streamrecord": 700,
    "studies": 1_300,
    "tasks": 6_420,
    "testing": 6_750,
    "timers": 1_000,
    "trace": 2_600,
    "validation": 1_600,
    "values": 2_401,
    "watermark": 1_200,
    "why": 9_100,
}
LINES_OF_MODULES = 1_620
"""Of the modules of ``flowsim`` that are in no package of it."""
LINES_OF_VIEWER = 11_600
"""Of TypeScript, in ``report/web/src``."""


def lines_in(files: list[Path]) -> int:
    assert files
    return sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files)


def test_every_package_has_a_budget() -> None:
    packages = {path.parent.name for path in PACKAGE.glob("*/*.py")} - {"_compiled"}
    assert packages == LINES_OF_PYTHON.keys()


@pytest.mark.parametrize("package", LINES_OF_PYTHON)
def test_package_is_within_its_budget(package: str) -> None:
    assert lines_in([*(PACKAGE / package).rglob("*.py")]) <= LINES_OF_PYTHON[package]


def test_modules_and_viewer_are_within_their_budgets() -> None:
    assert lines_in([*PACKAGE.glob("*.py")]) <= LINES_OF_MODULES
    assert lines_in([*(PACKAGE / "report/web/src").rglob("*.ts*")]) <= LINES_OF_VIEWER
