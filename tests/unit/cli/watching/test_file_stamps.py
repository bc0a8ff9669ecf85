"""The states of files: equal while nothing changes, different after every kind of save."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from flowsim.cli.watching.file_stamps import exactly, folder_of, inputs_in, stamps_of


def test_pattern_of_a_file_matches_this_file_only(tmp_path: Path) -> None:
    odd, other = tmp_path / "a[1]*.yaml", tmp_path / "a1.yaml"
    odd.write_text("x")
    other.write_text("x")
    (stamps,) = stamps_of([exactly(odd)]).values()
    assert [path for path, *_ in stamps] == [str(odd)]


def replaced(file: Path) -> None:
    aside = file.with_name("aside")
    aside.write_text("old")
    os.utime(aside, ns=(file.stat().st_atime_ns, file.stat().st_mtime_ns))
    aside.rename(file)


SAVES: dict[str, Callable[[Path], object]] = {
    "written": lambda file: file.write_text("longer"),
    "touched": lambda file: os.utime(file, ns=(1, 1)),
    "replaced by an equal file": replaced,
    "removed": lambda file: file.unlink(),
}


@pytest.mark.parametrize("save", SAVES.values(), ids=list(SAVES))
def test_stamp_differs_after_a_save(tmp_path: Path, save: Callable[[Path], object]) -> None:
    file = tmp_path / "s.yaml"
    file.write_text("old")
    before = stamps_of([exactly(file)])
    assert stamps_of(before) == before
    save(file)
    assert stamps_of(before) != before


def test_missing_file_and_folder_have_no_stamp(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    patterns = [exactly(tmp_path / "folder"), exactly(tmp_path / "missing"), exactly(tmp_path / "no/where")]
    assert stamps_of(patterns) == dict.fromkeys(patterns, ())


def test_new_file_changes_the_stamps_of_its_pattern(tmp_path: Path) -> None:
    patterns = [os.path.join(exactly(tmp_path), "day_*.csv")]
    (tmp_path / "day_2.csv").write_text("2")
    before = stamps_of(patterns)
    (tmp_path / "other.csv").write_text("3")
    assert stamps_of(patterns) == before
    (tmp_path / "day_1.csv").write_text("1")
    assert [Path(path).name for path, *_ in stamps_of(patterns)[patterns[0]]] == ["day_1.csv", "day_2.csv"]


def test_inputs_in_a_folder_are_data_and_modules_but_no_output(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    for name in ("job.py", "data/a.csv", "data/b.jsonl.gz", "out.log", "s.yaml", "data/report.html", ".hidden.py"):
        (tmp_path / name).write_text("x")
    found = [Path(path).name for stamps in stamps_of(inputs_in(tmp_path)).values() for path, *_ in stamps]
    assert sorted(found) == ["a.csv", "b.jsonl.gz", "job.py"]


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("/x/s.yaml", "/x"),
        ("/x/data/*.csv", "/x/data"),
        ("/x/*/day_?/*.csv", "/x"),
        ("/x/a[[]1]/s.yaml", "/x/a[1]"),
        ("/x/a[[]1]/*/s.yaml", "/x/a[1]"),
    ],
)
def test_folder_of_a_pattern_has_no_wildcard(pattern: str, folder: str) -> None:
    assert folder_of(pattern) == folder
