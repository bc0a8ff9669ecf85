from __future__ import annotations

import os
from pathlib import Path

import pytest

from flowsim.errors import BadInput
from flowsim.limits import Limits
from flowsim.scenario.paths import confined, input_files


def folder_of(tmp_path: Path, *names: str) -> Path:
    folder = tmp_path / "folder"
    for name in ("kept", *names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("n\n1\n")
    return folder


def found(folder: Path, pattern: str, *, allow_path: bool = False, limits: Limits | None = None) -> list[str]:
    given = Limits() if limits is None else limits
    return [file.name for file in input_files(pattern, folder, allow_path=allow_path, limits=given)]


def test_matches_are_sorted_by_name(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "b/2.csv", "a/1.csv", "a/.3.csv", "a/4.txt", "5.csv")
    assert found(folder, "*/*.csv") == ["a/1.csv", "b/2.csv"]
    assert found(folder, "a/.*.csv") == ["a/.3.csv"]
    assert found(folder, "*/1.csv") == ["a/1.csv"]
    assert found(folder, "./?.csv") == ["./5.csv"]
    assert found(folder, "a/../[5-6].csv") == ["a/../5.csv"]


def test_absolute_pattern_inside_folder_is_searched(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, "1.csv")
    assert found(folder, f"{folder}/*.csv") == [f"{folder}/1.csv"]


@pytest.mark.parametrize("pattern", ["../*", "/*/*/*/*/*/*", "a/../../*", "../folder/../*"])
def test_pattern_outside_folder_is_refused_without_names_from_there(tmp_path: Path, pattern: str) -> None:
    folder = folder_of(tmp_path, "a/1.csv")
    (tmp_path / "secret.csv").write_text("")
    with pytest.raises(BadInput, match=r"is outside of .*; use --allow-path to allow that") as refused:
        found(folder, pattern)
    assert "secret" not in str(refused.value)
    assert found(folder, "../*.csv", allow_path=True) == ["../secret.csv"]


def test_folder_behind_link_is_not_searched(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    (tmp_path / "secret.csv").write_text("")
    (folder / "link").symlink_to(tmp_path)
    with pytest.raises(BadInput, match="input 'link/' is outside of") as refused:
        found(folder, "*/*.csv")
    assert "secret" not in str(refused.value)


def test_parent_after_wildcard_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"'\.\.' cannot follow a wildcard"):
        found(folder_of(tmp_path, "a/1.csv"), "*/../../*")


def test_search_beyond_limit_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path, *(f"{n}.csv" for n in range(9)))
    with pytest.raises(BadInput, match=r"expected at most 8 files \(--limit matched_files=N .*, 9 match"):
        found(folder, "*.csv", limits=Limits(matched_files=8))
    with pytest.raises(BadInput, match=r"at most 9 names in the folders to search \(--limit searched_names=N"):
        found(folder, "*.csv", limits=Limits(searched_names=9))


def test_name_that_no_file_can_have_is_refused(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    for name in ("n" * 256, "ä" * 128, "/".join(["d" * 200] * 21)):
        with pytest.raises(BadInput, match="is not a valid path: File name too long"):
            confined(name, folder, allow_path=False, what="input")
    assert confined("n" * 255, folder, allow_path=False, what="input").name == "n" * 255


def test_link_to_itself_is_refused_without_its_path(tmp_path: Path) -> None:
    folder = folder_of(tmp_path)
    os.symlink("loop", folder / "loop")
    with pytest.raises(BadInput, match=r"^input .loop. is not a valid path: it leads back to itself$"):
        confined("loop", folder, allow_path=False, what="input")
