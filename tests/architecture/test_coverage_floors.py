"""The comparison at the end of ``make coverage``: sums of packages, floors, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.coverage_floors import FLOORS, main, packages

PACKAGE = Path(__file__).parents[2] / "flowsim"


def measured(statements: int, covered: int) -> dict[str, dict[str, int]]:
    return {"summary": {"num_statements": statements, "covered_lines": covered}}


def report(folder: Path, **covered: int) -> Path:
    """A report with two files of 100 statements per package with a floor; ``covered`` is for one of the two."""
    files = {f"flowsim/{package}/one.py": measured(100, covered.get(package, 100)) for package in FLOORS}
    files |= {f"flowsim/{package}/below/two.py": measured(100, 100) for package in FLOORS}
    path = folder / "report.json"
    path.write_text(
        json.dumps({"files": {**files, "flowsim/api.py": measured(10, 5), "flowsim/cli/run.py": measured(10, 0)}})
    )
    return path


def test_every_package_with_floor_exists_and_every_floor_is_in_range() -> None:
    assert [package for package in FLOORS if not (PACKAGE / package / "__init__.py").is_file()] == []
    assert set(FLOORS) == {"laws", "mailbox", "network", "operators", "tasks", "timers", "watermark"}
    assert all(80 <= floor < 100 for floor in FLOORS.values())


def test_counts_of_package_files_are_summed(tmp_path: Path) -> None:
    found = {each.package: each for each in packages(json.loads(report(tmp_path, network=60).read_text()))}
    assert (found["network"].statements, found["network"].covered, found["network"].percent) == (200, 160, 80.0)
    assert (found["(modules)"].statements, found["(modules)"].covered) == (10, 5)
    assert list(found)[-1] == "(modules)"


def test_packages_at_their_floors_pass(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    at_floor = {package: 2 * floor - 100 for package, floor in FLOORS.items()}
    assert main(report(tmp_path, **at_floor)) == 0
    assert "below its floor" not in capsys.readouterr().out


@pytest.mark.parametrize("package", FLOORS)
def test_package_below_its_floor_fails(package: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(report(tmp_path, **{package: 2 * FLOORS[package] - 101})) == 1
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.endswith("below its floor"))
    assert line.split()[0] == package


def test_unmeasured_package_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.json"
    path.write_text(
        json.dumps({"files": {f"flowsim/{package}/one.py": measured(1, 1) for package in FLOORS if package != "laws"}})
    )
    assert main(path) == 1
    assert capsys.readouterr().err == "not measured: laws\n"
